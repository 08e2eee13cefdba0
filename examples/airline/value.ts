/**
 * Values of JSON: one text per value, whatever the order of its keys. Written apart from the runtime's own canonical
 * form, because a judge that shares code with what it judges shares its faults.
 */
import { createHash } from 'node:crypto'

/** Keys sorted by code unit, no blanks. Two values are the same exactly when their texts are. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`).join(',')}}`
}

export function sameValue(a: unknown, b: unknown): boolean {
  return a === b || canonical(a) === canonical(b)
}

/** SHA-256 of the canonical text, in hex. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex')
}

/**
 * The value that a tool message stands for: JSON where the text is JSON, else the text itself. A text that was printed
 * as a JSON string and the same text printed plainly are one value.
 */
export function valueOfText(text: string): unknown {
  const value = parsed(text)
  return typeof value === 'string' && value !== text ? parsed(value) : value
}

/** Whether a result, as a value or as its text, is what the recorded text says. */
export function sameResult(recorded: string, result: unknown): boolean {
  return sameValue(valueOfText(recorded), typeof result === 'string' ? valueOfText(result) : result)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
