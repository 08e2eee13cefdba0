/**
 * Pictures, documents and sounds in a transcript: references with what they cost, never bytes (T2). Each goes whole or stands as
 * a note in the message that has it.
 */
import { MEDIA_EXTENSIONS, MEDIA_LIMITS, type MediaFacts, type MediaKind } from '../kernel/media.ts'
import type { ContextLimits } from './limits.ts'
import { type MediaPart, nameOf, type TranscriptMessage } from './message.ts'
import { tokensOf } from './tokens.ts'

/** A port's own count; the estimate stands where it gives no whole number. */
export type MediaCounter = (media: MediaFacts) => number

/**
 * Tokens of a part, rather too many than too few. A picture: 170 for each square of 512 pixels and 85 for the whole, or a token for
 * 750 pixels, whichever is more; providers make it no larger than 2048 pixels a side. A page of a document: its text and its
 * picture. A second of sound: 32.
 */
export function mediaTokens(media: MediaFacts, count?: MediaCounter): number {
  const own = count?.(media)
  return Math.min(MOST_TOKENS, own !== undefined && Number.isSafeInteger(own) && own >= 0 ? own : estimate(media))
}

/** More than any window; the sum of the parts of a message still is a count that the store can hold. */
const MOST_TOKENS = 100_000_000

const SQUARE = 512
const MOST_SIDE = 2_048
const MOST_PIXELS = 1_200_000
const PAGE_TOKENS = 2_500
/** Of a document that does not show its pages. */
const PAGE_BYTES = 20_000
const SECOND_TOKENS = 32
/** Of a sound that does not say its rate: the lowest that speech is kept in. */
const SECOND_BYTES = 4_000

function estimate(media: MediaFacts): number {
  if (media.kind === 'pdf') return PAGE_TOKENS * (media.pages ?? Math.ceil(media.bytes / PAGE_BYTES))
  if (media.kind === 'audio') return Math.ceil(SECOND_TOKENS * (media.seconds ?? media.bytes / SECOND_BYTES))
  const { width, height } = media.pixels ?? { width: MOST_SIDE, height: MOST_SIDE }
  const scale = Math.min(1, MOST_SIDE / Math.max(width, height))
  const squares = Math.ceil((width * scale) / SQUARE) * Math.ceil((height * scale) / SQUARE)
  return Math.max(85 + 170 * squares, Math.ceil(Math.min(width * height, MOST_PIXELS) / 750))
}

export const partsIn = ({ body }: Pick<TranscriptMessage, 'body'>): readonly MediaPart[] =>
  body.role === 'assistant' ? [] : (body.parts ?? [])

/** Of one request, base64 not counted: more is in no provider's limits. */
export const REQUEST_MEDIA_BYTES = 2 * MEDIA_LIMITS.messageBytes

export const mediaBytes = (messages: readonly TranscriptMessage[]): number =>
  messages.reduce((all, m) => all + partsIn(m).reduce((sum, part) => sum + part.bytes, 0), 0)

/** What the parts of these messages cost. */
export const partTokens = (messages: readonly TranscriptMessage[]): number =>
  messages.reduce((all, m) => all + partsIn(m).reduce((sum, part) => sum + part.tokens, 0), 0)

/** The name of a part: `run_….1/2` is the second of its message. */
export const partName = (
  message: Pick<TranscriptMessage, 'run' | 'seq'>,
  { place }: Pick<MediaPart, 'place'>,
): string => `${nameOf(message)}/${place}`

/** What the provider is told that it is called: `pdf-1.pdf`. */
export const fileName = ({ kind, mediaType, place }: MediaPart): string =>
  `${kind}-${place}.${MEDIA_EXTENSIONS[mediaType]}`

/** What stands for a part that is not sent. */
export const leftOutPart = (kind: MediaKind, name: string): string => `[${kind} left out: ${name}]`

/** The message with notes for those parts that `stays` refuses; the message itself when all stay. */
export function withNotes(
  message: TranscriptMessage,
  { count }: Pick<ContextLimits, 'count'>,
  stays: (part: MediaPart) => boolean = () => false,
): TranscriptMessage {
  const parts = partsIn(message)
  const { body } = message
  if (body.role === 'assistant' || parts.every((part) => stays(part))) return message
  const notes = parts.flatMap((part) => (stays(part) ? [] : [leftOutPart(part.kind, partName(message, part))]))
  const kept = parts.filter((part) => stays(part))
  const text = [body.text, ...notes].join('\n')
  const tokens = kept.reduce((sum, part) => sum + part.tokens, tokensOf(text, count))
  const { parts: _, ...rest } = body
  return { ...message, body: { ...rest, text, ...(kept.length > 0 && { parts: kept }) }, tokens }
}

/** Kinds that the agent does not take any more, or never did, are notes. */
export const acceptable = (message: TranscriptMessage, limits: ContextLimits): TranscriptMessage =>
  withNotes(message, limits, ({ kind }) => limits.accepts?.includes(kind) ?? false)
