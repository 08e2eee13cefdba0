/**
 * A model that repeats a recorded conversation of the chat completions shape.
 *
 * The number of messages in the request says where the conversation stands, so nothing is remembered between requests:
 * a run may go on in another process, and a repeated request gets the same answer.
 */
import { Fault } from '../kernel/fault.ts'
import type { Model, ModelMessage, ModelRequest } from '../model/port.ts'
import type { ScriptedAnswer } from './script.ts'
import { scripted, type ScriptedOptions } from './scripted.ts'

export interface RecordedMessage {
  readonly role: string
  readonly content?: string | null
  readonly tool_calls?: readonly {
    readonly id: string
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
  readonly tool_call_id?: string
  readonly name?: string
}

/**
 * Roles, words of the user, and calls of the request must be those of the recording, otherwise the model refuses with
 * `model_invalid_request`. Results of tools and system messages may differ: comparing those is the caller's task.
 */
export function recorded(conversation: readonly RecordedMessage[], options: ScriptedOptions = {}): Model {
  const spoken = conversation.filter((message) => message.role !== 'system')
  const answer = (request: ModelRequest): ScriptedAnswer => {
    const history = request.messages.filter((message) => message.role !== 'system')
    history.forEach((message, at) => {
      const flaw = difference(message, spoken[at])
      if (flaw !== null) throw refuse(`Message ${at + 1} differs from the recording: ${flaw}.`)
    })
    const next = spoken[history.length]
    if (next === undefined) throw refuse(`The recording ends after ${spoken.length} messages.`)
    if (next.role !== 'assistant') throw refuse(`Message ${history.length + 1} of the recording is not the model's.`)
    const calls = (next.tool_calls ?? []).map((call) => ({
      id: call.id,
      name: call.function.name,
      arguments: call.function.arguments,
    }))
    return { text: next.content ?? '', calls }
  }
  return scripted(answer, { id: 'recorded', ...options })
}

const refuse = (detail: string): Fault => new Fault('model_invalid_request', detail)

/** What differs, without the words themselves. */
function difference(message: ModelMessage, original: RecordedMessage | undefined): string | null {
  if (original === undefined) return 'it has none'
  if (message.role !== original.role) return `role ${message.role} instead of ${original.role}`
  if (message.role === 'user') return message.text === original.content ? null : 'other words of the user'
  if (message.role === 'assistant') {
    const names = message.calls.map((call) => call.name).join()
    const originals = (original.tool_calls ?? []).map((call) => call.function.name).join()
    return names === originals ? null : 'other calls'
  }
  return null
}
