/**
 * What of a conversation is sent. Decided before each call of the model from the messages alone, so that it can be
 * decided again: nothing about it is stored.
 *
 * C1  each section has its own share   C2  a call and its results are one piece
 * C3  old talk goes first, results by what they have to do with the question
 * T2  a picture, document or sound goes whole, and before the words of its message do
 * C8  a cut goes down to a low mark; until the next one what was sent is sent again unchanged
 */
import { cutResult, STUB_TOKENS } from './cut.ts'
import type { ContextLimits } from './limits.ts'
import { mediaBytes, REQUEST_MEDIA_BYTES, withNotes } from './media.ts'
import { nameOf, type TranscriptMessage } from './message.ts'
import { relevance, words } from './relevance.ts'
import { stateOf } from './state.ts'
import { tokensOf } from './tokens.ts'
import { type Unit, unitsOf } from './unit.ts'

/** A piece as it is sent: `messages` are the unit's, perhaps with shorter results. */
export interface Placed {
  readonly unit: Unit
  readonly messages: readonly TranscriptMessage[]
  readonly tokens: number
  /** Behind a question: which of its calls are left out (C1). */
  readonly state?: string
}

export interface Window {
  /** In the order of the transcript. */
  readonly placed: readonly Placed[]
  /** Messages that the last cut left out; 0 before the first. */
  readonly left: number
  readonly cuts: number
  readonly tokens: number
  /** What cannot be left out is larger than the window. */
  readonly overflows: boolean
}

/** `base`: tokens of everything that is no message of the transcript. */
export function windowOf(transcript: readonly TranscriptMessage[], base: number, limits: ContextLimits): Window {
  const units = unitsOf(transcript)
  const selecting: Selecting = { base, limits, words: new Map() }
  let window: Window = { placed: [], left: 0, cuts: 0, tokens: base, overflows: false }
  let added: Placed[] = []
  const grown = (): Window => ({
    ...window,
    placed: [...window.placed, ...added],
    tokens: added.reduce((all, p) => all + p.tokens, window.tokens),
  })
  let tokens = base
  let bytes = 0
  const isDue = (at: number): boolean =>
    tokens > limits.most ||
    bytes > REQUEST_MEDIA_BYTES ||
    (window.left > 0 && misses([...window.placed, ...added], units.slice(0, at), selecting))
  units.forEach((unit, at) => {
    // what the assistant said came of a call: the context of that call was decided before
    if (unit.messages[0]?.body.role === 'assistant' && isDue(at)) {
      window = cut(grown(), units.slice(0, at), selecting)
      added = []
      tokens = window.tokens
      bytes = window.placed.reduce((all, p) => all + mediaBytes(p.messages), 0)
    }
    if (unit.kind === 'broken') return
    added.push(whole(unit))
    tokens += unit.tokens
    bytes += mediaBytes(unit.messages)
  })
  return isDue(units.length) ? cut(grown(), units, selecting) : grown()
}

/** What may stay of media after a cut, so that some more may come before the next. */
interface MediaRoom {
  bytes: number
}
const MEDIA_LOW = REQUEST_MEDIA_BYTES / 2

interface Selecting {
  readonly base: number
  readonly limits: ContextLimits
  /** What was read of each piece already: a conversation is cut more than once. */
  readonly words: Map<Unit, ReadonlySet<string>>
}

const whole = (unit: Unit): Placed => ({ unit, messages: unit.messages, tokens: unit.tokens })

/** The piece with notes where its media were. */
function noted(unit: Unit, limits: ContextLimits): Placed {
  const messages = unit.messages.map((m) => withNotes(m, limits))
  return { unit, messages, tokens: messages.reduce((all, m) => all + m.tokens, 0) }
}

/** The piece in so many tokens: with its media, or without them; null when it has to be cut. What is kept takes its room. */
function fitted(unit: Unit, most: number, { media, limits }: Fitting): Placed | null {
  const bytes = mediaBytes(unit.messages)
  if (unit.tokens <= most && bytes <= media.bytes) {
    media.bytes -= bytes
    return whole(unit)
  }
  if (bytes === 0) return null
  const without = noted(unit, limits)
  return without.tokens <= most ? without : null
}

interface Fitting {
  readonly media: MediaRoom
  readonly limits: ContextLimits
}

