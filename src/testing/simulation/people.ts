/** Who stands outside: a user with two tabs, an administrator, a stranger of another tenant, and whoever turns the clocks. */
import type { ConfirmationView } from '../../gate/confirmation.ts'
import { Fault, type FaultCode } from '../../kernel/fault.ts'
import type { RunId, SessionId } from '../../kernel/ids.ts'
import type { Actor } from '../../kernel/scope.ts'
import { actorFrom } from '../../request/actor.ts'
import type { Resolution } from '../../run/resolve.shell.ts'
import type { Runtime } from '../../runtime.ts'
import type { Table } from '../memory/tables.ts'
import { MODES } from './scenario.ts'
import { call, redeploy } from './servers.ts'
import { PLANTED, unavailable } from './trouble.ts'
import type { World } from './world.ts'

export const person = (kind: Actor['kind'], user: string, tenant = 'acme'): Actor =>
  actorFrom({ kind, tenant, environment: 'production', user, subject: user, permissions: ['*'] })
export const ANN = person('end_user', 'ann')
const OLGA = person('operator', 'olga')
const EVE = person('end_user', 'eve')
const STRANGER = person('operator', 'mal', 'birch')

/** What a server may answer to people who do nothing wrong, or too late, or to the wrong thing. */
const ANSWERS: ReadonlySet<FaultCode> = new Set<FaultCode>([
  'server_unreachable',
  'store_unavailable',
  'not_found',
  'permission_denied',
  'conflict',
  'refused_transition',
  'precondition_failed',
  'precondition_required',
  'already_decided',
  'confirmation_expired',
  'params_hash_differs',
  'stale_plan',
  'model_unavailable',
  'already_signaled',
])

/** What the people know, for each other and for the judges. */
export interface Known {
  readonly runs: RunId[]
  readonly sessions: Map<SessionId, number>
  /** Conversations in which something is still to be said; 0 when everybody has said what he had to say. */
  talking: number
  /** Every run has ended, grown old and been swept. */
  isSwept: boolean
  /** The user has gone away, and answers nothing any more. */
  isGone: boolean
}

type Answer<T> = { readonly value: T } | { readonly code: FaultCode; readonly fault: Fault }

export function actorsOf(world: World): Known {
  const known: Known = { runs: [], sessions: new Map(), talking: world.scenario.talkers, isGone: false, isSwept: false }
  const { sched, scenario } = world
  const act = (name: string, body: (sleep: Sleep) => Promise<void>): void => {
    const process = sched.process(name)
    const sleep: Sleep = (from, to) =>
      new Promise((resolve) => sched.after(process, world.chance.between(from, to), resolve, 'waits'))
    sched.spawn(process, 'begins', () => {
      body(sleep).catch((error: unknown) => world.broken('no program error', `${name} ${String(error)}`))
    })
  }
  for (let i = 0; i < scenario.talkers; i++) act('ann', (sleep) => talk(world, known, sleep))
  act('ann.inbox', (sleep) => answerCards(world, known, sleep))
  act('olga', (sleep) => operate(world, sleep))
  if (scenario.intruder) act('mal', (sleep) => intrude(world, known, sleep))
  if (scenario.skewedClocks) act('gremlin', (sleep) => turnClocks(world, sleep))
  if (scenario.revokes) act('admin', (sleep) => revoke(world, sleep))
  if (scenario.flips) act('deploy', (sleep) => flip(world, sleep))
  if (scenario.sweeps) act('olga.archive', (sleep) => archive(world, known, sleep))
  return known
}

type Sleep = (from: number, to: number) => Promise<void>

export async function ask<T>(world: World, work: (runtime: Runtime) => Promise<T>): Promise<Answer<T>> {
  try {
    return { value: await call(world, work) }
  } catch (error) {
    // the program failed beside a commit that may have been made: to the person, the answer is lost
    const isPlanted = error instanceof Error && error.message === PLANTED
    const fault = Fault.is(error)
      ? error
      : isPlanted
        ? unavailable()
        : new Fault('internal', error instanceof Error ? error.message : 'no error')
    if (!ANSWERS.has(fault.code)) world.broken('no program error', `a person got ${fault.code} ${fault.message}`)
    return { code: fault.code, fault }
  }
}

