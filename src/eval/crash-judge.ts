/** What the promises say about a crash case: pure, from the provider's log and the notes of the witness. */
import { CANARY, type CrashCase, type CrashResult, type RunResult, TIMES } from './crash-case.ts'
import type { Change, Evidence } from '../db/witness.ts'
import type { Invariant } from './crash-invariants.ts'

export type Verdict = 'ok' | 'duplicate' | 'lost' | 'stuck'

/**
 * One effect where the provider has a key or can be asked; where it has neither, at most one, and either the run knows
 * of it or a person is asked. A canceled run has none or one that is told.
 */
export function judge({ mode, deadly, held, victims }: CrashCase, result: RunResult): Verdict {
  if (result.stuck) return 'stuck'
  if (result.effects > 1 || result.keys.length > 1) return 'duplicate'
  // an error inside the stream cannot be told from one of the provider: the run ends with its reason
  if (/:throw$/.test(victims.at(-1) ?? '') && result.reason === 'model_unavailable')
    return result.effects === 0 && /^model\.(sent|firstDelta):/.test(victims.at(-1) ?? '') ? 'ok' : 'lost'
  if (deadly === 'read') return result.reason === 'attempts_exhausted' ? 'ok' : 'lost'
  const asksPerson = result.reason === 'unknown_effect'
  if (asksPerson) return mode === 'manual' || deadly ? 'ok' : 'lost'
  if (held?.startsWith('cancel') && result.reason === 'user_canceled') return toldTruly(result) ? 'ok' : 'lost'
  return result.status === 'succeeded' && result.effects === 1 && toldTruly(result) ? 'ok' : 'lost'
}

/** The journal says of the effect what the provider says. */
const toldTruly = ({ effects, evidence }: RunResult): boolean =>
  evidence.effects.filter((e) => e.outcome === 'ok').length === effects

/** What every run puts to the test, whatever happens to it. */
export function runVerdicts(one: CrashCase, result: RunResult): ReadonlyMap<Invariant, boolean> {
  const { evidence } = result
  return new Map<Invariant, boolean>([
    [one.mode === 'manual' ? 2 : 1, judge(one, result) === 'ok'],
    [3, !result.stuck && isSettled(evidence)],
    [4, isOneChain(evidence)],
    [16, isWithinBudget(evidence)],
    [25, evidence.events.every((v) => !v.text.includes(CANARY))],
  ])
}

/** Which invariants a case puts to the test, and whether each holds. */
export function verdicts(one: CrashCase, result: CrashResult): ReadonlyMap<Invariant, boolean> {
  const runs: readonly RunResult[] = result.companion ? [result, result.companion] : [result]
  const every = (holds: (evidence: Evidence) => boolean): boolean => runs.every((r) => holds(r.evidence))
  const isOk = judge(one, result) === 'ok' && (!result.companion || judge(PLAIN, result.companion) === 'ok')
  const last = one.victims.at(-1) ?? ''
  const found = new Map(runVerdicts(one, result))
  if (result.companion)
    for (const [n, holds] of runVerdicts(PLAIN, result.companion)) found.set(n, holds && (found.get(n) ?? true))
  if (result.said.includes(CANARY)) found.set(25, false)
  if (last.endsWith(':stop')) found.set(5, isOk && every(isFenced))
  if (one.clock) found.set(6, isOk && every(isFenced))
  if (one.held === 'restart') found.set(7, isOk)
  if (last.endsWith(':cut_after')) found.set(8, isOk)
  if (one.refusal) found.set(9, isOk && result.requests === 1 && result.evidence.run.attempts === 0)
  if (one.held?.startsWith('cancel')) found.set(14, isOk && every(startsNothingAfterCancel))
  if (one.held === 'term') found.set(27, isOk && endedPolitely(result))
  return found
}

const PLAIN: CrashCase = { mode: 'keyed', victims: [] }

