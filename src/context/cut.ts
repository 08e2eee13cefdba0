/**
 * A result that is too large for its share of the window: its content is cut, and it says so.
 *
 * C3  nothing is cut inside a JSON value or a visible character; what was JSON stays JSON
 */
import { cutText } from '../kernel/grapheme.ts'
import { type Json, type JsonObject, utf8Length } from '../kernel/json.ts'
import { type TokenCounter, tokensOf } from './tokens.ts'

export interface Cut {
  readonly text: string
  /** Of the message that holds it. */
  readonly tokens: number
}

/** Below this a cut result says nothing but that it was cut. */
export const STUB_TOKENS = 80

/** ASCII signs are the densest text that is common: half a token for a byte. */
const BYTES_PER_TOKEN = 2
/** How often a cut that has too many tokens is made smaller, each time by a third. */
const TRIES = 8

/**
 * The text itself when its message has at most `maxTokens`, else as much of it as fits under a note that names the whole.
 * Not even the note may fit: the message then has more tokens than `maxTokens`.
 */
export function cutResult(text: string, maxTokens: number, ref: string, count?: TokenCounter): Cut {
  const whole = { text, tokens: tokensOf(text, count) }
  if (whole.tokens <= maxTokens) return whole
  const value = parsed(text)
  const total = utf8Length(text)
  let cut = whole
  for (let tried = 0, bytes = maxTokens * BYTES_PER_TOKEN; tried < TRIES; tried += 1, bytes = (bytes * 2) / 3) {
    const shorter = of({ text, value, total, ref }, Math.floor(bytes))
    cut = { text: shorter, tokens: tokensOf(shorter, count) }
    if (cut.tokens <= maxTokens) break
  }
  return cut
}

interface Source {
  readonly text: string
  /** Undefined: the text is no object and no array. */
  readonly value: JsonObject | readonly Json[] | undefined
  readonly total: number
  readonly ref: string
}

function of({ text, value, total, ref }: Source, bytes: number): string {
  const note = (shown: number): string => `cut, ${shown} of ${total} bytes, full at ${ref}`
  const room = Math.max(0, bytes - utf8Length(note(total)) - 24)
  if (value === undefined) {
    const start = cutText(text, room)
    return `${start}\n[${note(utf8Length(start))}]`
  }
  const isArray = Array.isArray(value)
  const shown = isArray ? fitting(value as readonly Json[], room) : members(value as JsonObject, room)
  const kept = JSON.stringify(shown)
  return `{"cut":${JSON.stringify(note(kept.length > 2 ? utf8Length(kept) : 0))},"${isArray ? 'first' : 'rest'}":${kept}}`
}

function parsed(text: string): JsonObject | readonly Json[] | undefined {
  try {
    const value = JSON.parse(text) as Json
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** Whole elements from the start. */
function fitting(elements: readonly Json[], room: number): readonly Json[] {
  const kept: Json[] = []
  let left = room
  for (const element of elements) {
    left -= utf8Length(JSON.stringify(element)) + 1
    if (left < 0) break
    kept.push(element)
  }
  return kept
}

/** Whole members, in order, those that fit. */
function members(object: JsonObject, room: number): JsonObject {
  let left = room
  return Object.fromEntries(
    Object.entries(object).filter(([key, member]) => {
      const size = utf8Length(JSON.stringify(key)) + utf8Length(JSON.stringify(member)) + 2
      if (size > left) return false
      left -= size
      return true
    }),
  )
}
