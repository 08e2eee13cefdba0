/** The request of the chat completions dialect. Ids of calls go out as they were recorded: they may repeat between turns. */
import type { Json, JsonObject } from '../kernel/json.ts'
import type { ModelMessage, ModelRequest } from './port.ts'

export interface RequestShape {
  readonly model: string
  readonly maxTokensName: 'max_tokens' | 'max_completion_tokens'
  /** Further fields such as `temperature`; the fields below win over them. */
  readonly extra: JsonObject
}

export function requestBody(request: ModelRequest, shape: RequestShape): JsonObject {
  const tools = request.tools.map(({ name, description, inputSchema }) => ({
    type: 'function',
    function: { name, description, parameters: inputSchema },
  }))
  return {
    ...shape.extra,
    model: shape.model,
    messages: request.messages.map(message),
    ...(tools.length > 0 ? { tools } : {}),
    [shape.maxTokensName]: request.maxOutputTokens,
    stream: true,
    stream_options: { include_usage: true },
  }
}

function message(from: ModelMessage): Json {
  switch (from.role) {
    case 'system':
    case 'user':
      return { role: from.role, content: from.text }
    case 'assistant': {
      if (from.calls.length === 0) return { role: 'assistant', content: from.text }
      const calls = from.calls.map((call) => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: call.arguments },
      }))
      return { role: 'assistant', content: from.text === '' ? null : from.text, tool_calls: calls }
    }
    case 'tool':
      return { role: 'tool', tool_call_id: from.callId, name: from.name, content: from.text }
    default:
      return from satisfies never
  }
}