/** An ended run holds no money, and what it has used is what its ledger says. */
function isSettled({ run, ledger }: Evidence): boolean {
  const sum = (of: (row: Evidence['ledger'][number]) => number): number => ledger.reduce((n, row) => n + of(row), 0)
  const isBooked = sum((l) => l.tokens) === run.usedTokens && sum((l) => l.cost) === run.usedCost
  const isHeld = sum((l) => l.held) === run.heldTokens && sum((l) => l.heldCost) === run.heldCost
  return isBooked && isHeld && (run.end === null || (run.heldTokens === 0 && run.heldCost === 0))
}

function isOneChain({ run, changes, events, messages }: Evidence): boolean {
  const isUnbroken = changes.every(
    (c, i) => c.version === c.before + 1 && (i === 0 || c.before === changes[i - 1]?.version),
  )
  const isCounted = events.every((e, i) => e.seq === i + 1) && events.length === run.eventSeq
  const isOrdered = messages.every((m, i) => m.seq === i + 1) && messages.length === run.messageSeq
  return isUnbroken && isCounted && isOrdered && new Set(messages.map((m) => m.place)).size === messages.length
}

/** Epochs only rise, and a run is taken from nobody whose lease lives. */
const isFenced = ({ changes }: Evidence): boolean =>
  changes.every((c, i) => c.epoch >= (changes[i - 1]?.epoch ?? 0)) &&
  changes.every((c) => !isReaped(c) || c.leaseLeft === null || c.leaseLeft <= 0)

const isReaped = (c: Change): boolean => c.was === 'running' && c.status === 'queued' && !c.own

function isWithinBudget({ run, ledger }: Evidence): boolean {
  let [tokens, held, cost, heldCost] = [0, 0, 0, 0]
  return ledger.every((row) => {
    tokens += row.tokens
    held += row.held
    cost += row.cost
    heldCost += row.heldCost
    return held >= 0 && heldCost >= 0 && tokens + held <= run.maxTokens && cost + heldCost <= run.maxCost
  })
}

function startsNothingAfterCancel({ events, effects }: Evidence): boolean {
  const canceled = events.find((e) => e.type === 'cancel_requested')?.at
  return canceled === undefined || effects.every((e) => e.startedAt === null || e.startedAt <= canceled)
}

function endedPolitely({ politeEnd, met }: CrashResult): boolean {
  if (!politeEnd) return false
  const { run, changes } = politeEnd.evidence
  const claimed = changes.some((c) => c.status === 'running' && c.was !== 'running')
  // held before its claim, it has heard of the end before it could take anything
  const isIdle = met.at(-1)?.at(-1) !== 'claim.before' || !claimed
  const isFree = !politeEnd.hasLease && run.status !== 'running'
  // progress may have set the count back
  return politeEnd.code === 0 && isFree && run.attempts <= politeEnd.attemptsBefore && isIdle && leftFirst(politeEnd)
}

/** Whoever asks whether to send callers hears no before the work is done, on connections old and new. */
const leftFirst = ({ ready }: NonNullable<CrashResult['politeEnd']>): boolean => ready.join() === '200,503,503'

export interface Takeover {
  /** Milliseconds of the database's clock from `from` to the claim by another. */
  readonly ms: number
  /** `death`: the last renewal of the lease that ran out, before which nobody died; `start`: the successor came later. */
  readonly from: 'death' | 'start'
}

/** How long runs of the dead lay. The start of a process that comes after the death is not counted to the others. */
export function takeovers({ evidence, companion, finisherSince }: CrashResult): readonly Takeover[] {
  const all = [evidence, ...(companion ? [companion.evidence] : [])]
  return all.flatMap(({ changes }) =>
    changes.flatMap((c, i): readonly Takeover[] => {
      const next = changes[i + 1]
      if (!isReaped(c) || c.leaseLeft === null || next?.status !== 'running') return []
      const renewed = c.at + c.leaseLeft - TIMES.leaseMs
      // the one who finishes is of this process, and may have been there all the time
      const came = next.pid === process.pid ? finisherSince : next.since
      const isLater = came !== null && came > renewed
      return [{ ms: Math.round(next.at - (isLater ? came : renewed)), from: isLater ? 'start' : 'death' }]
    }),
  )
}
