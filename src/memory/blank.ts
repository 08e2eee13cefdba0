/**
 * What stands in a transcript for words that were forgotten: the shape stays, so that calls keep their results (C2), and
 * nothing of the content does. The reasoning of a model may repeat what it read, so it goes with it.
 */
import type { Json, JsonObject } from '../kernel/json.ts'

export const DELETED = 'This message was deleted.'
const NOTHING = JSON.stringify({ deleted: true })

const objectOf = (body: Json): JsonObject =>
  typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as JsonObject) : {}
const callsOf = (body: JsonObject): readonly Json[] =>
  Array.isArray(body['calls']) ? (body['calls'] as readonly Json[]) : []

/** What it has shown besides its text goes with it. */
function blankResult({ parts: _, ...message }: JsonObject): Json {
  return { ...message, text: NOTHING }
}

/** A message of which nothing is left but its place. */
export function blankMessage(body: Json): Json {
  const message = objectOf(body)
  if (message['role'] === 'user') return { role: 'user', text: DELETED }
  if (message['role'] === 'tool') return blankResult(message)
  const calls = callsOf(message)
  const text = calls.length > 0 ? '' : DELETED
  return { ...message, text, calls: calls.map((call) => ({ ...objectOf(call), arguments: '{}' })), reasoning: null }
}

/** The message of a model or of a tool, without what one call was asked and has returned. */
export function blankCall(body: Json, position: number): Json {
  const message = objectOf(body)
  if (message['role'] === 'tool') return blankResult(message)
  const calls = callsOf(message).map((call, at) => (at === position ? { ...objectOf(call), arguments: '{}' } : call))
  return { ...message, calls, reasoning: null }
}
