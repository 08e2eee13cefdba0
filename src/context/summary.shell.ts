/**
 * Summaries as errands: asked for when a run has ended and much was said, judged against the messages, kept or counted.
 *
 * D5  what covers a deleted message is marked, emptied, and made again   D6  a share is checked again a day later
 */
import type { Random } from '../kernel/random.ts'
import type { ErrandKind, ErrandSource } from '../run/errand.ts'
import type { Ids } from '../kernel/ids.ts'
import type { SessionId } from '../kernel/ids.ts'
import { nextRange, type SummaryLimits } from './summary.ts'
import { check, recheck, type Source } from './summary-check.ts'
import { PROMPT_VERSION, promptOf, type SourceMessage } from './summary-prompt.ts'
import type { RangeOf, SourceRow, SummaryStore, Walls } from './summary.store.ts'
import type { TokenCounter } from './tokens.ts'

export const SUMMARY = 'summary'
export const RECHECK = 'recheck'

/** Of an agent that has summaries. */
export interface Summarised {
  readonly limits: SummaryLimits
  /** The revision that is asked. */
  readonly model: string
  readonly count?: TokenCounter
}

export interface Summarising {
  readonly store: SummaryStore
  /** Null for an agent without summaries. */
  readonly of: (agent: string) => Summarised | null
  readonly scan: (text: string) => readonly string[]
  readonly ids: Ids
  readonly random: Random
  readonly open: (scope: Walls, source: ErrandSource, delayMs: number) => Promise<boolean>
  readonly isUnderWay: (scope: Walls, session: SessionId, kind: string) => Promise<boolean>
}

/** Late enough for what was learned meanwhile, and soon enough to matter. */
const RECHECK_AFTER_MS = 24 * 3_600_000

/** Asks for the next summary of a conversation when it needs one. True when it did. */
export async function considerSummary(parts: Summarising, scope: Walls, session: SessionId): Promise<boolean> {
  const turns = await parts.store.turns(scope, session)
  const last = turns.at(-1)
  const summarised = last ? parts.of(last.agent) : null
  if (!last || !summarised) return false
  const range = nextRange(turns, await parts.store.summaries(scope, session), summarised.limits)
  if (!range || (await parts.isUnderWay(scope, session, SUMMARY))) return false
  const { agent, user, subject } = last
  const id = parts.ids.next('ern')
  return parts.open(scope, { id, kind: SUMMARY, agent, session, user, subject, ...range }, 0)
}

const named = (rows: readonly SourceRow[]): readonly SourceMessage[] =>
  rows
    .filter((row) => !row.partial && row.body.text.trim() !== '')
    .map(({ run, seq, body }, at) => ({ name: `${run}.${seq}`, short: `m${at + 1}`, role: body.role, text: body.text }))

async function sourceOf({ store }: Summarising, scope: Walls, range: RangeOf): Promise<Source> {
  return { messages: named(await store.source(scope, range)), actions: await store.actions(scope, range) }
}

const rangeOf = ({ session, from, to }: ErrandSource): RangeOf => ({ session, from, to })

export const summaryKind = (parts: Summarising): ErrandKind<Walls> => ({
  knows: (agent) => parts.of(agent) !== null,
  async request(scope, source) {
    const { messages } = await sourceOf(parts, scope, rangeOf(source))
    return messages.length === 0 ? { outcome: 'nothing' } : { text: promptOf(messages) }
  },
  async handle(scope, source, final) {
    const summarised = parts.of(source.agent)
    if (!summarised) return 'unknown_agent'
    const from = await sourceOf(parts, scope, rangeOf(source))
    const { scan } = parts
    const { count } = summarised
    const checked =
      'end' in final
        ? { ok: false as const, reason: final.end }
        : check(final.text, from, { scan, ...(count && { count }) })
    await parts.store.write(scope, {
      id: source.id,
      fromMessage: from.messages[0]?.name ?? source.upto,
      model: summarised.model,
      prompt: PROMPT_VERSION,
      state: checked.ok ? 'verified' : 'rejected',
      reason: checked.ok ? null : checked.reason,
      body: checked.ok ? checked.body : null,
    })
    if (!checked.ok) return 'rejected'
    if (parts.random.fraction() < summarised.limits.recheck)
      await parts.open(scope, { ...source, id: parts.ids.next('ern'), kind: RECHECK }, RECHECK_AFTER_MS)
    return 'verified'
  },
})

/** Nobody is asked: the check itself may know more by then, and the messages may be others. */
export const recheckKind = (parts: Summarising): ErrandKind<Walls> => ({
  knows: (agent) => parts.of(agent) !== null,
  async request(scope, source) {
    const summary = await parts.store.at(scope, rangeOf(source))
    if (!summary) return { outcome: 'nothing' }
    const reason = recheck(summary.body, await sourceOf(parts, scope, rangeOf(source)), { scan: parts.scan })
    await parts.store.rechecked(scope, summary.id, reason)
    if (reason !== null) await considerSummary(parts, scope, source.session)
    return { outcome: reason === null ? 'verified' : 'rejected' }
  },
  handle: () => Promise.resolve('nothing'),
})

/** What a deletion is about, as far as summaries mind. */
export interface Forgotten {
  readonly messages: readonly string[]
  readonly memories: readonly string[]
  readonly sessions: readonly string[]
}

/** The runs and conversations whose summaries fall; null looks for what should have fallen already. */
export async function summariesHit(
  { store }: Summarising,
  scope: Walls,
  forgotten: Forgotten | null,
): Promise<{ readonly runs: readonly string[]; readonly sessions: readonly string[] }> {
  if (forgotten === null) return { runs: runsIn(await store.residue(scope)), sessions: [] }
  const { messages, memories, sessions } = forgotten
  const drawn = memories.length > 0 ? await store.runsOf(scope, memories) : []
  return { runs: [...new Set([...runsIn(messages), ...drawn])], sessions }
}

const runsIn = (messages: readonly string[]): readonly string[] => [
  ...new Set(messages.map((name) => name.split('.')[0] ?? '')),
]
