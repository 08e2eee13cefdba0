/**
 * Faults that are planted to see whether the judges notice: each hurts one promise, at a seam of the program or in a
 * statement of the store in memory. Nothing of them is in the program itself. A closed list: `npm run simulate` plays each
 * until it is found.
 */
import type { Db, Statement } from '../../db/port.ts'
import { plainSealer } from '../../db/seal.ts'
import { decide } from '../../gate/confirmation.sql.ts'
import { start } from '../../journal/effect.sql.ts'
import { claim } from '../../journal/lease.sql.ts'
import { hashArguments } from '../../kernel/canonical.ts'
import type { Agent } from '../../run/agent.ts'
import { claim as claimOutbox, failed, parcel } from '../../journal/outbox.sql.ts'
import { load, step, tell } from '../../run/run.sql.ts'
import { tail } from '../../stream/event.sql.ts'
import type { Contract } from '../../tool/contract.ts'
import { registry } from '../../tool/registry.ts'
import type { RunRow } from '../memory/rows.ts'
import type { Telling } from '../memory/signals.ts'
import { type AllGuards, GUARDS } from '../memory/store.ts'
import type { Tables } from '../memory/tables.ts'
import type { Verb } from '../memory/verb.ts'
import type { Mode } from './scenario.ts'
import type { Bug, World } from './world.ts'

// ── ways to plant ───────────────────────────────────────────────────────────────────────────────────────────────────

/** A statement without some of its guards. */
function without<V extends keyof AllGuards>(verb: V, ...names: readonly (keyof AllGuards[V])[]): Pick<Bug, 'guards'> {
  // a guard of another name would plant nothing
  for (const name of names) if (!(name in GUARDS[verb])) throw new Error(`${verb} has no guard ${String(name)}`)
  const kept = Object.entries(GUARDS[verb]).filter(([name]) => !names.includes(name as keyof AllGuards[V]))
  return { guards: { ...GUARDS, [verb]: Object.fromEntries(kept) } }
}

/** A statement with another guard in the place of its own. */
function guarding<V extends keyof AllGuards, N extends keyof AllGuards[V]>(
  verb: V,
  name: N,
  guard: AllGuards[V][N],
): Pick<Bug, 'guards'> {
  return { guards: { ...GUARDS, [verb]: { ...GUARDS[verb], [name]: guard } } }
}

/** A statement that does nothing at all while something is the case. */
function unless<P, R>(statement: Statement<P, R>, idle: (tables: Tables) => boolean): Pick<Bug, 'verbs'> {
  return {
    verbs(verbs) {
      const known = statement as Statement<unknown, unknown>
      const sound = verbs.get(known)
      if (!sound) throw new Error(`nothing is known of ${statement.name}`)
      verbs.set(known, (tables, params, walls) => (idle(tables) ? [] : sound(tables, params, walls)))
    },
  }
}

/** A statement that does one thing more, in the same transaction. */
function also<P, R>(
  statement: Statement<P, R>,
  more: (tables: Tables, params: P, rows: readonly R[]) => void,
): Pick<Bug, 'verbs'> {
  return {
    verbs(verbs) {
      const known = statement as Statement<unknown, unknown>
      const sound = verbs.get(known) as unknown as Verb<P, R>
      const broken: Verb<P, R> = (tables, params, walls) => {
        const rows = sound(tables, params, walls)
        more(tables, params, rows)
        return rows
      }
      verbs.set(known, broken as unknown as Verb<unknown, unknown>)
    },
  }
}

interface Place {
  readonly tenant: string
  readonly run: string
}
interface Settling extends Place {
  readonly step: number
  readonly spent_cost: number
  readonly reserved_cost: number
  readonly settled: readonly { readonly position: number }[]
  readonly events: readonly unknown[]
}

