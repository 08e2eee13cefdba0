/** The server's side of the chat completions dialect: requests in, chunks out. */
import type { ModelMessage, ModelPart, ModelRequest } from '../model/port.ts'
import type { Json, JsonObject } from '../kernel/json.ts'
import type { RecordedMessage } from './recorded.ts'

/** `content` is a list where something besides text is sent. */
export type WireMessage = Omit<RecordedMessage, 'content'> & {
  readonly content?: RecordedMessage['content'] | readonly JsonObject[]
}

export interface WireRequest {
  readonly model: string
  readonly messages: readonly WireMessage[]
  readonly tools?: readonly {
    readonly function: { readonly name: string; readonly description?: string; readonly parameters?: JsonObject }
  }[]
  readonly max_tokens?: number
  readonly max_completion_tokens?: number
  readonly stream_options?: { readonly include_usage?: boolean }
}

export const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'fake-1',
  choices: [{ index: 0, delta, finish_reason: finish }],
})

/** Usage as it comes last, in a chunk without a choice. */
export const usageChunk = (input: Json, output: Json): JsonObject => ({
  ...chunk({}),
  choices: [],
  usage: { prompt_tokens: input, completion_tokens: output },
})

/** A fragment of one call; what is absent stays absent on the wire. */
export const fragment = (fields: {
  index?: number | null
  id?: string
  name?: string
  arguments?: string
}): JsonObject => {
  const { name, arguments: text, ...rest } = fields
  const body = { ...(name === undefined ? {} : { name }), ...(text === undefined ? {} : { arguments: text }) }
  return chunk({ tool_calls: [{ ...rest, type: 'function', function: body }] })
}

/** Our own parts as chunks; `keys` remembers which index a call has. */
export function chunkOf(part: ModelPart, keys: string[]): JsonObject | null {
  switch (part.kind) {
    case 'text':
      return chunk({ content: part.delta })
    case 'reasoning':
      return chunk({ reasoning_content: part.delta })
    case 'call_open':
      return fragment({ index: keys.push(part.key) - 1, id: part.id, name: part.name, arguments: '' })
    case 'call_delta':
      return fragment({ index: keys.indexOf(part.key), arguments: part.delta })
    case 'call':
      return fragment({
        index: keys.push(part.key) - 1,
        id: part.call.id,
        name: part.call.name,
        arguments: part.call.arguments,
      })
    case 'usage':
      return usageChunk(part.usage.input ?? null, part.usage.output ?? null)
    case 'finish':
      return chunk({}, part.reason)
    default:
      return null
  }
}

export function modelRequest(wire: WireRequest): ModelRequest {
  const tools = (wire.tools ?? []).map(({ function: tool }) => ({
    name: tool.name,
    description: tool.description ?? '',
    inputSchema: tool.parameters ?? {},
  }))
  return {
    messages: wire.messages.map(modelMessage),
    tools,
    maxOutputTokens: wire.max_tokens ?? wire.max_completion_tokens ?? 4_096,
  }
}

/** What is no text is for whoever looks at the request itself. */
const textOf = (content: WireMessage['content']): string =>
  typeof content === 'object' && content !== null
    ? content.flatMap((part) => (typeof part['text'] === 'string' ? [part['text']] : [])).join('\n')
    : (content ?? '')

function modelMessage(wire: WireMessage): ModelMessage {
  const text = textOf(wire.content)
  switch (wire.role) {
    case 'assistant': {
      const calls = (wire.tool_calls ?? []).map((call) => ({
        id: call.id,
        name: call.function.name,
        arguments: call.function.arguments,
      }))
      return { role: 'assistant', text, calls }
    }
    case 'tool':
      return { role: 'tool', callId: wire.tool_call_id ?? '', name: wire.name ?? '', text }
    case 'system':
      return { role: 'system', text }
    default:
      return { role: 'user', text }
  }
}
