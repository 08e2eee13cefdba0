/**
 * Invariants 10 to 13: what a person's word is good for. Two server processes take the requests; the run is driven here,
 * and what has happened is in the provider's log.
 */
import { randomBytes } from 'node:crypto'
import type { ConfirmationView } from '../gate/confirmation.ts'
import type { JsonObject } from '../kernel/json.ts'
import { scopeOf } from '../request/actor.ts'
import { isFinal } from '../run/state.ts'
import { createRuntime, type Runtime } from '../runtime.ts'
import { type Tampering, TAMPERINGS } from '../db/witness.ts'
import { crashAgent, type CrashAgentSpec } from './crash-agent.ts'
import { crashActor, type CrashGround, newSpec, type Seen, seen, TIMES } from './crash-case.ts'
import {
  type Became,
  bindingWrongs,
  raceWrongs,
  repeatWrongs,
  type Rival,
  type Said,
  shownWrongs,
  staleWrongs,
} from './crash-consent-judge.ts'
import { drive } from './crash-drive.ts'
import { type Answer, bearerOf, newKey, problemOf, type Request, send } from './crash-http.ts'
import { partOutcome } from './crash-part.ts'
import { type CrashWorker, spawnCrashWorker } from './crash-process.ts'
import type { Outcome } from './crash-summary.ts'

const PRESSES = 50
/** Against somebody else: so many, so that neither always comes first. */
const FEW = 6
const ROUNDS = 3
const CONFIRMATION_MS = 1_200

interface Stage {
  readonly ground: CrashGround
  readonly secret: string
  readonly service: string
  readonly operator: string
  readonly bearer: string
  readonly specs: readonly CrashAgentSpec[]
  readonly servers: readonly CrashWorker[]
  readonly urls: readonly [string, string]
}

/** A run that waits for its person. */
interface Asked {
  readonly stage: Stage
  readonly runtime: Runtime
  readonly run: string
  readonly session: string
  readonly sessionVersion: number
  readonly resource: string
  readonly card: ConfirmationView
  readonly yes: Request
  readonly no: Request
}

type Kind = 'plain' | 'short' | 'replaces' | 'planned'
const KINDS: readonly Kind[] = ['plain', 'short', 'replaces', 'planned']

export async function consentPart(ground: CrashGround): Promise<readonly Outcome[]> {
  const stage = await open(ground)
  const outcomes: Outcome[] = []
  try {
    for (const rival of ['none', 'cancel', 'expiry', 'message'] as const)
      for (let round = 0; round < (rival === 'none' ? 1 : ROUNDS); round++) outcomes.push(await race(stage, rival))
    outcomes.push(...(await requests(stage)))
    for (const what of Object.keys(TAMPERINGS) as Tampering[]) outcomes.push(await tampered(stage, what))
    for (const [what, change] of PROGRAMS) outcomes.push(await otherProgram(stage, what, change))
    for (const text of UGLY) outcomes.push(await shown(stage, text))
    outcomes.push(await stale(stage))
    // last: a server is killed for it
    outcomes.push(...(await repeated(stage)))
    return outcomes
  } finally {
    for (const server of stage.servers) server.signal('SIGKILL')
    await Promise.all(stage.servers.map((server) => server.gone))
  }
}

async function open(ground: CrashGround): Promise<Stage> {
  const secret = randomBytes(32).toString('hex')
  const more: Record<Kind, Partial<CrashAgentSpec>> = {
    plain: {},
    short: { confirmationMs: CONFIRMATION_MS },
    replaces: { replaces: true },
    planned: { isPlanned: true },
  }
  const specs = KINDS.map((kind): CrashAgentSpec => ({ ...newSpec(ground, 'keyed').spec, ...more[kind] }))
  const servers = [serve(ground, specs, secret), serve(ground, specs, secret)]
  const [one, two] = await Promise.all(servers.map((server) => server.ready))
  if (!one || !two) throw new Error('a process that serves ended before it listened')
  const runtime = createRuntime({ db: ground.db, agents: [] })
  const at = { tenant: 'acme', environment: 'production', permissions: ['*'] }
  const service = (await runtime.createKey({ ...at, kind: 'service', user: 'desk' })).key
  const operator = (await runtime.createKey({ ...at, kind: 'operator', user: 'olga' })).key
  return {
    ground,
    secret,
    service,
    operator,
    bearer: await bearerOf(one, service, 'ann'),
    specs,
    servers,
    urls: [one, two],
  }
}

