/**
 * The stream parts of an AI SDK model, read strictly.
 *
 * B3  an `error` part fails the attempt whatever the finish after it says; a part that we do not know is damage
 * T6  tools that the provider runs itself are refused
 */
import { Fault } from '../kernel/fault.ts'
import type { Json, JsonObject } from '../kernel/json.ts'
import type { ProviderNote } from './aisdk-prompt.ts'
import { failureOfEvent, failureOfThrown } from './failure.ts'
import type { FinishReason, ModelPart } from './port.ts'
import { reportedTokens } from './usage.ts'

type Fields = { readonly [name: string]: unknown }
const fields = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})
const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const damaged = (detail: string): ModelPart => ({ kind: 'damaged', detail })

/** Reads the parts of one stream in order. Throws a `Fault` when a part is an error of the provider. */
export interface PartReader {
  read(part: Fields): readonly ModelPart[]
}

/** What may be skipped: it announces, repeats or decorates what other parts carry. */
const SILENT = new Set(['stream-start', 'raw', 'source', 'ping', 'tool-input-end'])

export function partReader(nowMs: number): PartReader {
  const block = blockReader()
  const call = callReader()
  const read = (part: Fields): readonly ModelPart[] => {
    const type = text(part['type'])
    if (SILENT.has(type)) return []
    if (/^(?:text|reasoning)-(?:start|delta|end)$/.test(type)) return block(part)
    if (/^tool-(?:input-start|input-delta|call)$/.test(type)) return call(part)
    switch (type) {
      case 'response-metadata':
        return [{ kind: 'response', ...optional('model', part['modelId']), ...optional('id', part['id']) }]
      case 'finish':
        return finish(part)
      case 'error':
        return failed(part['error'], nowMs)
      default:
        return [damaged('a part of a kind that is not known')]
    }
  }
  return { read }
}

/** Text and reasoning: deltas at once, and at the end of a block what the provider remarked on it. */
function blockReader(): (part: Fields) => readonly ModelPart[] {
  const blocks = new Map<string, { text: string; metadata: JsonObject | null }>()
  return (part) => {
    const [on = '', phase = ''] = text(part['type']).split('-')
    const key = `${on} ${text(part['id'])}`
    const known = blocks.get(key) ?? { text: '', metadata: null }
    const delta = text(part['delta'])
    const metadata = mergeMetadata(known.metadata, part['providerMetadata'])
    blocks.set(key, { text: on === 'reasoning' ? known.text + delta : '', metadata })
    if (phase === 'delta') return [{ kind: on === 'reasoning' ? 'reasoning' : 'text', delta }]
    if (phase !== 'end') return []
    blocks.delete(key)
    if (metadata === null) return []
    return [note(on === 'reasoning' ? { on, text: known.text, metadata } : { on: 'text', metadata })]
  }
}

/** Calls arrive streamed and then whole, or only whole; an id that comes again is another call, and the assembly refuses both. */
function callReader(): (part: Fields) => readonly ModelPart[] {
  const openCalls = new Map<string, string>()
  let count = 0
  const open = (id: string): string => {
    const key = `${count++}`
    openCalls.set(id, key)
    return key
  }
  const whole = (part: Fields): readonly ModelPart[] => {
    const id = text(part['toolCallId'])
    const key = openCalls.get(id) ?? open(id)
    openCalls.delete(id)
    if (typeof part['input'] !== 'string') return [damaged('arguments that are no text')]
    const metadata = mergeMetadata(null, part['providerMetadata'])
    const call: ModelPart = { kind: 'call', key, call: { id, name: text(part['toolName']), arguments: part['input'] } }
    return metadata === null ? [call] : [call, note({ on: 'call', callId: id, metadata })]
  }
  return (part) => {
    if (part['providerExecuted'] === true) return [damaged('a tool that the provider runs itself')]
    if (part['type'] === 'tool-call') return whole(part)
    const id = text(part['id'])
    if (part['type'] === 'tool-input-start')
      return [{ kind: 'call_open', key: open(id), id, name: text(part['toolName']) }]
    const key = openCalls.get(id)
    if (key === undefined) return [damaged('arguments of a call that is not open')]
    return [{ kind: 'call_delta', key, delta: text(part['delta']) }]
  }
}

const note = (value: ProviderNote): ModelPart => ({ kind: 'reasoning_state', value })
const optional = <K extends string>(name: K, value: unknown): { [P in K]?: string } =>
  typeof value === 'string' ? ({ [name]: value } as { [P in K]?: string }) : {}

/** Per provider, later fields win: a signature often arrives with the last, empty delta. */
function mergeMetadata(known: JsonObject | null, added: unknown): JsonObject | null {
  if (typeof added !== 'object' || added === null) return known
  const plain = JSON.parse(JSON.stringify(added)) as { [provider: string]: Json }
  const merged: { [provider: string]: Json } = { ...known }
  for (const [provider, value] of Object.entries(plain)) {
    merged[provider] = { ...fields(merged[provider]), ...fields(value) } as JsonObject
  }
  return merged
}

function failed(error: unknown, nowMs: number): readonly ModelPart[] {
  const failure = error instanceof Error ? failureOfThrown(error, nowMs) : failureOfEvent(error)
  if (failure.code === 'model_protocol') return [damaged('a chunk that the provider library could not read')]
  throw new Fault(failure.code)
}

function finish(part: Fields): readonly ModelPart[] {
  const usage = fields(part['usage'])
  const input = fields(usage['inputTokens'])
  const output = fields(usage['outputTokens'])
  const reason = fields(part['finishReason'])['unified'] ?? part['finishReason']
  return [
    { kind: 'finish', reason: FINISH_REASONS[text(reason)] ?? 'other' },
    {
      kind: 'usage',
      usage: {
        ...reportedTokens('input', input['total']),
        ...reportedTokens('output', output['total']),
        ...reportedTokens('cached', input['cacheRead']),
        ...reportedTokens('reasoning', output['reasoning']),
      },
    },
  ]
}

const FINISH_REASONS: { readonly [reason: string]: FinishReason } = {
  stop: 'stop',
  'tool-calls': 'tool_calls',
  length: 'length',
  'content-filter': 'content_filter',
  error: 'error',
}
