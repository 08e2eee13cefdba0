/** What a scripted model may be told to say, and how that becomes the parts of a stream. */
import type { FaultCode } from '../kernel/fault.ts'
import type { ModelMessage, ModelPart, ModelRequest, Usage } from '../model/port.ts'
import { estimateTokens } from '../context/tokens.ts'
import type { Json } from '../kernel/json.ts'

export interface ScriptedCall {
  readonly name: string
  /** Text goes out as it is, so that broken arguments can be scripted; other values as JSON. */
  readonly arguments: Json
  /** Default: a fixed id of this turn and position. */
  readonly id?: string
}

export type ScriptedAnswer =
  | { readonly text: string; readonly calls?: readonly ScriptedCall[]; readonly usage?: Usage }
  | { readonly calls: readonly ScriptedCall[]; readonly text?: string; readonly usage?: Usage }
  /** Exactly these parts: for damage, odd orders and missing ends. */
  | { readonly parts: readonly ModelPart[] }
  | { readonly fault: FaultCode; readonly retryAfterMs?: number; readonly after?: readonly ModelPart[] }

/**
 * A list is used up request by request, a repeated one included; past its end the model refuses. A function sees the
 * request and `turn`, the number of assistant messages in it, so that it answers alike after a restart of the process.
 */
export type Script = readonly ScriptedAnswer[] | ((request: ModelRequest, turn: number) => ScriptedAnswer)

/** The assistant messages before this request. */
export const turnOf = (request: ModelRequest): number =>
  request.messages.filter((message) => message.role === 'assistant').length

/** The parts of one answer, in small deltas. */
export function partsOf(
  answer: Exclude<ScriptedAnswer, { fault: FaultCode }>,
  request: ModelRequest,
): readonly ModelPart[] {
  if ('parts' in answer) return answer.parts
  const calls = (answer.calls ?? []).map((call, position) => ({
    id: call.id ?? `call_${turnOf(request)}_${position}`,
    name: call.name,
    arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
  }))
  const text = answer.text ?? ''
  const said = [text, ...calls.map((call) => call.name + call.arguments)].join(' ')
  const usage = answer.usage ?? {
    input: estimateTokens(request.messages.map(readable).join('\n')),
    output: estimateTokens(said),
  }
  return [
    { kind: 'response', model: 'scripted' },
    ...pieces(text).map((delta) => ({ kind: 'text', delta }) as const),
    ...calls.flatMap((call, position): ModelPart[] => [
      { kind: 'call_open', key: `${position}`, id: call.id, name: call.name },
      ...pieces(call.arguments).map((delta) => ({ kind: 'call_delta', key: `${position}`, delta }) as const),
    ]),
    { kind: 'finish', reason: calls.length > 0 ? 'tool_calls' : 'stop' },
    { kind: 'usage', usage },
  ]
}

const readable = (message: ModelMessage): string =>
  message.role === 'assistant'
    ? `${message.text} ${message.calls.map((call) => call.name + call.arguments).join(' ')}`
    : message.text

/** About as much as a model says at once; no character is cut in two. */
function pieces(text: string): readonly string[] {
  return text.match(/[\s\S]{1,12}(?![\udc00-\udfff])|[\s\S]{1,13}/g) ?? []
}
