/** What the model is told about calls: the text of tool messages, and the fixed answers of calls that did not run. */
import { promptTokens } from '../context/assemble.ts'
import { tokensOf } from '../context/tokens.ts'
import { envelope, messageText } from '../tool/outcome.ts'
import type { FaultCode } from '../kernel/fault.ts'
import type { ModelCall } from '../model/port.ts'
import type { Json, ToolOutcome } from '../tool/contract.ts'
import { shownParts } from './shown.ts'
import type { Call, Run } from './state.ts'
import type { NewMessage, Writes } from './writes.ts'

export const refused = (code: FaultCode): Extract<ToolOutcome, { ok: false }> => ({ ok: false, error: envelope(code) })

/**
 * The confirmations that end with these calls. One that expired says so; it may be a decision that was not used in time,
 * which the row does not know yet.
 */
export const closing = (calls: readonly Call[], as: 'expired' | 'superseded'): Writes['closed'] =>
  calls.flatMap(({ confirmation: c }) => {
    if (!c || !['pending', 'approved', 'expired'].includes(c.status)) return []
    return [{ id: c.id, status: c.status === 'expired' ? 'expired' : as }]
  })

/** The tool messages of a step, in call order, whatever order the calls ended in (I7). Open calls are answered as not started. */
function toolMessages(run: Run, calls: readonly Call[], firstSeq: number): NewMessage[] {
  return calls.map((call, i) => {
    const { limits } = run.context
    const text = messageText(call.outcome ?? refused(call.status === 'intended' ? 'not_started' : 'unknown_outcome'))
    const parts = shownParts(call.outcome, limits)
    return {
      seq: firstSeq + i,
      step: run.step,
      position: call.position,
      body: { role: 'tool', callId: call.callId, name: call.exposedName, text, ...(parts.length > 0 && { parts }) },
      visibility: 'model',
      integrity: 'untrusted',
      confidentiality: 'subject',
      origin: { kind: 'tool', tool: call.tool, step: run.step, position: call.position },
      partial: false,
      tokens: parts.reduce((sum, part) => sum + part.tokens, tokensOf(text, limits.count)),
    }
  })
}

export interface Said {
  readonly text: string
  readonly calls: readonly ModelCall[]
  readonly reasoning: Json | null
  readonly partial: boolean
  readonly tokens: number
}

/** The assistant's message: what it said and what it asked for, in its own bytes. */
export function assistantMessage(run: Run, said: Said): NewMessage {
  return {
    seq: run.messageSeq + 1,
    step: run.step,
    position: null,
    body: { role: 'assistant', text: said.text, calls: said.calls, reasoning: said.reasoning },
    visibility: said.calls.length > 0 ? 'model' : 'user',
    integrity: run.integrity,
    confidentiality: run.confidentiality,
    origin: { kind: 'model', step: run.step },
    partial: said.partial,
    tokens: said.tokens,
  }
}

/**
 * The step's calls are answered: their messages, and the run that has read them. What a tool said is not trusted, so the
 * run is not from here on (I9).
 */
export function answerCalls(
  run: Run,
  calls: readonly Call[],
): { readonly run: Run; readonly messages: readonly NewMessage[] } {
  const first = calls[0]
  if (!first) return { run, messages: [] }
  const messages = toolMessages(run, calls, run.messageSeq + 1)
  const heard = withSaid(run, messages)
  return {
    run: {
      ...heard,
      calls: [],
      messageSeq: run.messageSeq + messages.length,
      // each call has its answer now: what does not fit is cut before money is asked for
      promptTokens: heard.promptTokens <= run.context.limits.most ? heard.promptTokens : promptTokens(heard.context),
      integrity: 'untrusted',
      watermarkFrom: run.watermarkFrom ?? `${run.step}/${first.position}`,
    },
    messages,
  }
}

/** The run whose transcript goes on with these messages. */
export function withSaid(run: Run, messages: readonly NewMessage[]): Run {
  const said = messages.map(({ seq, step, body, tokens, partial }) => ({
    run: run.key.run,
    seq,
    step,
    body,
    tokens,
    partial,
  }))
  return {
    ...run,
    context: { ...run.context, transcript: [...run.context.transcript, ...said] },
    promptTokens: said.reduce((sum, m) => sum + m.tokens, run.promptTokens),
  }
}
