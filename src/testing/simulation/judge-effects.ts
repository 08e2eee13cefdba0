/** What must hold when an effect moves: it starts once it may, and its outcome is kept. */
import type { EffectRow, RunRow } from '../memory/rows.ts'
import { RATES } from './agents.ts'
import { TIMES } from './scenario.ts'
import { TOOL_MS } from './provider.ts'
import type { World } from './world.ts'

export interface SeenEffect {
  readonly status: string
  readonly attempt: number
  readonly outcome: string | null
  readonly hash: string
}

export interface SeenRun {
  row: RunRow
  movedAt: number
  readonly effects: Map<string, SeenEffect>
  readonly asked: Map<string, string>
}

interface Moving {
  readonly known: SeenRun
  readonly old: RunRow
  readonly row: RunRow
  /** When calls of a tool with a rate were counted. */
  readonly taken: ReadonlyMap<string, readonly number[]>
  readonly check: (holds: boolean, invariant: string, detail: string) => void
}

/** So many failures in a row open a circuit. */
const FAILURES = 5

const NEXT: Readonly<Record<string, readonly string[]>> = {
  intended: ['started', 'settled', 'waiting'],
  started: ['started', 'settled', 'unknown', 'waiting'],
  waiting: ['waiting', 'settled', 'unknown'],
  unknown: ['settled', 'started'],
  settled: [],
}

export function judgeEffects(world: World, moving: Moving): void {
  const { known, row, check } = moving
  for (const e of world.tables.effect.of(`${row.tenant_id}/${row.id}`)) {
    const place = `${row.id}/${e.step}/${e.position}`
    const before = known.effects.get(place)
    if (before?.status === e.status && before.attempt === e.attempt && before.outcome === e.outcome) continue
    known.effects.set(place, { status: e.status, attempt: e.attempt, outcome: e.outcome, hash: e.arguments_hash })
    if (!before) {
      check(e.status === 'intended' || e.status === 'settled', '23 an effect begins as an intent', place)
      continue
    }
    check(
      (NEXT[before.status] ?? []).includes(e.status),
      'J5 an effect moves along its table',
      `${place} ${before.status} to ${e.status}`,
    )
    check(before.hash === e.arguments_hash, '13 the arguments stay', place)
    // an operator's word that it may be sent again is no start
    if (e.error_code === 'circuit_open')
      check(world.provider.failures(e.tool) >= FAILURES, 'N4 a circuit opens for who is away', place)
    const isWord = before.status === 'unknown' && before.attempt === e.attempt
    if (e.status === 'started' && !isWord) started(world, moving, e, before)
  }
}

/** Starts of a tool that is counted, so far. */
const startsOf = ({ tables }: World, tool: string): number => {
  let starts = 0
  for (const e of tables.effect.all()) if (e.tool === tool && e.attempt > 0) starts += 1
  return starts
}

function started(world: World, { old, row, check, taken }: Moving, e: EffectRow, before: SeenEffect): void {
  const { tables, sched, closedSince } = world
  const place = `${row.id}/${e.step}/${e.position}`
  const now = sched.now()
  const lease = tables.worker.get(row.worker_id ?? '')?.lease_until ?? -1
  check(old.cancel_cause === null, '14 nothing starts after the cancel', place)
  check(old.deadline_at > now, 'B1 nothing starts after the deadline', place)
  check(lease > now, '5 nothing starts without a lease', place)
  check(e.attempt === before.attempt + 1, 'J4 each start is counted', place)
  if (before.status !== 'intended') return
  if (e.tool in RATES)
    check(startsOf(world, e.tool) <= (taken.get(e.tool)?.length ?? 0), 'I1 what starts is counted', place)
  // asked right before the start: nobody is between the two for longer than a lease and a call
  for (const name of [e.tool, '*']) {
    const since = closedSince.get(name)
    check(since === undefined || now <= since + TIMES.leaseMs + TOOL_MS, '24 nothing starts without permission', place)
  }
}