/** The applied rows of a batch, with their runs. */
function applied<T extends Place>(
  tables: Tables,
  json: string,
  rows: readonly { readonly n: number }[],
): readonly { readonly sent: T; readonly run: RunRow }[] {
  const all = JSON.parse(json) as T[]
  return rows.flatMap(({ n }) => {
    const sent = all[n - 1]
    const run = sent && tables.run.get(`${sent.tenant}/${sent.run}`)
    return sent && run ? [{ sent, run }] : []
  })
}

const alsoStep = (more: (tables: Tables, run: RunRow, sent: Settling) => void): Pick<Bug, 'verbs'> =>
  also(step, (tables, { transitions }, rows) => {
    for (const { sent, run } of applied<Settling>(tables, transitions, rows)) more(tables, run, sent)
  })

/** The product's code behind a contract, changed. */
const commits = (change: (contract: Contract, world: World) => Contract['implementation']['commit']) => ({
  contract(contract: Contract, world: World): Contract {
    if (!contract.implementation.commit) return contract
    const commit = change(contract, world)
    return { ...contract, implementation: { ...contract.implementation, ...(commit && { commit }) } }
  },
})

const called = (mode: Mode, change: Partial<Contract>) => ({
  contract: (contract: Contract): Contract => (contract.name.startsWith(mode) ? { ...contract, ...change } : contract),
})

const reading = <P, R>(statement: Statement<P, R>, change: (rows: R[]) => R[]) => ({
  db: (db: Db): Db => ({
    ...db,
    read: async (scope, asked, params) => {
      const rows = await db.read(scope, asked, params)
      return (asked as unknown) === statement ? (change(rows as unknown as R[]) as unknown as typeof rows) : rows
    },
  }),
})

// ── the list ────────────────────────────────────────────────────────────────────────────────────────────────────────