async function talk(world: World, known: Known, sleep: Sleep): Promise<void> {
  const { chance, scenario } = world
  let session: SessionId | null = null
  let version = 0
  /** Answers that were accepted to one version of the conversation. */
  const accepted = new Map<number, number>()
  const say = async (): Promise<boolean> => {
    const to = session === null ? {} : { session, sessionVersion: version }
    const seen = version
    const said = await ask(world, (r) => r.submit(ANN, { agent: scenario.agent, text: `order ${world.next()}`, ...to }))
    if ('value' in said) {
      const { value } = said
      known.runs.push(value.run)
      if (session !== null) accepted.set(seen, (accepted.get(seen) ?? 0) + 1)
      if ((accepted.get(seen) ?? 0) > 1) world.broken('A3 one tab wins', value.session)
      session = value.session
      version = Math.max(version, value.sessionVersion)
      known.sessions.set(session, version)
      changeMind(world, value.run, 200)
      return true
    }
    if (said.code === 'precondition_failed') version = said.fault.facts.currentVersion ?? version
    return said.code !== 'server_unreachable' && said.code !== 'store_unavailable'
  }
  for (let message = 0; message < scenario.messages; message++) {
    for (let tries = 0; tries < 3 && !(await say()); tries++) await sleep(100, 1_000)
    if (scenario.secondTab && session !== null) await Promise.all([say(), say()])
    await sleep(200, 3_000)
  }
  if (session !== null && chance.yes(0.1)) {
    const closing: SessionId = session
    await ask(world, (r) => r.closeConversation(ANN, closing, null))
  }
  known.talking -= 1
}

/** Somebody is called when there is something to do: looking in vain only costs steps. */
function has<R>(table: Table<R>, wanted: (row: R) => boolean): boolean {
  for (const row of table.all()) if (wanted(row)) return true
  return false
}

/** Presses yes or no, twice, too late, on the wrong thing; and once everything is calm, on all that is left. */
async function answerCards(world: World, known: Known, sleep: Sleep): Promise<void> {
  const { chance } = world
  const recorded = new Map<string, boolean>()
  const isAwake = (run: RunId) => has(world.tables.run, (r) => r.id === run && r.status === 'running')
  for (;;) {
    await sleep(150, 1_500)
    if (known.isGone || !has(world.tables.confirmation, (c) => c.status === 'pending')) continue
    const page = await ask(world, (r) => r.reads.confirmations(ANN, { run: '', after: '', limit: 10 }))
    for (const card of 'value' in page ? page.value.items : []) {
      if (world.isStormy && chance.yes(0.25)) continue
      if (world.isStormy && chance.yes(0.15)) {
        pressLate(world, card)
        continue
      }
      // two windows: a run that is awake beside its card is stopped in one, and a moment later yes is pressed in the other
      if (world.isStormy && isAwake(card.run) && chance.yes(0.5)) {
        const stopping = ask(world, (r) => r.cancel(ANN, card.run, 'user', null))
        await sleep(0, 10)
        await Promise.all([stopping, press(world, card, true)])
        continue
      }
      if (world.isStormy && chance.yes(0.2)) await pressWrongly(world, card)
      const yes = chance.yes(0.75)
      const presses = chance.yes(0.2)
        ? [press(world, card, yes), press(world, card, chance.yes(0.5) ? yes : !yes)]
        : [press(world, card, yes)]
      const taken = (await Promise.all(presses)).filter((one) => one !== null)
      if (new Set(taken).size > 1) world.broken('10 a decision is used once', card.id)
      if (taken[0] !== undefined) recorded.set(card.id, taken[0])
      if (taken[0] !== undefined && chance.yes(0.2)) await pressAgain(world, card, taken[0])
    }
  }
}

