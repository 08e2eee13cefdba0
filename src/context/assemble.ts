/**
 * The request of a model call, from the agent's rules and the transcript.
 *
 * C2  a call and its result stay together   C8  what was sent before is sent again unchanged, so that prompt caches hit
 */
import type { ModelMessage, ModelRequest, OfferedTool } from '../model/port.ts'
import type { TranscriptMessage } from '../run/snapshot.ts'

export interface Assembly {
  readonly instructions: string
  readonly transcript: readonly TranscriptMessage[]
  readonly tools: readonly OfferedTool[]
  readonly maxOutputTokens: number
}

/** Text that was cut off is shown to people and never continued: the model does not get it (K3). */
export function assemble({ instructions, transcript, tools, maxOutputTokens }: Assembly): ModelRequest {
  const said = transcript
    .filter((m) => !m.partial)
    .map((m): ModelMessage => {
      const { body } = m
      if (body.role === 'user') return body
      if (body.role === 'tool') return { role: 'tool', callId: body.callId, name: body.name, text: body.text }
      return {
        role: 'assistant',
        text: body.text,
        calls: body.calls,
        ...(body.reasoning === null ? {} : { reasoning: body.reasoning }),
      }
    })
  const rules: readonly ModelMessage[] = instructions === '' ? [] : [{ role: 'system', text: instructions }]
  return { messages: [...rules, ...said], tools, maxOutputTokens }
}