export const BUGS: readonly Bug[] = [
  {
    name: 'a new key at each try',
    ...commits(
      ({ implementation }, world) =>
        (input, cx) =>
          implementation.commit?.(input, { ...cx, effectKey: `${cx.effectKey}#${world.next()}` }),
    ),
  },
  { name: 'a start by who lost the run', ...without('start', 'version', 'worker', 'epoch', 'status', 'lease') },
  { name: 'a start without a lease', ...without('start', 'lease') },
  { name: 'a start after the cancel', ...without('start', 'cancel', 'version') },
  { name: 'a start after the deadline', ...without('start', 'deadline') },
  { name: 'a commit by who lost the run', unchecked: true, ...without('step', 'version', 'worker', 'epoch', 'status') },
  { name: 'a commit on an older version', unchecked: true, ...without('step', 'version') },
  { name: 'the effect before its intent', db: effectFirst },
  { name: 'no look at the lease before the request', clock: (clock) => ({ ...clock, monotonic: () => 1 }) },
  { name: 'a second try where nobody can ask', ...called('manual', { unknown: 'key' }) },
  { name: 'a second try without asking', ...called('state', { unknown: 'key' }) },
  {
    name: 'what was spent is booked twice',
    ...alsoStep((tables, run, { spent_cost }) => {
      if (spent_cost > 0) tables.run.change(run, { used_cost: run.used_cost + spent_cost })
    }),
  },
  {
    name: 'a reservation is lost',
    ...alsoStep((tables, run, { reserved_cost }) => {
      if (reserved_cost > 0) tables.run.change(run, { reserved_cost: 0 })
    }),
  },
  {
    name: 'a cancel mark is overwritten',
    ...alsoStep((tables, run) => {
      if (run.cancel_cause !== null && run.end_reason === null) tables.run.change(run, { cancel_cause: null })
    }),
  },
  {
    name: 'a failure is stored as a success',
    ...alsoStep((tables, run, { step: at, settled }) => {
      for (const { position } of settled) {
        const effect = tables.effect.get(`${run.tenant_id}/${run.id}/${at}/${position}`)
        if (effect?.outcome === 'error' && effect.started_at !== null) tables.effect.change(effect, { outcome: 'ok' })
      }
    }),
  },
  {
    name: 'an event is forgotten',
    ...alsoStep((tables, run, { events }) => {
      const last = tables.event.of(`${run.tenant_id}/${run.id}`).at(-1)
      if (events.length > 1 && last) tables.event.remove(last)
    }),
  },
  {
    name: 'an approval is not used up',
    ...also(start, (tables, { starts }, rows) => {
      for (const { run } of applied(tables, starts, rows))
        for (const c of tables.confirmation.of(`${run.tenant_id}/${run.id}`))
          if (c.status === 'consumed') tables.confirmation.change(c, { status: 'approved' })
    }),
  },
  { name: 'an approval is taken twice', ...without('decide', 'pending', 'version') },
  { name: 'an approval is taken too late', ...without('decide', 'expiry', 'deadline') },
  { name: 'an approval is taken for a canceled run', ...without('decide', 'cancel') },
  { name: 'anybody may approve', ...without('decide', 'confirmer', 'hash') },
  { name: 'other parameters after the approval', ...also(decide, swapParameters) },
  { name: 'nobody is asked', contract: (contract) => ({ ...contract, effect: effectOf(contract), approval: 'auto' }) },
  { name: 'permission is taken for granted', permits: true },
  { name: 'the living lose their runs', ...without('reap', 'lost') },
  { name: 'a claim without a lease', ...without('claim', 'lease') },
  { name: 'a claim of the younger run', ...without('claim', 'oldest') },
  {
    name: 'a claim that does not raise the epoch',
    ...also(claim, (tables, _, rows) => {
      for (const { tenant, run } of rows) {
        const row = tables.run.get(`${tenant}/${run}`)
        if (row) tables.run.change(row, { epoch: Math.max(1, row.epoch - 1) })
      }
    }),
  },
  { name: 'two tabs win', ...without('submit', 'version') },
  {
    name: 'the dead speak',
    guards: { ...GUARDS, said: {}, shown: {} },
  },
  {
    name: 'an event is marked before it is taken',
    ...also(parcel, (tables, of, rows) => {
      const d = tables.delivery.get(`${of.tenant}/${of.endpoint}/${of.run}`)
      const last = rows.at(-1)?.seq
      if (d && last) tables.delivery.change(d, { sent: last })
    }),
  },
  {
    name: 'an event that was not taken counts as sent',
    ...also(failed, (tables, of) => {
      const d = tables.delivery.get(`${of.tenant}/${of.endpoint}/${of.run}`)
      if (d) tables.delivery.change(d, { sent: of.seq })
    }),
  },
  {
    name: 'who takes nothing stops the others',
    ...unless(claimOutbox, (tables) => [...tables.delivery.all()].some((d) => d.attempt > 1)),
  },
  { name: "what a dead relay had is nobody's", ...guarding('deliver', 'free', (d) => d.worker_id === null) },
  { name: 'events are sent backwards', ...reading(parcel, (rows) => [...rows].reverse()) },
  { name: 'nobody wakes who is told', ...guarding('wake', 'waiting', () => false) },
  {
    name: 'what was told before is not heard',
    ...alsoStep((tables, run) => {
      if (run.wait_reason === 'external') tables.run.change(run, { due_at: run.deadline_at })
    }),
  },
  {
    name: 'a word of another tenant is heard',
    ...also(tell, (tables, { told }) => {
      for (const t of JSON.parse(told) as Telling[]) {
        const own = tables.signal.get(`acme/production/${t.signal}`)
        if (t.tenant !== 'acme' && own) tables.signal.change(own, { body: t.body, body_hash: t.hash })
      }
    }),
  },
  {
    name: 'the last word stays',
    ...also(tell, (tables, { told }) => {
      for (const t of JSON.parse(told) as Telling[]) {
        const own = tables.signal.get(`${t.tenant}/${t.environment}/${t.signal}`)
        if (own) tables.signal.change(own, { body: t.body, body_hash: t.hash })
      }
    }),
  },
  { name: 'a rate that counts nobody', ...without('take', 'room') },
  { name: 'what starts is not counted', contract: (contract) => ({ ...contract, rate: null }) },
  { name: 'as many places as you like', contract: (contract) => ({ ...contract, concurrency: 100 }) },
  { name: 'who is followed is left alone', ...without('abandon', 'alone') },
  { name: 'nobody notices who left', ...guarding('abandon', 'alone', () => false) },
  { name: 'what is under way is swept', ...without('sweep', 'ended', 'old') },
  { name: 'what was not sent is swept', ...without('sweep', 'sent', 'looked') },
  { name: 'an unknown effect loses its arguments', ...without('sweep', 'known') },
  { name: 'events out of order', ...reading(tail, (rows) => [...rows].reverse().sort((a, b) => a.sort - b.sort)) },
  { name: 'no wall between tenants', db: noWall },
]

