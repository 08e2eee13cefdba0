/**
 * The conductor: asks the pure machine what to do, does it, reports back, commits. The only loop there is (B5).
 *
 * L3  a model call whose answer was not stored is billed, and made anew
 * L5  nothing of the database is held while a model or a tool works
 * K1  one signal for everything that a run waits for
 */
import { Fault } from '../kernel/fault.ts'
import type { FaultHook } from '../kernel/faultpoint.ts'
import type { Lease } from '../journal/lease.store.ts'
import { actorOfRun } from '../request/actor.ts'
import { act } from './act.shell.ts'
import type { Acted, Acting, ActParts, Signals, Work } from './acting.ts'
import { type Ahead, readAhead, withReads } from './ahead.shell.ts'
import { type Agent, unknownAgent } from './agent.ts'
import { linkedAnew } from './compensate.shell.ts'
import { withoutDamage } from './damaged.ts'
import { throwIfHandedBack } from './handback.ts'
import { MOST_CONFLICTS } from './loops.ts'
import { step } from './machine.ts'
import { type Action, next } from './next.ts'
import { pointsOf } from './points.ts'
import type { Report } from './report.ts'
import { readSnapshot, type Snapshot } from './snapshot.ts'
import type { Run } from './state.ts'
import type { Moved } from './writes.ts'

/** What is begun for somebody who looks on. What has started is brought to its end, and what a person approved is done. */
function needsFollower(action: Action): boolean {
  if (action.do === 'start') return action.call.confirmation?.status !== 'approved'
  return action.do === 'reserve' || action.do === 'call_model' || action.do === 'run_reads' || action.do === 'plan'
}

export interface Driving extends Omit<Acting, 'asking'> {
  readonly agents: ReadonlyMap<string, Agent>
  readonly fault: FaultHook
  /** Told before each commit: whether the run rests after it. It asks for nothing more then, so another may have its place. */
  readonly leaving: (isLast: boolean) => void
  /** Told after each commit, so that streams in this process need not wait for their next look. */
  readonly committed: (run: Run) => void
}

/**
 * What one worker remembers of a run between two tries to drive it, when a reply of the database was lost: whether the
 * money that the run holds may be spent already, and what its model has said aloud. Everything else is in the rows.
 */
export interface Memory {
  /** The number of commits of the run with which `lost` is true. */
  commits: number
  lost: boolean
  /** The step that was asked for last, and the attempts at it that could be heard. */
  step: number
  attempts: number
}

export const noMemory = (): Memory => ({ commits: -1, lost: false, step: -1, attempts: 0 })

/** K3: a step that is asked for again under the same claim goes on counting, so that no text is joined with an earlier one. */
function countingOn(parts: Driving, run: Run, memory: Memory): Driving['delta'] {
  if (memory.step !== run.step) Object.assign(memory, { step: run.step, attempts: 0 })
  const before = memory.attempts
  return (told, attempt, part) => {
    memory.attempts = before + attempt
    parts.delta(told, before + attempt, part)
  }
}

/** Drives one claimed run until it rests: final, parked, or lost to another worker. @throws Fault when it is handed back. */
export async function drive(parts: Driving, lease: Lease, signals: Signals, memory: Memory): Promise<void> {
  let state = await read(parts, lease)
  if (state && memory.commits === state.run.commits) state = { ...state, run: { ...state.run, lost: memory.lost } }
  let ahead: Ahead | null = null
  try {
    while (state) {
      const { run } = state
      const asking = (): void => void Object.assign(memory, { commits: run.commits, lost: true })
      const acting: ActParts = { ...parts, asking, agent: state.agent, delta: countingOn(parts, run, memory) }
      const leftMs = state.deadlineAt - parts.clock.monotonic()
      const action = next(run, leftMs)
      const signal = needsFollower(action) ? signals.signal : signals.firm
      throwIfHandedBack(signal)
      if (state.isAlone && needsFollower(action)) {
        state = await readFollowed(parts, lease)
        continue
      }
      const work: Work = { ...state, ...signals, signal, leftMs, lease, actor: actorOfRun(run) }
      if (action.do === 'rest') return
      const isAhead = action.do === 'run_reads' && ahead?.step === run.step
      // what has begun is not left alone, also when its time is over and nobody asks for it any more
      if (ahead && !isAhead) await ahead.report.catch(() => {})
      const acted: Acted = ahead && isAhead ? { run, report: await ahead.report } : await act(acting, work, action)
      ahead = null
      if (acted === 'reload') {
        state = await read(parts, lease)
        continue
      }
      if (acted.report.kind === 'model_answered')
        ahead = await readAhead(acting, { ...work, run: move(acted.run, acted.report).run })
      state = await commit(parts, lease, { ...state, run: acted.run }, { report: acted.report, ahead, memory })
    }
  } finally {
    await ahead?.report.catch(() => {})
  }
}

interface Driven {
  readonly run: Run
  readonly agent: Agent
  /** On the monotonic clock of this process, from the time left that the database told. */
  readonly deadlineAt: number
  /** Nobody followed it any more when it was read (K2). */
  readonly isAlone: boolean
}