const serve = (ground: CrashGround, agents: readonly CrashAgentSpec[], secret: string): CrashWorker => {
  const program = ground.program === undefined ? {} : { program: ground.program }
  return spawnCrashWorker({ db: ground.url, agents, ...TIMES, secret, works: false, ...program }, '')
}

const specOf = ({ specs }: Stage, kind: Kind): CrashAgentSpec => {
  const spec = specs[KINDS.indexOf(kind)]
  if (!spec) throw new Error('there is no such agent')
  return spec
}

async function ask(stage: Stage, kind: Kind = 'plain', text = ''): Promise<Asked> {
  const { ground, bearer } = stage
  const spec = specOf(stage, kind)
  const runtime = createRuntime({ db: ground.db, agents: [crashAgent(spec)] })
  const resource = `${newSpec(ground, spec.mode).resource}${text}`
  const { run, session, sessionVersion } = await runtime.submit(crashActor(), { agent: spec.name, text: resource })
  await drive(ground, runtime, run, (now) => now.wait === 'confirmation', { approves: false })
  const [card] = await runtime.confirmations.inbox(scopeOf(crashActor()), { user: 'ann', run, after: '', limit: 1 })
  if (!card) throw new Error('nothing waits for a person')
  const about = { body: { params_hash: card.paramsHash }, version: card.version, bearer }
  const path = `/v1/confirmations/${card.id}`
  const asked = { stage, runtime, run, session, sessionVersion, resource, card }
  return { ...asked, yes: { ...about, path: `${path}/approve` }, no: { ...about, path: `${path}/reject` } }
}

const end = (asked: Asked, runtime = asked.runtime) =>
  drive(asked.stage.ground, runtime, asked.run, (now) => isFinal(now.status), { approves: false })

const effectsOf = ({ stage, resource }: Asked): number =>
  stage.ground.provider.effects().filter((e) => e.resource === resource).length

async function becameOf(asked: Asked): Promise<Became> {
  const { effects } = await asked.stage.ground.witness.evidence(asked.run)
  const now = await seen(asked.runtime, asked.run as `run_${string}`)
  return { end: now?.end ?? null, effects: effectsOf(asked), told: effects.filter((e) => e.outcome === 'ok').length }
}

function saidOf(answer: Answer | null): Said {
  const { code = '', outcome = '' } = answer ? problemOf(answer) : {}
  return { status: answer?.status ?? 0, code, outcome }
}

async function race(stage: Stage, rival: Rival): Promise<Outcome> {
  const asked = await ask(stage, rival === 'expiry' ? 'short' : rival === 'message' ? 'replaces' : 'plain')
  const { urls, bearer, ground } = stage
  const press = (n: number) => send(urls[n % 2] ?? urls[0], asked.yes)
  const against: Record<Rival, () => Promise<unknown>> = {
    none: () => Promise.resolve(),
    cancel: () => send(urls[1], { path: `/v1/runs/${asked.run}/cancel`, body: {}, bearer }),
    expiry: () => Promise.resolve(),
    message: () =>
      send(urls[1], {
        path: `/v1/conversations/${asked.session}/messages`,
        body: { text: `${asked.resource}c` },
        version: asked.sessionVersion,
        bearer,
      }),
  }
  // right at the end of its time, for the clock that counts
  if (rival === 'expiry') await asked.runtime.clock.sleep(asked.card.expiresAt - (await ground.witness.now()) - 5)
  const count = rival === 'none' ? PRESSES : FEW
  const presses = Array.from({ length: count }, (_, n) => n)
  // the rival in the middle of them
  const first = presses.slice(0, count / 2).map(press)
  const rivals = against[rival]()
  const answers = [...first, ...presses.slice(count / 2).map(press)]
  const [said] = await Promise.all([Promise.all(answers), rivals, end(asked)])
  return partOutcome(10, `approvals against ${rival}`, raceWrongs(rival, said.map(saidOf), await becameOf(asked)))
}

