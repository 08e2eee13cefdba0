/** What a replay came to, as numbers, and which of them are not as they must be. */
import type { Conversation } from './conversations.ts'
import type { Kill } from './fleet.ts'
import type { Judgement } from './judge.ts'
import type { Results } from './results.ts'
import type { RunEnd, Talk } from './talk.ts'

export type Figures = {
  readonly conversations: number
  /** User messages that were answered, each a run. */
  readonly runs: number
  readonly toolCalls: number
  readonly resultsEqual: number
  readonly resultsDifferent: number
  readonly effects: number
  readonly duplicateEffects: number
  readonly missingEffects: number
  readonly unknownEffects: number
  readonly stuckRuns: number
  readonly finalStateEqual: number
  readonly finalStateDifferent: number
  readonly rewardedEqual: number
  readonly kills: number
  /** Of these, between the start of an effect and its stored result. */
  readonly killsInsideEffect: number
  /** How often the database went down. */
  readonly restarts: number
  /** Writes that the airline has carried out and not answered. */
  readonly unansweredWrites: number
  readonly seconds: number
  readonly endings: Readonly<Record<string, number>>
  /** Conversations with a run that the breaker ended; only `conversations`, `endings` and `duplicateEffects` count them. */
  readonly broken: readonly string[]
  /** Conversations that are not as recorded. */
  readonly differing: readonly string[]
  /** What to look at when something is off. */
  readonly clues: readonly string[]
}

const BROKEN = new Set<string | null>(['repeated_action', 'repeated_error'])

export const brokenOf = (talks: readonly Talk[]): readonly string[] =>
  talks
    .filter(({ runs }) => runs.some(({ reason }) => BROKEN.has(reason)))
    .map(({ conversation }) => conversation)
    .sort()

export function figuresOf(found: {
  readonly talks: readonly Talk[]
  readonly broken: readonly string[]
  readonly judgement: Judgement
  readonly results: Results
  /** Results that no request showed and the store holds, equal and different. */
  readonly stored: { readonly equal: number; readonly different: number }
  readonly unknownEffects: number
  readonly kills: readonly Kill[]
  readonly restarts: number
  readonly unanswered: number
  readonly seconds: number
  readonly clues: readonly string[]
}): Figures {
  const { judgement, results, stored, kills, broken } = found
  const talks = found.talks.filter(({ conversation }) => !broken.includes(conversation))
  const runs = talks.flatMap((one) => one.runs)
  const { differing, ...judged } = judgement
  return {
    ...judged,
    conversations: found.talks.length,
    runs: runs.length,
    toolCalls: runs.reduce((sum, run) => sum + run.toolCalls, 0),
    resultsEqual: results.equal + stored.equal,
    resultsDifferent: results.different + stored.different,
    unknownEffects: found.unknownEffects,
    stuckRuns: runs.filter(({ reason }) => reason === null).length,
    kills: kills.length,
    killsInsideEffect: kills.filter(({ openEffects }) => openEffects > 0).length,
    restarts: found.restarts,
    unansweredWrites: found.unanswered,
    seconds: found.seconds,
    endings: countsOf(found.talks.flatMap((one) => one.runs)),
    broken,
    differing,
    clues: found.clues,
  }
}

function countsOf(runs: readonly RunEnd[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { reason } of runs) counts[reason ?? 'none'] = (counts[reason ?? 'none'] ?? 0) + 1
  return counts
}

/** One sentence per figure that is off; empty when the replay did what was recorded. */
export function complaints(
  figures: Figures,
  wanted: {
    readonly conversations: readonly Conversation[]
    readonly kills: number
    readonly restarts: number
    readonly timeouts: number
    readonly tasks: boolean
    readonly breaker: 'raised' | 'default'
  },
): readonly string[] {
  const whole = wanted.conversations.filter(({ id }) => !figures.broken.includes(id))
  const turns = whole.flatMap((conversation) => conversation.turns)
  const calls = turns.reduce((sum, turn) => sum + turn.calls.length, 0)
  const rows: readonly (readonly [what: string, is: number, must: number])[] = [
    ['conversations', figures.conversations, wanted.conversations.length],
    ['runs', figures.runs, turns.length],
    ['tool calls', figures.toolCalls, calls],
    ['equal results', figures.resultsEqual, calls],
    ['different results', figures.resultsDifferent, 0],
    ['duplicate effects', figures.duplicateEffects, 0],
    ['missing effects', figures.missingEffects, 0],
    ['unknown effects', figures.unknownEffects, 0],
    ['stuck runs', figures.stuckRuns, 0],
    ['different final states', figures.finalStateDifferent, 0],
    ['rewarded and equal', figures.rewardedEqual, wanted.tasks ? whole.filter(({ reward }) => reward === 1).length : 0],
    // with limits above everything that was recorded there is nothing to stop
    ['stopped by the breaker', wanted.breaker === 'raised' ? figures.broken.length : 0, 0],
    ['kills', figures.kills, wanted.kills],
    ['restarts', figures.restarts, wanted.restarts],
    // a share of nothing is nothing, and of many it is some
    [
      'writes without an answer, of any',
      Math.sign(figures.unansweredWrites),
      wanted.timeouts > 0 && wanted.conversations.length >= 100 ? 1 : Math.sign(figures.unansweredWrites),
    ],
    [
      'kills inside an effect, at least',
      Math.min(figures.killsInsideEffect, Math.ceil(wanted.kills / 2)),
      Math.ceil(wanted.kills / 2),
    ],
  ]
  return rows.filter(([, is, must]) => is !== must).map(([what, is, must]) => `${what}: ${is} instead of ${must}`)
}

/** For people. */
export function linesOf(figures: Figures): readonly string[] {
  const f = figures
  const endings = Object.entries(f.endings).map(([reason, count]) => `${count} ${reason}`)
  return [
    `${f.conversations} conversations, ${f.runs} runs: ${endings.join(', ')}, ${f.stuckRuns} stuck`,
    `${f.toolCalls} tool calls: ${f.resultsEqual} results equal, ${f.resultsDifferent} different`,
    `${f.effects} effects: ${f.duplicateEffects} duplicate, ${f.missingEffects} missing, ${f.unknownEffects} unknown`,
    `final state: ${f.finalStateEqual} equal, ${f.finalStateDifferent} different; ${f.rewardedEqual} rewarded and equal`,
    ...(f.kills > 0 ? [`${f.kills} workers killed, ${f.killsInsideEffect} inside an effect`] : []),
    ...(f.restarts > 0 ? [`the database restarted ${f.restarts} times`] : []),
    ...(f.unansweredWrites > 0 ? [`${f.unansweredWrites} writes without an answer`] : []),
    ...(f.broken.length > 0 ? [`stopped by the breaker: ${f.broken.join(', ')}`] : []),
    ...(f.differing.length > 0 ? [`not as recorded: ${f.differing.join(', ')}`] : []),
    ...f.clues.map((clue) => `look at: ${clue}`),
    `${f.seconds} s`,
  ]
}