/** A result that shares so much with a new question is fetched back, which costs a prompt cache its beginning. */
const WANTED = 0.5

/** Whether a new question asks for what an earlier cut has left out. */
function misses(placed: readonly Placed[], units: readonly Unit[], selecting: Selecting): boolean {
  const question = units.at(-1)?.messages[0]?.body
  if (question?.role !== 'user') return false
  const there = new Set(placed.map((p) => p.unit))
  const wanted = words(question.text)
  return units.some((u) => u.kind === 'calls' && !there.has(u) && relevance(wanted, wordsOf(u, selecting)) >= WANTED)
}

function wordsOf(unit: Unit, { words: read }: Selecting): ReadonlySet<string> {
  const there = read.get(unit) ?? words(textOf(unit))
  read.set(unit, there)
  return there
}

/** Decided anew from everything that was said so far. */
function cut(window: Window, units: readonly Unit[], selecting: Selecting): Window {
  const { base, limits } = selecting
  const sound = units.filter((u) => u.kind !== 'broken')
  const placed = selected(sound, selecting)
  const left = count(sound) - placed.reduce((all, p) => all + p.messages.length, 0)
  const note = left > 0 ? tokensOf(leftOut(left), limits.count) : 0
  const tokens = placed.reduce((all, p) => all + p.tokens, base + note)
  return { placed, left, cuts: window.cuts + 1, tokens, overflows: tokens > limits.hard }
}

const count = (units: readonly Unit[]): number => units.reduce((all, u) => all + u.messages.length, 0)

/** What the model is told instead. */
export const leftOut = (messages: number): string =>
  `[${messages} earlier messages of this conversation are left out here. They are stored. Ask for what is missing.]`

/** A note has this many tokens, whatever its number. */
const NOTE_TOKENS = 48

function selected(units: readonly Unit[], selecting: Selecting): readonly Placed[] {
  const { base, limits } = selecting
  const asked = units.findLastIndex((u) => u.messages[0]?.body.role === 'user')
  const question = units[asked]
  const earlier = units.slice(0, Math.max(0, asked))
  const steps = units.slice(asked + 1)
  const fixed = base + NOTE_TOKENS + (question?.tokens ?? 0)
  const room = Math.max(0, limits.low - fixed)
  // large rules and a large question take from all shares alike
  const evidence = Math.min(limits.evidence, Math.floor(room / 4))
  const recent = Math.min(limits.recent, Math.floor(room / 4))
  const kept = new Map<Unit, Placed>()
  const keep = (placed: Placed): number => {
    kept.set(placed.unit, placed)
    return placed.tokens
  }
  const asking = question ? mediaBytes(question.messages) : 0
  const fitting: Fitting = { media: { bytes: Math.max(0, MEDIA_LOW - asking) }, limits }
  const stepsRoom = room - evidence - recent
  // what is told of steps that leave has its place before they do
  const telling = sumOf(steps) > stepsRoom ? Math.floor(room / STATE_SHARE) : 0
  const shown = keepSteps(steps, { room: stepsRoom - telling, most: limits.hard - fixed - telling }, fitting, keep)
  const dropped = steps.filter((unit) => !kept.has(unit))
  const state = stateOf(dropped, Math.min(telling, room - shown), limits.count)
  const used = shown + (state === null ? 0 : tokensOf(state, limits.count))
  const free = Math.max(0, room - used)
  const found = keepEvidence({ earlier, question }, Math.max(0, free - recent), { ...selecting, ...fitting }, keep)
  keepTurns(earlier, Math.max(0, free - found), fitting, keep)
  if (question) keep(withState(whole(question), state, limits))
  return units.flatMap((u) => kept.get(u) ?? [])
}

/** Of the room of a cut context. */
const STATE_SHARE = 10
const sumOf = (units: readonly Unit[]): number => units.reduce((all, u) => all + u.tokens, 0)

const withState = (question: Placed, state: string | null, { count }: ContextLimits): Placed =>
  state === null ? question : { ...question, state, tokens: question.tokens + tokensOf(state, count) }

type Keep = (placed: Placed) => number

