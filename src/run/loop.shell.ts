/**
 * The conductor: asks the pure machine what to do, does it, reports back, commits. The only loop there is (B5).
 *
 * L5  nothing of the database is held while a model or a tool works
 * K1  one signal for everything that a run waits for
 */
import { Fault } from '../kernel/fault.ts'
import type { FaultHook } from '../kernel/faultpoint.ts'
import type { Lease } from '../journal/lease.store.ts'
import { actorOfRun } from '../request/actor.ts'
import { act, type Acting } from './act.shell.ts'
import type { Agent } from './agent.ts'
import { MOST_CONFLICTS } from './loops.ts'
import { step } from './machine.ts'
import { next } from './next.ts'
import type { Report } from './report.ts'
import { readSnapshot, type Snapshot, type TranscriptMessage } from './snapshot.ts'
import { isFinal, type Run } from './state.ts'
import type { Moved } from './writes.ts'

export interface Driving extends Acting {
  readonly agents: ReadonlyMap<string, Agent>
  readonly fault: FaultHook
  /** Told after each commit, so that streams in this process need not wait for their next look. */
  readonly committed: (run: Run) => void
}

/**
 * Drives one claimed run until it rests: final, parked, handed back, or lost to another worker. `signal` aborts when the
 * run is canceled, the worker stops or its lease is lost.
 */
export async function drive(parts: Driving, lease: Lease, signal: AbortSignal): Promise<void> {
  const first = await read(parts, lease)
  if (!first) return
  let state: Driven = first
  for (;;) {
    const leftMs = state.deadlineAt - parts.clock.monotonic()
    const action = next(state.run, leftMs)
    if (action.do === 'rest') return
    const acted = await act({ ...parts, agent: state.agent }, { ...state, leftMs, lease, signal, actor: actorOfRun(state.run) }, action)
    if (acted === 'reload') {
      const fresh = await read(parts, lease)
      if (!fresh) return
      state = { ...fresh, run: { ...fresh.run, lost: state.run.lost && fresh.run.lost } }
      continue
    }
    const moved = await commit(parts, lease, { ...state, run: acted.run }, acted.report)
    if (!moved) return
    state = moved
  }
}

export interface Driven {
  readonly run: Run
  readonly transcript: readonly TranscriptMessage[]
  readonly agent: Agent
  /** On the monotonic clock of this process, from the time left that the database told. */
  readonly deadlineAt: number
}

/** The run as stored, or null when it is not ours any more. */
async function read(parts: Driving, lease: Lease): Promise<Driven | null> {
  const asked = parts.clock.monotonic()
  const rows = await parts.runs.load(lease)
  if (!rows || rows.run.epoch !== lease.epoch || rows.run.status !== 'running') return null
  const agent = parts.agents.get(rows.run.agent)
  if (!agent) throw new Fault('internal', 'A run was claimed whose agent this program does not know.')
  const snapshot: Snapshot = readSnapshot(rows, lease, agent, parts.sealer)
  return { run: snapshot.run, transcript: snapshot.transcript, agent, deadlineAt: asked + snapshot.leftMs }
}

/** Moves the run by a report. On a conflict the run is read again and the report is judged anew on what it is now. */
async function commit(parts: Driving, lease: Lease, before: Driven, report: Report): Promise<Driven | null> {
  let state = before
  for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts++) {
    const moved = step(state.run, report)
    if ('refused' in moved) throw new Fault('refused_transition', `${moved.refused.report} is refused while ${moved.refused.status}.`)
    const points = pointsOf(report, moved.run)
    await parts.fault(points.before)
    const applied = await parts.runs.commit(lease, state.run, moved)
    if (applied.applied) {
      await parts.fault(points.after)
      const run: Run = { ...moved.run, version: applied.version, commits: state.run.commits + 1 }
      parts.committed(run)
      return { ...state, run, transcript: extended(state.transcript, moved) }
    }
    const rows = await parts.runs.load(lease)
    // our own commit whose reply was lost: it counted itself
    const mine = rows !== null && rows.run.epoch === lease.epoch && rows.run.commits === state.run.commits + 1
    if (mine && rows.run.status !== 'running') return null
    const fresh = await read(parts, lease)
    if (!fresh) return null
    if (mine) return fresh
    state = { ...fresh, run: { ...fresh.run, lost: state.run.lost && fresh.run.lost } }
  }
  throw new Fault('conflict')
}

function extended(transcript: readonly TranscriptMessage[], moved: Moved): readonly TranscriptMessage[] {
  const said = moved.writes.messages.map((m): TranscriptMessage => ({ body: m.body, tokens: m.tokens, partial: m.partial }))
  return said.length > 0 ? [...transcript, ...said] : transcript
}

type Points = { readonly before: Parameters<FaultHook>[0]; readonly after: Parameters<FaultHook>[0] }
const pointsOf = (report: Report, run: Run): Points => {
  if (isFinal(run.status)) return { before: 'final.before', after: 'final.after' }
  if (report.kind === 'model_answered') return { before: 'step.beforeIntent', after: 'step.afterIntent' }
  return { before: 'result.before', after: 'result.after' }
}
