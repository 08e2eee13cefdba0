/**
 * The transcript in pieces that stay or go whole.
 *
 * C2  a call and its result are one piece; what has lost its other half is not sent
 */
import type { ModelCall } from '../model/port.ts'
import type { MessageBody, TranscriptMessage } from './message.ts'

/**
 * `text`: something said. `calls`: a message that asks, with its answers. `broken`: half of such a piece, or what was cut
 * off while it was said (K3); it is not sent, and shows that the model was asked.
 */
export interface Unit {
  readonly kind: 'text' | 'calls' | 'broken'
  readonly messages: readonly TranscriptMessage[]
  readonly tokens: number
  /** The question that it follows or is: counts from 0. */
  readonly turn: number
}

type Assistant = Extract<MessageBody, { role: 'assistant' }>

/** In the order of the transcript. */
export function unitsOf(transcript: readonly TranscriptMessage[]): readonly Unit[] {
  const units: Unit[] = []
  let turn = -1
  for (let at = 0; at < transcript.length; ) {
    const message = transcript[at] as TranscriptMessage
    const { body } = message
    if (body.role === 'user') turn += 1
    const answers = asks(body) && !message.partial ? answersFrom(transcript, at + 1, message.run) : []
    const messages = [message, ...answers]
    units.push({ kind: kindOf(message, answers), messages, tokens: sum(messages), turn: Math.max(0, turn) })
    at += messages.length
  }
  return units
}

const asks = (body: MessageBody): body is Assistant => body.role === 'assistant' && body.calls.length > 0

/** The answers that stand right behind a message that asks. Labels of calls may repeat, so the place decides (J3). */
function answersFrom(said: readonly TranscriptMessage[], from: number, run: string): readonly TranscriptMessage[] {
  const end = said.findIndex((m, i) => i >= from && (m.body.role !== 'tool' || m.run !== run))
  return said.slice(from, end === -1 ? said.length : end)
}

function kindOf({ body, partial }: TranscriptMessage, answers: readonly TranscriptMessage[]): Unit['kind'] {
  if (body.role === 'tool' || partial) return 'broken'
  if (!asks(body)) return 'text'
  return isPaired(body.calls, answers) ? 'calls' : 'broken'
}

function isPaired(calls: readonly ModelCall[], answers: readonly TranscriptMessage[]): boolean {
  const answered = answers.map((m) => (m.body.role === 'tool' ? m.body.callId : '')).sort()
  const asked = calls.map((c) => c.id).sort()
  return asked.length === answered.length && asked.every((id, i) => id === answered[i])
}

const sum = (messages: readonly TranscriptMessage[]): number => messages.reduce((all, m) => all + m.tokens, 0)
