/**
 * The chunks of the chat completions dialect, read strictly: what belongs to no call with certainty is damage (B3).
 *
 * Providers disagree about `index` and `id` of call fragments: some send index 0 for each call, some send none, some
 * repeat the id in each fragment (BR-034). The id decides first, then the index, then the only call still incomplete.
 */
import { Fault } from '../kernel/fault.ts'
import { completeness } from './completeness.ts'
import { failureOfEvent } from './failure.ts'
import type { FinishReason, ModelPart, Usage } from './port.ts'
import { reportedTokens } from './usage.ts'

type Fields = { readonly [name: string]: unknown }
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

interface KnownCall {
  readonly key: string
  readonly id: string
  readonly name: string
  /** `null`: the provider gave none. */
  readonly index: number | null
  arguments: string
  /** How much of the arguments has been found to be one complete value; 0 for none of them. */
  completeLength: number
}

/** Reads the chunks of one stream in order. Throws a `Fault` when a chunk is an error of the provider. */
export interface ChunkReader {
  read(data: string): readonly ModelPart[]
}

export function chunkReader(): ChunkReader {
  const calls: KnownCall[] = []
  let response = ''
  let refused = false
  const read = (data: string): readonly ModelPart[] => {
    const chunk = parse(data)
    if (chunk === null) return [damaged('a chunk is not a JSON object')]
    if (chunk['error'] !== undefined && chunk['error'] !== null) throw new Fault(failureOfEvent(chunk['error']).code)
    const parts: ModelPart[] = []
    const who = JSON.stringify([chunk['model'], chunk['id']])
    if (who !== response) {
      response = who
      parts.push(responsePart(chunk))
    }
    if (chunk['choices'] === undefined && !isFields(chunk['usage'])) return [damaged('a chunk without choices')]
    for (const choice of asArray(chunk['choices'])) {
      if (!isFields(choice) || (choice['index'] ?? 0) !== 0)
        return [...parts, damaged('a choice that was not asked for')]
      const delta = isFields(choice['delta']) ? choice['delta'] : {}
      refused ||= isText(delta['refusal'])
      for (const part of textParts(delta)) parts.push(part)
      for (const fragment of asArray(delta['tool_calls']))
        for (const part of attribute(calls, fragment)) parts.push(part)
      const reason = choice['finish_reason']
      if (typeof reason === 'string')
        parts.push({ kind: 'finish', reason: refused ? 'content_filter' : finishReason(reason) })
    }
    if (isFields(chunk['usage'])) parts.push({ kind: 'usage', usage: usageOf(chunk['usage']) })
    return parts
  }
  return { read }
}

function parse(data: string): Fields | null {
  try {
    const value: unknown = JSON.parse(data)
    return isFields(value) ? value : null
  } catch {
    return null
  }
}

const asArray = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const damaged = (detail: string): ModelPart => ({ kind: 'damaged', detail })

const responsePart = (chunk: Fields): ModelPart => ({
  kind: 'response',
  ...(isText(chunk['model']) ? { model: chunk['model'] } : {}),
  ...(isText(chunk['id']) ? { id: chunk['id'] } : {}),
})

function textParts(delta: Fields): readonly ModelPart[] {
  const reasoning = delta['reasoning_content'] ?? delta['reasoning']
  return [
    ...(isText(reasoning) ? [{ kind: 'reasoning', delta: reasoning } as const] : []),
    ...(isText(delta['content']) ? [{ kind: 'text', delta: delta['content'] } as const] : []),
    ...(isText(delta['refusal']) ? [{ kind: 'text', delta: delta['refusal'] } as const] : []),
  ]
}

/** Finds or opens the call of one fragment, and notes its arguments, because only a complete call is out of question. */
function attribute(calls: KnownCall[], fragment: unknown): readonly ModelPart[] {
  const body = isFields(fragment) && isFields(fragment['function']) ? fragment['function'] : {}
  const name = body['name'] ?? ''
  const text = body['arguments'] ?? ''
  if (!isFields(fragment) || typeof name !== 'string' || typeof text !== 'string')
    return [damaged('a call fragment of another shape')]
  const id = isText(fragment['id']) ? fragment['id'] : null
  const index = Number.isInteger(fragment['index']) ? (fragment['index'] as number) : null
  const found = owner(calls, id, index, name)
  if (found === 'uncertain') return [damaged('a call fragment that could belong to several calls')]
  if (found === 'none' && name === '') return [damaged('a call fragment that belongs to no call')]
  const call =
    found === 'none' ? { key: `${calls.length}`, id: id ?? '', name, index, arguments: '', completeLength: 0 } : found
  if (name !== '' && name !== call.name) return [damaged('a call with two names')]
  const delta: readonly ModelPart[] = text === '' ? [] : [{ kind: 'call_delta', key: call.key, delta: text }]
  call.arguments += text
  if (found !== 'none') return delta
  calls.push(call)
  return [{ kind: 'call_open', key: call.key, id: call.id, name: call.name }, ...delta]
}

function owner(
  calls: readonly KnownCall[],
  id: string | null,
  index: number | null,
  name: string,
): KnownCall | 'none' | 'uncertain' {
  if (id !== null) return calls.find((call) => call.id === id && (index === null || index === call.index)) ?? 'none'
  const candidates = index === null ? calls : calls.filter((call) => call.index === index)
  if (candidates.length === 0) return 'none'
  // A named fragment without an id opens another call, unless its index is known and it repeats the only name there.
  if (name !== '' && (index === null || candidates.length > 1)) return 'none'
  const last = candidates.at(-1) ?? 'none'
  return candidates.slice(0, -1).every(isComplete) ? last : 'uncertain'
}

/** Remembered, because a long stream of nameless fragments asks this each time of calls that no longer grow. */
function isComplete(call: KnownCall): boolean {
  const length = call.arguments.length
  if (call.completeLength !== length && completeness(call.arguments) === 'complete') call.completeLength = length
  return call.completeLength === length && length > 0
}

function finishReason(reason: string): FinishReason {
  switch (reason) {
    case 'stop':
    case 'tool_calls':
    case 'length':
    case 'content_filter':
    case 'error':
      return reason
    default:
      return 'other'
  }
}

function usageOf(usage: Fields): Usage {
  const prompt = isFields(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {}
  const completion = isFields(usage['completion_tokens_details']) ? usage['completion_tokens_details'] : {}
  return {
    ...reportedTokens('input', usage['prompt_tokens']),
    ...reportedTokens('output', usage['completion_tokens']),
    ...reportedTokens('cached', prompt['cached_tokens']),
    ...reportedTokens('reasoning', completion['reasoning_tokens']),
  }
}