/** Steps of the question at hand, the last first: it stays in any case, and the others as long as their share lasts. */
function keepSteps(
  steps: readonly Unit[],
  { room, most }: { readonly room: number; readonly most: number },
  fitting: Fitting,
  keep: Keep,
): number {
  let used = 0
  for (const unit of steps.toReversed()) {
    const isLast = used === 0
    const left = room - used
    const placed =
      fitted(unit, left, fitting) ??
      shortened(noted(unit, fitting.limits), left, fitting.limits) ??
      (isLast ? shortest(unit, most, fitting.limits) : null)
    if (!placed) break
    used += keep(placed)
  }
  return used
}

/** Calls of earlier questions, those first that have most to do with this one; of equals the later. */
function keepEvidence(
  { earlier, question }: { readonly earlier: readonly Unit[]; readonly question: Unit | undefined },
  room: number,
  selecting: Selecting & Fitting,
  keep: Keep,
): number {
  const wanted = words(question?.messages[0]?.body.text ?? '')
  const scored = earlier
    .map((unit, at) => ({ unit, at }))
    .filter(({ unit }) => unit.kind === 'calls')
    .map(({ unit, at }) => ({ unit, at, score: relevance(wanted, wordsOf(unit, selecting)) }))
    .sort((a, b) => b.score - a.score || b.at - a.at)
  let used = 0
  for (const { unit } of scored) {
    const left = room - used
    const { limits } = selecting
    const placed = fitted(unit, left, selecting) ?? shortened(noted(unit, limits), left, limits)
    if (placed) used += keep(placed)
  }
  return used
}

/** What was said in earlier turns, whole turns, the last first. Media have half of the room, so that words outlast them. */
function keepTurns(earlier: readonly Unit[], room: number, { media, limits }: Fitting, keep: Keep): void {
  let left = room
  let shown = Math.floor(room / 2)
  let at = earlier.length
  while (at > 0) {
    const { turn } = earlier[at - 1] as Unit
    const end = at
    while (at > 0 && earlier[at - 1]?.turn === turn) at -= 1
    const said = earlier.slice(at, end).filter((u) => u.kind === 'text')
    const bare = said.map((unit) => noted(unit, limits))
    left -= bare.reduce((all, p) => all + p.tokens, 0)
    if (left < 0) return
    said.forEach((unit, i) => {
      const bytes = mediaBytes(unit.messages)
      const without = bare[i] as Placed
      const more = unit.tokens - without.tokens
      const isWhole = more <= Math.min(left, shown) && bytes <= media.bytes
      if (isWhole) {
        left -= more
        shown -= more
        media.bytes -= bytes
      }
      keep(isWhole ? whole(unit) : without)
    })
  }
}

const textOf = ({ messages }: Unit): string =>
  messages
    .map(({ body }) => body.text + (body.role === 'assistant' ? body.calls.map((c) => c.arguments).join(' ') : ''))
    .join(' ')

/** The piece with shorter results, in at most so many tokens; null when not even stubs of its results fit. */
function shortened({ unit, ...there }: Placed, room: number, limits: ContextLimits): Placed | null {
  const results = there.messages.filter((m) => m.body.role === 'tool')
  const asking = there.tokens - results.reduce((all, m) => all + m.tokens, 0)
  let left = room - asking
  if (left < results.reduce((all, m) => all + Math.min(m.tokens, STUB_TOKENS), 0)) return null
  // the small ones first, so that the large ones share what is left
  const shares = new Map<TranscriptMessage, number>()
  results
    .toSorted((a, b) => a.tokens - b.tokens)
    .forEach((m, at) => {
      const share = Math.min(m.tokens, Math.floor(left / (results.length - at)))
      shares.set(m, share)
      left -= share
    })
  const messages = there.messages.map((m) => withShare(m, shares.get(m), limits))
  const tokens = messages.reduce((all, m) => all + m.tokens, 0)
  return tokens <= room ? { unit, messages, tokens } : null
}

function withShare(m: TranscriptMessage, share: number | undefined, { count }: ContextLimits): TranscriptMessage {
  if (m.body.role !== 'tool' || share === undefined || m.tokens <= share) return m
  const { text, tokens } = cutResult(m.body.text, share, nameOf(m), count)
  return { ...m, body: { ...m.body, text }, tokens }
}

/** The last step, in as much as the window holds at all. */
const shortest = (unit: Unit, most: number, limits: ContextLimits): Placed =>
  fitted(unit, most, { media: { bytes: MEDIA_LOW }, limits }) ??
  shortened(noted(unit, limits), most, limits) ??
  whole(unit)