const effectOf = ({ effect }: Contract): Contract['effect'] => (effect === 'irreversible' ? 'write' : effect)

interface Intents extends Place {
  readonly effects: readonly {
    readonly step: number
    readonly position: number
    readonly level: string
    readonly key: string
    readonly tool: string
    readonly status: string
  }[]
}

/** The request leaves, and then its intent is stored. */
function effectFirst(db: Db, world: World): Db {
  const send = ({ run, effects }: Intents): void => {
    for (const { step: at, position, level, key, tool, status } of effects) {
      if (level !== 'write' || status !== 'intended') continue
      const order = { mode: tool.split('.')[0] as Mode, tool, key, place: `${run}/${at}/${position}` }
      void world.provider.order({ ...order, item: '', units: 0 }).catch(() => {})
    }
  }
  return {
    ...db,
    async call(statement, params) {
      if ((statement as unknown) === step)
        (JSON.parse((params as unknown as { readonly transitions: string }).transitions) as Intents[]).forEach(send)
      return db.call(statement, params)
    },
  }
}

/** Whoever names a tenant is believed to be of the other. */
function noWall(db: Db): Db {
  const walls = { tenant: 'acme', environment: 'production' }
  const named = <P>(params: P): P => ({ ...params, tenant: 'acme' })
  return {
    ...db,
    call: (statement, params) => db.call(statement, (statement as unknown) === load ? named(params) : params),
    read: (_, statement, params) => db.read(walls, statement, named(params)),
  }
}

/** The stored call becomes another one, consistently, once somebody has agreed to it. */
function swapParameters(
  tables: Tables,
  { decisions }: { readonly decisions: string },
  rows: readonly { readonly n: number; readonly outcome: string }[],
): void {
  const decided = rows.filter((r) => r.outcome === 'decided')
  for (const { sent, run } of applied<Place & { readonly confirmation: string }>(tables, decisions, decided)) {
    const c = tables.confirmation.get(`${sent.tenant}/${sent.confirmation}`)
    const e = c && tables.effect.get(`${run.tenant_id}/${run.id}/${c.step}/${c.position}`)
    if (!e) continue
    const text = '{"item":"swapped","units":99}'
    const hash = hashArguments({ tool: e.tool, version: e.tool_version, tenant: run.tenant_id, text })
    const sealed = plainSealer.seal(
      run.tenant_id,
      Buffer.from(JSON.stringify({ raw: text, canonical: text, exposedName: e.tool.replace('.', '__') })),
    )
    tables.effect.change(e, { arguments: Buffer.from(sealed).toString('base64'), arguments_hash: hash })
    tables.confirmation.change(c, { params_hash: hash })
  }
}

/** The agent with the product's code behind its contracts changed. */
export function withBug(agent: Agent, bug: Bug | null, world: World): Agent {
  const { contract } = bug ?? {}
  return contract ? { ...agent, tools: registry(agent.tools.contracts.map((c) => contract(c, world))) } : agent
}