const decisionOf = ({ id, version, paramsHash }: ConfirmationView, approve: boolean) =>
  ({ confirmation: id, approve, version, paramsHash, reason: null }) as const

/** What was recorded, or null. */
async function press(world: World, card: ConfirmationView, approve: boolean): Promise<boolean | null> {
  if (approve) world.judge.consented(card.id, card.params)
  changeMind(world, card.run, 60)
  const answer = await ask(world, (r) => r.decide(ANN, decisionOf(card, approve)))
  return 'value' in answer ? approve : null
}

/** The card lay there for longer than it was good for. */
function pressLate(world: World, card: ConfirmationView): void {
  const { sched, chance } = world
  const late = (): void => void press(world, card, true)
  sched.after(sched.current(), card.expiresAt - sched.now() + chance.between(-200, 1_500), late, 'presses late')
}

/** A spent decision answers what was recorded, and nothing else happens. */
async function pressAgain(world: World, card: ConfirmationView, recorded: boolean): Promise<void> {
  const answer = await ask(world, (r) => r.decide(ANN, decisionOf(card, world.chance.yes(0.5))))
  if ('value' in answer) return world.broken('12 a spent decision is never taken again', card.id)
  const said = answer.code === 'already_decided' ? answer.fault.facts.outcome : null
  if (said !== null && said !== (recorded ? 'approved' : 'rejected') && said !== 'superseded')
    world.broken('12 a spent decision answers what was recorded', `${card.id} ${String(said)}`)
}

async function pressWrongly(world: World, card: ConfirmationView): Promise<void> {
  const right = decisionOf(card, true)
  const wrong = world.chance.pick([
    () => ask(world, (r) => r.decide(ANN, { ...right, paramsHash: 'f'.repeat(64) })),
    () => ask(world, (r) => r.decide(ANN, { ...right, version: card.version + 1 })),
    () => ask(world, (r) => r.decide(EVE, right)),
    () => ask(world, (r) => r.decide(OLGA, right)),
    () => ask(world, (r) => r.decide(STRANGER, right)),
  ])
  if ('value' in (await wrong())) world.broken('11 a decision binds everything', card.id)
}

/** Stops a run some moments later, when it is in the middle of things. */
function changeMind(world: World, run: RunId, withinMs: number): void {
  const { chance, sched, scenario } = world
  if (!world.isStormy || !chance.yes(scenario.changesMind)) return
  const stop = (): void => void ask(world, (r) => r.cancel(ANN, run, 'user', null))
  sched.after(sched.current(), chance.below(chance.yes(0.7) ? withinMs : 3_000), stop, 'stops it')
}

/** Says what became of unknown effects, by the provider's own books, once nothing can be on its way any more. */
async function operate(world: World, sleep: Sleep): Promise<void> {
  const { chance, provider } = world
  for (;;) {
    await sleep(500, 3_000)
    if (!has(world.tables.effect, (e) => e.status === 'unknown')) continue
    const open = await ask(world, (r) => r.unknownEffects(OLGA, 10))
    for (const e of 'value' in open ? open.value : []) {
      const place = `${e.run}/${e.step}/${e.position}`
      if (provider.isPending(place) || (world.isStormy && chance.yes(0.5))) continue
      const truth = provider.count(place) > 0
      const no = chance.yes(0.2) ? ('retry' as const) : ('did_not_happen' as const)
      const known: Resolution = truth
        ? { outcome: 'happened', result: { done: 'said' }, reason: 'looked it up' }
        : { outcome: no, reason: 'looked it up' }
      const said: Resolution = chance.yes(world.scenario.sweeps ? 0.5 : 0.08)
        ? { outcome: 'leave', reason: 'nobody answers' }
        : known
      const at = { run: e.run as RunId, step: e.step, position: e.position }
      const say = () => ask(world, (r) => r.resolve(OLGA, at, said))
      await Promise.all(chance.yes(0.2) ? [say(), say()] : [say()])
    }
  }
}