/** Null when the run is not ours to drive any more. */
async function read(parts: Driving, lease: Lease): Promise<Driven | null> {
  const asked = parts.clock.monotonic()
  const rows = await parts.runs.load(lease)
  if (!rows || rows.run.epoch !== lease.epoch || rows.run.status !== 'running') return null
  const agent = parts.agents.get(rows.run.agent) ?? unknownAgent(rows.run.agent)
  const snapshot: Snapshot = readSnapshot(rows, lease, agent, parts.sealer)
  const { run, isAlone } = snapshot
  return { run, agent, deadlineAt: asked + snapshot.leftMs, isAlone }
}

/** Somebody may have come since. @throws Fault `client_gone` when nobody has */
async function readFollowed(parts: Driving, lease: Lease): Promise<Driven | null> {
  const state = await read(parts, lease)
  if (state?.isAlone) throw new Fault('client_gone')
  return state
}

function move(run: Run, report: Report): Moved {
  const moved = step(run, report)
  if (!('refused' in moved)) return moved
  throw new Fault('refused_transition', `${moved.refused.report} is refused while ${moved.refused.status}.`)
}

/** Moves the run by a report. On a conflict the run is read again and the report is judged anew on what it is now. */
async function commit(
  parts: Driving,
  lease: Lease,
  before: Driven,
  { report: first, ahead, memory }: { report: Report; ahead: Ahead | null; memory: Memory },
): Promise<Driven | null> {
  let state = before
  let report = ahead?.atOnce ? withReads(first, ahead.atOnce) : first
  for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts++) {
    const moved = move(state.run, report)
    const points = pointsOf(report, moved.run)
    await parts.fault(points.before)
    parts.leaving(moved.run.status !== 'running')
    if (report.kind === 'reserved') Object.assign(memory, { commits: state.run.commits + 1, lost: false })
    const applied = await parts.runs.commit(lease, state.run, moved)
    if (applied.applied) {
      await parts.fault(points.after)
      const run: Run = { ...moved.run, version: applied.version, commits: state.run.commits + 1 }
      await parts.fault('notify')
      parts.committed(run)
      return { ...state, run }
    }
    const fresh = await read(parts, lease)
    if (!fresh) return null
    // our own commit whose reply was lost: it counted itself
    if (fresh.run.commits === state.run.commits + 1) return { ...fresh, run: { ...fresh.run, lost: moved.run.lost } }
    state = { ...fresh, run: { ...fresh.run, lost: state.run.lost } }
    // whoever came between may have ended the run: what has been read is on record all the same
    if (ahead) report = withReads(report, await ahead.report)
    report = await linkedAnew({ ...parts, agent: state.agent }, state.run, report)
  }
  throw new Fault('conflict')
}

/** Nobody follows the run: it parks where it is (K2). */
export async function parkAlone(parts: Driving, lease: Lease, memory: Memory): Promise<void> {
  const state = await read(parts, lease)
  if (!state) return
  const asked = memory.lost && memory.commits === state.run.commits
  const leftMs = Math.max(0, Math.floor(state.deadlineAt - parts.clock.monotonic()))
  await commit(parts, lease, state, { report: { kind: 'left_alone', asked, leftMs }, ahead: null, memory })
}

/** Puts a run back into the queue because its worker stops: no loss, so no attempt is counted (P6). */
export async function handBack(parts: Driving, lease: Lease, memory: Memory): Promise<void> {
  const state = await read(parts, lease)
  if (!state) return
  const asked = memory.lost && memory.commits === state.run.commits
  await commit(parts, lease, state, { report: { kind: 'handed_back', asked }, ahead: null, memory })
}

/**
 * Gives a run back that cannot be driven here: its rows are damaged, or the program is wrong. It is counted as an
 * attempt; the last one ends the run, so that it neither loops nor blocks its conversation (L4). What is damaged is not
 * needed for that. @throws Fault when the run is still ours: it is to be laid down without a look at it
 */
export async function surrender(parts: Driving, lease: Lease): Promise<void> {
  // whoever cancels or is told something between the look and the commit moves the run as well
  for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts++) {
    const rows = await parts.runs.load(lease)
    if (!rows || rows.run.epoch !== lease.epoch || rows.run.status !== 'running') return
    const agent = parts.agents.get(rows.run.agent) ?? unknownAgent(rows.run.agent)
    const { run, leftMs } = readSnapshot(withoutDamage(rows, lease, parts.sealer), lease, agent, parts.sealer)
    const { applied } = await parts.runs.commit(lease, run, surrendered(run, next(run, leftMs)))
    if (applied) return
  }
  throw new Fault('conflict')
}

/** Nothing is begun, sent or asked: it ends, or rests for whom it waits for, or is tried again. */
function surrendered(run: Run, action: Action): Moved {
  if (action.do === 'end') return move(run, { kind: 'ended', reason: action.reason })
  if (action.do === 'give_up') return move(run, { kind: 'effect_unknown', position: action.call.position })
  const rested = action.do === 'park' ? move(run, { kind: 'parked' }) : null
  return rested && rested.run.status !== 'running' ? rested : move(run, { kind: 'lease_lost' })
}
