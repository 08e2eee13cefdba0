/** Invariant 24: whoever has to be asked before an effect is down, slow, or answers nonsense. */
import { z } from 'zod'
import type { Block, Blockable } from '../db/witness.ts'
import type { RunId } from '../kernel/ids.ts'
import { agent } from '../run/agent.ts'
import { isFinal } from '../run/state.ts'
import { createRuntime, type Runtime, type RuntimeOptions } from '../runtime.ts'
import { scripted } from '../testing/scripted.ts'
import type { ToolContext } from '../tool/contract.ts'
import { tool } from '../tool/define.ts'
import { approve, crashActor, type CrashGround, newSpec, seen, TIMES } from './crash-case.ts'
import { closedWrongs } from './crash-part-judge.ts'
import { partOutcome } from './crash-part.ts'
import type { Outcome } from './crash-summary.ts'

const BUDGET = { steps: 4, toolCalls: 4, tokens: 50_000, costCents: 1_000, seconds: 30 }
const TIMEOUT_MS = 400
const LOOK_MS = 40
/** So often somebody runs into what is down before it comes back. */
const HITS = 2

const down = (): never => {
  throw new Error('down')
}
const nonsense = (): boolean => 'yes' as unknown as boolean
const silent = (): Promise<never> => new Promise(() => {})

type Asker = () => boolean | Promise<boolean>
interface Scene {
  /** Of the program. */
  readonly authorize?: Asker
  /** Of the contract, for this object. */
  readonly mine?: Asker
  /** The version of the resource, once it has been planned on. */
  readonly version?: () => string | Promise<string>
  readonly credentials?: () => string | null
  /** The table that cannot be written. */
  readonly table?: Blockable
}

const SCENES: Readonly<Record<string, Scene>> = {
  'an authoriser that is down': { authorize: down },
  'an authoriser that answers nonsense': { authorize: nonsense },
  'an authoriser that never answers': { authorize: silent },
  'a policy of the object that is down': { mine: down },
  'a policy of the object that answers nonsense': { mine: nonsense },
  'a policy of the object that never answers': { mine: silent },
  'a state that cannot be read any more': { version: down },
  'a state that is nonsense': { version: () => 7 as unknown as string },
  'a store of credentials that is down': { credentials: down },
  'a store of credentials that has none': { credentials: () => null },
  'consent that cannot be written': { table: 'confirmation' },
  'effects that cannot be written': { table: 'effect' },
  'money that cannot be written': { table: 'ledger' },
}

export const closedPart = (ground: CrashGround): Promise<readonly Outcome[]> =>
  Promise.all(Object.entries(SCENES).map(([what, scene]) => closed(ground, what, scene)))

const input = z.strictObject({ resource: z.string() })
type Input = z.infer<typeof input>

async function closed(ground: CrashGround, what: string, scene: Scene): Promise<Outcome> {
  const { spec, resource } = newSpec(ground, 'keyed')
  let planned = 0
  const version = scene.version
  const change = tool('stock.change@1', {
    input,
    effect: 'write',
    timeoutMs: TIMEOUT_MS,
    unknown: 'key',
    ...(scene.mine && { authorize: scene.mine }),
    ...(scene.credentials && { credentials: ['stock'] }),
    ...(version && { resourceVersion: () => ((planned += 1) === 1 ? 'v1' : version()) }),
    commit: async (args: Input, cx: ToolContext) =>
      (
        await fetch(`${spec.provider}/keyed/effects`, {
          method: 'POST',
          headers: { 'idempotency-key': cx.effectKey },
          body: JSON.stringify({ resource: args.resource, args: {} }),
        })
      ).json(),
  })
  const script = [{ calls: [{ name: change.exposedName, arguments: { resource } }] }, { text: 'it was tried' }]
  const programme: Omit<RuntimeOptions, 'agents'> = {
    db: ground.db,
    ...(scene.authorize && { authorize: scene.authorize }),
    ...(scene.credentials && { credentials: { get: scene.credentials } }),
  }
  const acting = agent(spec.name, {
    model: scripted((_, turn) => script[turn] ?? { text: '' }),
    tools: [change],
    budget: BUDGET,
  })
  const runtime = createRuntime({ ...programme, agents: [acting] })
  const { run } = await runtime.submit(crashActor(), { agent: spec.name, text: 'go' })
  const effects = (): number => ground.provider.effects().filter((e) => e.resource === resource).length
  // an effect is planned in the commit that settles and reserves money: that one must not get through
  const early = scene.table === 'ledger' ? await ground.witness.block(run, scene.table) : null
  const worker = await runtime.work({ ...TIMES, onError: () => {} })
  const during = scene.table && (await whileBlocked(ground, { runtime, run, table: scene.table, early, effects }))
  const end = await finish(ground, runtime, run)
  await worker.stop()
  const evidence = await ground.witness.evidence(run)
  const code = evidence.effects.find((e) => e.outcome !== 'ok')?.code ?? (end === 'completed' ? null : end)
  const last = effects()
  // without a table nothing comes back, so whatever is there happened while it was down
  const found = { effects: during ? during.effects : last, end, code, last }
  return partOutcome(24, what, [...closedWrongs(found), ...(!during || during.isMet ? [] : ['nobody ran into it'])])
}

interface Blocked {
  readonly runtime: Runtime
  readonly run: RunId
  readonly table: Blockable
  /** Null: it is down from the question to the person on. */
  readonly early: Block | null
  readonly effects: () => number
}

/** Until somebody has run into it. */
async function whileBlocked(ground: CrashGround, { runtime, run, table, early, effects }: Blocked) {
  if (early === null) await look(ground, runtime, async () => (await seen(runtime, run))?.wait === 'confirmation')
  const block = early ?? (await ground.witness.block(run, table))
  await look(ground, runtime, async () => {
    await approve(runtime, run)
    return (await block.hits()) >= HITS || isFinal((await seen(runtime, run))?.status ?? 'queued')
  })
  const found = { effects: effects(), isMet: (await block.hits()) > 0 }
  await block.release()
  return found
}

async function finish(ground: CrashGround, runtime: Runtime, run: RunId): Promise<string | null> {
  let end: string | null = null
  await look(ground, runtime, async () => {
    const now = await seen(runtime, run)
    if (now?.wait === 'confirmation') await approve(runtime, run)
    end = now?.end ?? null
    return end !== null
  })
  return end
}

async function look({ patienceMs }: CrashGround, { clock }: Runtime, isDone: () => Promise<boolean>): Promise<void> {
  for (const until = performance.now() + patienceMs; performance.now() < until; await clock.sleep(LOOK_MS))
    if (await isDone()) return
}
