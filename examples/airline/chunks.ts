/** A recorded message as the chat completions protocol sends it, whole or as server-sent events. */
import type { RecordedMessage } from './conversations.ts'

export type Answer = RecordedMessage & { readonly role: 'assistant' }
export type Usage = {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
}

/** Characters of text or arguments in one event: small enough that every call arrives in pieces. */
const DELTA_CHARACTERS = 40
/** Bytes of one write: a prime, so that the cuts fall anywhere, inside events and inside characters too. */
const WRITE_BYTES = 251
/** The recordings' own clock, in seconds: an answer is the same bytes every time. */
const CREATED = Date.UTC(2024, 4, 15, 15) / 1000

type Head = { readonly id: string; readonly model: string }

/** The recording holds no token counts: a token is taken to be four characters. */
export function usageOf(promptCharacters: number, answer: Answer): Usage {
  const calls = (answer.tool_calls ?? []).map((call) => call.function.name + call.function.arguments)
  const [prompt_tokens, completion_tokens] = [
    promptCharacters,
    (answer.content ?? '').length + calls.join('').length,
  ].map((characters) => Math.ceil(characters / 4)) as [number, number]
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
}

export function completionOf(head: Head, answer: Answer, usage: Usage): object {
  const message = {
    role: 'assistant',
    content: answer.content,
    ...(answer.tool_calls && { tool_calls: callsOf(answer) }),
  }
  const choices = [{ index: 0, message, finish_reason: finishOf(answer) }]
  return { ...head, object: 'chat.completion', created: CREATED, choices, usage }
}

/** `usage` is sent in a last event of its own, as the protocol has it; null sends none. */
export function writesOf(head: Head, answer: Answer, usage: Usage | null): readonly Uint8Array[] {
  const event = (fields: object) =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', created: CREATED, ...fields })}\n\n`
  const delta = (fields: object, finish_reason: string | null = null) =>
    event({ choices: [{ index: 0, delta: fields, finish_reason }] })
  const events = [
    delta({ role: 'assistant', content: answer.content === null ? null : '' }),
    ...piecesOf(answer.content ?? '').map((content) => delta({ content })),
    ...callsOf(answer).flatMap((call, index) => [
      delta({ tool_calls: [{ index, ...call, function: { name: call.function.name, arguments: '' } }] }),
      ...piecesOf(call.function.arguments).map((text) =>
        delta({ tool_calls: [{ index, function: { arguments: text } }] }),
      ),
    ]),
    delta({}, finishOf(answer)),
    ...(usage ? [event({ choices: [], usage })] : []),
    'data: [DONE]\n\n',
  ]
  const bytes = new TextEncoder().encode(events.join(''))
  const writes: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += WRITE_BYTES) writes.push(bytes.subarray(at, at + WRITE_BYTES))
  return writes
}

function callsOf(answer: Answer) {
  return (answer.tool_calls ?? []).map((call) => ({ id: call.id, type: 'function', function: call.function }))
}

function finishOf(answer: Answer): string {
  return answer.tool_calls ? 'tool_calls' : 'stop'
}

/** Cut between code points: half a surrogate pair is not text. */
function piecesOf(text: string): readonly string[] {
  const points = Array.from(text)
  const pieces: string[] = []
  for (let at = 0; at < points.length; at += DELTA_CHARACTERS) {
    pieces.push(points.slice(at, at + DELTA_CHARACTERS).join(''))
  }
  return pieces
}