/** Each request differs in one thing from the one that was shown; in the end the right one is good all the same. */
async function requests(stage: Stage): Promise<readonly Outcome[]> {
  const [asked, other] = [await ask(stage), await ask(stage)]
  const { yes, card } = asked
  const { ground, urls } = stage
  const stranger = await bearerOf(urls[0], stage.service, 'bob')
  const abroad = await createRuntime({ db: ground.db, agents: [] }).createKey({
    tenant: 'birch',
    environment: 'production',
    permissions: ['*'],
    kind: 'service',
    user: 'desk',
  })
  const elsewhere = await createRuntime({ db: ground.db, agents: [] }).createKey({
    tenant: 'acme',
    environment: 'test',
    permissions: ['*'],
    kind: 'service',
    user: 'desk',
  })
  const flipped = card.paramsHash.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
  const wrong: readonly (readonly [string, Request])[] = [
    ['another tenant', { ...yes, bearer: await bearerOf(urls[0], abroad.key, 'ann') }],
    ['another environment', { ...yes, bearer: await bearerOf(urls[0], elsewhere.key, 'ann') }],
    ['another user', { ...yes, bearer: stranger }],
    ['a service', { ...yes, bearer: stage.service }],
    ['an operator', { ...yes, bearer: stage.operator }],
    ['another hash', { ...yes, body: { params_hash: flipped } }],
    ['the hash of another run', { ...yes, body: { params_hash: other.card.paramsHash } }],
    ['another version', { ...yes, version: card.version + 1 }],
    ['the confirmation of another run', { ...yes, path: other.yes.path }],
  ]
  const outcomes: Outcome[] = []
  for (const [what, request] of wrong) {
    const said = saidOf(await send(urls[1], request))
    outcomes.push(partOutcome(11, `an approval with ${what}`, bindingWrongs(said, effectsOf(asked) + effectsOf(other))))
  }
  const right = [saidOf(await send(urls[0], yes)), saidOf(await send(urls[0], other.yes))]
  await Promise.all([end(asked), end(other)])
  const isGood = right.every((a) => a.status === 200) && effectsOf(asked) === 1 && effectsOf(other) === 1
  return [...outcomes, partOutcome(11, 'the right approval', isGood ? [] : ['it was not good'])]
}

/** Approved, and before anybody acts on it, something that it binds is changed. */
async function tampered(stage: Stage, what: Tampering): Promise<Outcome> {
  const asked = await ask(stage, what === 'resource_version' ? 'planned' : 'plain')
  await send(stage.urls[0], asked.yes)
  await stage.ground.witness.tamper(asked.run, what)
  await settle(asked)
  return partOutcome(11, `approved, and then another ${what}`, bindingWrongs(null, effectsOf(asked)))
}

const PROGRAMS: readonly (readonly [string, Partial<CrashAgentSpec>])[] = [
  ['version of the tool', { version: 2 }],
  ['rule of the release', { instructions: 'Be quick.' }],
]

async function otherProgram(stage: Stage, what: string, change: Partial<CrashAgentSpec>): Promise<Outcome> {
  const asked = await ask(stage)
  await send(stage.urls[0], asked.yes)
  await settle(
    asked,
    createRuntime({ db: stage.ground.db, agents: [crashAgent({ ...specOf(stage, 'plain'), ...change })] }),
  )
  return partOutcome(11, `approved, and then another ${what}`, bindingWrongs(null, effectsOf(asked)))
}

