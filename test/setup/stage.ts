/** Whole runs over the public runtime, on one store: who speaks, who works, who looks. */
import { expect } from 'vitest'
import type { ConfirmationView } from '../../src/gate/confirmation.ts'
import type { FaultHook } from '../../src/kernel/faultpoint.ts'
import type { RunId, SessionId } from '../../src/kernel/ids.ts'
import type { Actor } from '../../src/kernel/scope.ts'
import { actorFrom, scopeOf } from '../../src/request/actor.ts'
import type { Authorize } from '../../src/run/acting.ts'
import { type Agent, agent, type AgentSpec } from '../../src/run/agent.ts'
import { isFinal, type Run } from '../../src/run/state.ts'
import type { Worker, WorkerOptions } from '../../src/run/worker.shell.ts'
import { createRuntime, type Runtime, type RuntimeOptions } from '../../src/runtime.ts'
import type { Script } from '../../src/testing/script.ts'
import { scripted } from '../../src/testing/scripted.ts'
import type { TestStore } from './engines.ts'

export const person = (kind: Actor['kind'] = 'end_user', user = 'ann'): Actor =>
  actorFrom({ kind, tenant: 'acme', environment: 'production', user, subject: 'ann', permissions: ['*'] })

export interface Seen {
  readonly status: Run['status']
  readonly wait: Run['wait']
  readonly end: Run['end']
}

export interface Play {
  /** Of its agent. */
  readonly name: string
  readonly runtime: Runtime
  readonly worker: Worker
  say(text: string, more?: { readonly session: SessionId; readonly sessionVersion: number }): Promise<Said>
  /** Another program on the same store, with these changes. */
  again(changes: Partial<Scene>): Promise<Play>
  stop(): Promise<void>
}

export interface Said {
  readonly run: RunId
  readonly session: SessionId
  readonly sessionVersion: number
  seen(): Promise<Seen>
  until(done: (seen: Seen) => boolean): Promise<Seen>
  /** Until the run has ended, or waits for an operator. */
  rest(): Promise<Seen>
  /** The open confirmations, once there are so many. */
  asked(count: number): Promise<readonly ConfirmationView[]>
  decide(card: ConfirmationView, approve: boolean): Promise<ConfirmationView>
  cancel(): Promise<Run>
  /** The texts of the tool messages, in order. */
  results(): Promise<readonly unknown[]>
  effects(): Promise<readonly Effect[]>
  ledger(): Promise<readonly Record<string, unknown>[]>
}

export interface Effect {
  readonly step: number
  readonly position: number
  readonly status: string
  readonly outcome: string | null
  readonly code: string | null
}

export interface Scene extends Omit<Partial<AgentSpec>, 'model'> {
  readonly script?: Script
  readonly model?: AgentSpec['model']
  readonly name?: string
  readonly fault?: FaultHook
  readonly authorize?: Authorize
  readonly worker?: Omit<WorkerOptions, 'db' | 'driving'> | null
  /** What else the program has. */
  readonly more?: Omit<RuntimeOptions, 'db' | 'agents'>
}

const BUDGET = { steps: 8, toolCalls: 12, tokens: 200_000, costCents: 1_000, seconds: 60 }
/** The lease is that of the product: nobody is lost here, however busy the machine is. */
const QUICK = { pollMs: 60 }
let made = 0

export async function play(store: TestStore, scene: Scene): Promise<Play> {
  const {
    script = [{ text: 'done' }],
    name = `stage_${(made += 1)}`,
    fault,
    authorize,
    more,
    worker: how = {},
    ...spec
  } = scene
  const model = scene.model ?? scripted(script)
  const acting: Agent = agent(name, { budget: BUDGET, ...spec, model })
  const runtime = createRuntime({
    db: store.db,
    agents: [acting],
    onToolError: () => {},
    ...(fault ? { fault } : {}),
    ...(authorize ? { authorize } : {}),
    ...more,
  })
  const worker = how === null ? IDLE : await runtime.work({ ...QUICK, onError: () => {}, ...how })
  return {
    name,
    runtime,
    worker,
    async say(text, more) {
      const done = await runtime.submit(person(), { agent: name, text, ...more })
      return said(store, runtime, done)
    },
    again: (changes) => play(store, { ...scene, name, ...changes }),
    stop: () => worker.stop(),
  }
}

/** A program without a worker. */
const IDLE = {
  stop: () => Promise.resolve(),
  driven: () => 0,
  cancel: () => {},
  recheck: () => {},
  wake: () => {},
  id: () => 'wrk_none',
} as Worker

function said(
  store: TestStore,
  runtime: Runtime,
  done: { run: RunId; session: SessionId; sessionVersion: number },
): Said {
  const { run } = done
  const actor = person()
  const seen = async (): Promise<Seen> => {
    const [row] = await store.admin(
      'select status, wait_reason as wait, end_reason as end from plimsoll.run where id = $1',
      [run],
    )
    return row as unknown as Seen
  }
  const until = async (wanted: (seen: Seen) => boolean): Promise<Seen> => {
    for (;;) {
      const now = await seen()
      if (wanted(now)) return now
      await runtime.clock.sleep(30)
    }
  }
  const open = () => runtime.confirmations.inbox(scopeOf(actor), { user: actor.user, run, after: '', limit: 50 })
  return {
    ...done,
    seen,
    until,
    rest: () => until((now) => isFinal(now.status) || now.wait === 'unknown_effect'),
    async asked(count) {
      await until((now) => now.wait === 'confirmation' || isFinal(now.status))
      const cards = [...(await open())].sort((a, b) => a.position - b.position)
      expect(cards).toHaveLength(count)
      return cards
    },
    decide: ({ id, version, paramsHash }, approve) =>
      runtime.decide(actor, { confirmation: id, approve, version, paramsHash, reason: null }),
    cancel: () => runtime.cancel(actor, run, 'user', null),
    async results() {
      const rows = await store.admin(
        `select body from plimsoll.message where run_id = $1 and role = 'tool' order by seq`,
        [run],
      )
      return rows.map((r) =>
        parsed(
          (JSON.parse(Buffer.from(runtime.sealer.open('acme', r.body as Uint8Array)).toString()) as { text: string })
            .text,
        ),
      )
    },
    async effects() {
      const rows = await store.admin(
        'select step, position, status, outcome, error_code as code from plimsoll.effect where run_id = $1 order by step, position',
        [run],
      )
      return rows as unknown as Effect[]
    },
    ledger: () =>
      store.admin(
        'select kind, known, suspect, input_tokens::int as input, output_tokens::int as output, spent_cost::float8 as cost from plimsoll.ledger where run_id = $1 order by seq',
        [run],
      ),
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Something that a test opens when it is time, and that others wait for. */
export interface Gate {
  readonly opened: Promise<void>
  open(): void
}

export function gate(): Gate {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}