/** Knows every id, and belongs to another tenant. */
async function intrude(world: World, known: Known, sleep: Sleep): Promise<void> {
  while (world.isStormy) {
    await sleep(300, 3_000)
    const run = known.runs.at(-1)
    const session = [...known.sessions.keys()].at(-1)
    if (!run || !session) continue
    const [confirmation] = [...world.tables.confirmation.all()].map((c) => c.id as ConfirmationView['id'])
    const tries: readonly ((r: Runtime) => Promise<unknown>)[] = [
      (r) => r.reads.run(STRANGER, run),
      (r) => r.reads.effects(STRANGER, run),
      (r) => r.reads.conversation(STRANGER, session),
      (r) => r.cancel(STRANGER, run, 'operator', null),
      (r) => r.submit(STRANGER, { text: 'me too', session, sessionVersion: 1 }),
      (r) => some(r.eventsAfter(STRANGER, run, { after: 0, limit: 10 })),
      (r) => some(r.unknownEffects(STRANGER, 10)),
      ...(confirmation ? [(r: Runtime) => r.reads.confirmation(STRANGER, confirmation)] : []),
    ]
    if ('value' in (await ask(world, world.chance.pick(tries)))) world.broken('19 nothing of another tenant', run)
  }
}

/** A list that must be empty. */
async function some(list: Promise<readonly unknown[]>): Promise<unknown> {
  if ((await list).length === 0) throw new Fault('not_found')
  return list
}

async function turnClocks(world: World, sleep: Sleep): Promise<void> {
  const { chance, servers, sched } = world
  while (world.isStormy) {
    await sleep(300, 3_000)
    const server = servers.length > 0 ? chance.pick(servers) : null
    if (!server) continue
    const { skew } = server
    const turns: readonly (() => void)[] = [
      () => void (skew.offsetMs = chance.between(-3_600_000, 3_600_000)),
      () => void (skew.offsetMs -= 600_000),
      () => void (skew.frozenAt = sched.now()),
      () => void (skew.frozenAt = null),
    ]
    chance.pick(turns)()
  }
  for (const { skew } of servers) skew.frozenAt = null
}

async function revoke(world: World, sleep: Sleep): Promise<void> {
  const { chance, closedSince, sched, scenario } = world
  await sleep(200, Math.floor(scenario.calmAt / 2))
  const modes = chance.yes(0.3) ? ['*'] : MODES.flatMap((m) => [`${m}.hand`, `${m}.note`])
  for (const name of modes) closedSince.set(name, sched.now())
  while (world.isStormy) await sleep(200, 500)
  closedSince.delete('*')
}

async function flip(world: World, sleep: Sleep): Promise<void> {
  await sleep(500, Math.floor(world.scenario.calmAt / 2))
  world.release = 1
  for (const server of [...world.servers]) {
    redeploy(world, server)
    await sleep(100, 2_000)
  }
}

const AGED_MS = 7_200_000

/** Runs that ended are made older than they are, and swept beside those that live. */
async function archive(world: World, known: Known, sleep: Sleep): Promise<void> {
  const { tables, sched } = world
  for (const name of ['delta', 'event', 'message', 'value'])
    await ask(world, (r) => r.retention.set(OLGA, name, 0, 'to see what stays'))
  for (;;) {
    await sleep(500, 3_000)
    let aged = 0
    for (const run of tables.run.all()) {
      const { ended_at } = run
      if (ended_at === null || ended_at < sched.now() - AGED_MS / 2) continue
      tables.run.change(run, { ended_at: ended_at - AGED_MS })
      aged += 1
    }
    if (aged === 0) continue
    const swept = await ask(world, (r) => r.retention.run(OLGA, false))
    const isOld = ({ ended_at }: { readonly ended_at: number | null }): boolean => (ended_at ?? Infinity) < 0
    known.isSwept = 'value' in swept && !has(tables.run, (run) => !isOld(run))
  }
}