/** Until it ends or asks again; what asks again is not answered. */
async function settle(asked: Asked, runtime = asked.runtime): Promise<void> {
  const isAsking = (now: Seen): boolean => now.wait === 'confirmation'
  await drive(asked.stage.ground, runtime, asked.run, isAsking, { approves: false })
  await runtime.cancel(crashActor(), asked.run as `run_${string}`, 'user', null).catch(() => {})
  await end(asked, runtime)
}

/** Texts that look like others, hide, turn round, or end what they stand in. */
const UGLY: readonly string[] = [
  ' e\u0301 and \u00e9',
  ' \u202egnp.exe',
  ' \u200b\u200d\ufeff',
  ' \ud83d\udc69\u200d\ud83d\udc69\u200d\ud83d\udc67',
  ' "}],"units":9,"\\u0000',
  ' \u2028\u2029\r\n\t\u0007',
  ` ${'long '.repeat(400)}`,
  ' __proto__ constructor toString',
  " '; drop table run; --",
]

async function shown(stage: Stage, text: string): Promise<Outcome> {
  const asked = await ask(stage, 'plain', text)
  const { ground } = stage
  await send(stage.urls[0], asked.yes)
  await end(asked)
  const evidence = ground.provider.effects().find((e) => e.resource === asked.resource)
  const done = evidence
    ? ({ resource: evidence.resource, ...(evidence.args as JsonObject) } satisfies JsonObject)
    : null
  const { tool, toolVersion, paramsHash, params } = asked.card
  const card = { tool, version: toolVersion, tenant: 'acme', params: JSON.parse(params) as JsonObject, paramsHash }
  return partOutcome(13, `a text that is shown as ${JSON.stringify(text.slice(0, 12))}`, shownWrongs(card, done))
}

/** Somebody else changes the resource while a person looks at the plan. */
async function stale(stage: Stage): Promise<Outcome> {
  const asked = await ask(stage, 'planned')
  const { provider } = stage.ground
  await fetch(`${provider.url}/state/effects`, {
    method: 'POST',
    headers: { 'idempotency-key': 'somebody else' },
    body: JSON.stringify({ resource: asked.resource, args: { units: 5 } }),
  })
  const said = saidOf(await send(stage.urls[0], asked.yes))
  await end(asked)
  const became = await becameOf(asked)
  return partOutcome(13, 'a resource that moved on', staleWrongs(said, { ...became, effects: became.effects - 1 }))
}

/** Each kind of a spent confirmation, at a process that was started after the one that took it was killed. */
async function repeated(stage: Stage): Promise<readonly Outcome[]> {
  const { ground, urls, secret, specs, bearer } = stage
  const spent: readonly (readonly [string, Kind, (asked: Asked) => Request, (asked: Asked) => Promise<unknown>])[] = [
    ['approved', 'plain', (a) => a.yes, () => Promise.resolve()],
    ['rejected', 'plain', (a) => a.no, () => Promise.resolve()],
    ['expired', 'short', (a) => a.yes, (a) => end(a)],
    ['canceled', 'plain', (a) => a.yes, (a) => send(urls[0], { path: `/v1/runs/${a.run}/cancel`, body: {}, bearer })],
  ]
  const taken = []
  for (const [what, kind, request, before] of spent) {
    const asked = await ask(stage, kind)
    await before(asked)
    const key = newKey()
    const first = await send(urls[0], request(asked), key)
    await end(asked)
    taken.push({ what, asked, key, first, request: request(asked), effects: effectsOf(asked) })
  }
  stage.servers[0]?.signal('SIGKILL')
  const next = serve(ground, specs, secret)
  const url = await next.ready
  const outcomes: Outcome[] = []
  for (const { what, asked, key, first, request, effects } of taken) {
    const again = url === null ? null : await send(url, request, key)
    const anew = url === null ? null : await send(url, asked.yes)
    await end(asked)
    const wrongs =
      first && again
        ? repeatWrongs({ first, again, anew: saidOf(anew), effects: [effects, effectsOf(asked)] })
        : ['a server did not answer']
    outcomes.push(partOutcome(12, `a confirmation that was ${what}`, wrongs))
  }
  next.signal('SIGKILL')
  await next.gone
  return outcomes
}
