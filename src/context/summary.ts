/**
 * Summaries of a conversation: what they hold, which of them stand, and what is told of them.
 *
 * D1  range, model, prompt, time, state, tasks and decisions   D2  each is made from messages, none from another
 * D3  what must not change stands in fields, word for word
 */
import type { Json } from '../kernel/json.ts'
import type { ContextLimits } from './limits.ts'
import type { Model } from '../model/port.ts'
import { type SummaryText, toldOf } from './told.ts'
import { tokensOf } from './tokens.ts'

/** As a product writes it. */
export interface SummarySpec {
  /** Asked for summaries, in runs of their own. */
  readonly model: Model
  /** What one summary may cost; default 10 cents. */
  readonly costCents?: number
  /** Tokens that no summary stands for, above which one is made; default: half of the context. */
  readonly above?: number
  /** Tokens of the latest turns that stay as they were said; default: a quarter of the context. */
  readonly keep?: number
  /** The share of summaries that is checked again a day later, from 0 to 1; default 0.05. */
  readonly recheck?: number
}

/** Of an agent. */
export interface SummaryLimits {
  /** Tokens of a transcript that no summary stands for; above it one is made. */
  readonly above: number
  /** Tokens of the latest turns that stay as they were said. */
  readonly keep: number
  /** The most that one summary is made of. */
  readonly most: number
  /** The share of summaries that is checked again a day later, from 0 to 1. */
  readonly recheck: number
}

/** What stands in the sealed body. Names of messages are `run.seq`. */
export interface SummaryBody {
  readonly text: string
  readonly decisions: readonly { readonly key: string; readonly value: string; readonly source_message: string }[]
  readonly open_tasks: readonly string[]
  /** What the user has ruled out or demanded, word for word. */
  readonly constraints: readonly { readonly text: string; readonly source_message: string }[]
  /** Order numbers and the like that people have said, found by code. */
  readonly names: readonly string[]
  /** Out of the journal. */
  readonly actions: readonly Action[]
}

export interface Action {
  readonly run: string
  readonly tool: string
  readonly status: string
  readonly outcome: string | null
  readonly confirmation: string | null
  readonly decision: string | null
}

/** A verified summary as it is stored. It covers whole runs of its conversation. */
export interface StoredSummary {
  readonly id: string
  readonly from: number
  readonly to: number
  readonly through: string
  readonly body: SummaryBody
}

type Covering = Pick<StoredSummary, 'from' | 'to'>

/** Summaries stand for messages only from the first one on: a gap leaves everything behind it as it was said. */
export function standing<T extends Covering>(summaries: readonly T[]): readonly T[] {
  let covered = 0
  return summaries
    .toSorted((a, b) => a.from - b.from || a.to - b.to)
    .filter(({ from, to }) => {
      if (from > covered + 1 || to <= covered) return false
      covered = to
      return true
    })
}

/**
 * As a context gets them. What binds, was decided or is named is told with the last one, from all of them, so that it does
 * not leave with the oldest prose; when that alone is larger than the share, no summary is used and the messages stay.
 */
export function summariesFor(limits: ContextLimits, stored: readonly StoredSummary[]): readonly SummaryText[] {
  const stands = standing(stored)
  const last = stands.at(-1)
  if (!last) return []
  const bodies = stands.map((s) => s.body)
  const binding = bodies.flatMap((b) => b.constraints.map((c) => `${c.text} [${c.source_message}]`))
  const fields = fieldsOf(bodies)
  const whole: SummaryText = {
    id: last.id,
    through: last.through,
    text: [last.body.text, fields].join('\n').trim(),
    binding,
  }
  const fits = (s: SummaryText): boolean => tokensOf(toldOf(s), limits.count) <= limits.summary
  const least = [whole, { ...whole, text: fields }].find(fits)
  if (!least) return []
  return [...stands.slice(0, -1).map(({ id, through, body }) => ({ id, through, text: body.text, binding: [] })), least]
}

const unique = (list: readonly string[]): readonly string[] => [...new Set(list)]

function fieldsOf(bodies: readonly SummaryBody[]): string {
  const decisions = new Map(
    bodies.flatMap((b) => b.decisions.map((d) => [d.key, `${d.key}: ${d.value} [${d.source_message}]`] as const)),
  )
  const sections: readonly [string, readonly string[]][] = [
    ['Decided', [...decisions.values()]],
    ['Open', unique(bodies.flatMap((b) => b.open_tasks))],
    ['Done and asked, by the journal', bodies.flatMap((b) => b.actions.map(actionText))],
    ['Named', unique(bodies.flatMap((b) => b.names))],
  ]
  return sections.flatMap(([title, lines]) => (lines.length > 0 ? [`${title}: ${lines.join('; ')}`] : [])).join('\n')
}

const actionText = (a: Action): string =>
  `${a.tool} ${a.outcome ?? a.status}${a.confirmation === null ? '' : `, confirmation ${a.confirmation} ${a.decision}`} [${a.run}]`

export interface Turn {
  readonly run: string
  readonly generation: number
  readonly ended: boolean
  readonly tokens: number
  /** The number of its last message; 0 when it has none any more. */
  readonly last: number
}

export interface Range {
  readonly from: number
  readonly to: number
  readonly upto: string
}

/**
 * What the next summary is made of: the oldest whole runs that none stands for, without the latest; null when there is no
 * need. Each rejected summary of the same beginning raises what is needed, so that a model which fails is not asked for ever.
 */
export function nextRange(
  turns: readonly Turn[],
  summaries: readonly (Covering & { readonly state: string })[],
  limits: SummaryLimits,
): Range | null {
  const verified = summaries.filter((s) => s.state === 'verified')
  const covered = standing(verified).at(-1)?.to ?? 0
  const open = turns.filter((t) => t.generation > covered)
  const firstActive = open.findIndex((t) => !t.ended)
  const ended = firstActive === -1 ? open : open.slice(0, firstActive)
  const tokens = ended.reduce((sum, t) => sum + t.tokens, 0)
  const failed = summaries.filter((s) => s.state === 'rejected' && s.from === covered + 1).length
  if (tokens <= limits.above * (1 + failed)) return null
  const nextThere = Math.min(...verified.map((s) => s.from).filter((from) => from > covered + 1))
  const taken: Turn[] = []
  let left = tokens
  for (const turn of ended) {
    const sum = tokens - left + turn.tokens
    if (turn.generation >= nextThere || left - turn.tokens < limits.keep || (taken.length > 0 && sum > limits.most))
      break
    taken.push(turn)
    left -= turn.tokens
  }
  const last = taken.findLast((t) => t.last > 0)
  return last ? { from: covered + 1, to: (taken.at(-1) as Turn).generation, upto: `${last.run}.${last.last}` } : null
}

/** A body as it was stored. */
export const bodyOf = (value: Json): SummaryBody => value as unknown as SummaryBody
