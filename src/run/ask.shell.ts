/** One model call: context, attempt, judgement of its form. */
import { assemble } from '../context/assemble.ts'
import { Fault, type FaultCode } from '../kernel/fault.ts'
import { parseStrict } from '../kernel/json.ts'
import { attempt } from '../model/attempt.shell.ts'
import type { ModelAnswer, OfferedTool, Usage } from '../model/port.ts'
import type { ActParts, Work } from './act.shell.ts'
import type { Agent } from './agent.ts'
import type { Reservation } from './budget.ts'
import { propose } from './propose.ts'
import type { EndReason } from './reasons.ts'
import type { Report } from './report.ts'

export async function askModel(parts: ActParts, work: Work, reservation: Reservation): Promise<Report | 'reload'> {
  const { agent } = parts
  const { run, signal } = work
  const request = assemble({
    instructions: agent.instructions,
    transcript: work.transcript,
    tools: offered(agent, work),
    maxOutputTokens: reservation.maxOutputTokens,
  })
  await parts.fault('context.built')
  let sent = false
  const result = await attempt({
    model: agent.model,
    request,
    signal,
    clock: parts.clock,
    random: parts.random,
    deadlineMs: parts.clock.now() + work.leftMs,
    onPart: (number, part) => {
      sent = true
      parts.delta(run, number, part)
    },
  })
  await parts.fault('model.end')
  if ('answer' in result) {
    const { answer } = result
    const calls = answer.kind === 'calls' ? propose(run, agent, answer.calls) : []
    return { kind: 'model_answered', answer, calls, finalValid: answer.kind !== 'final' || isValid(agent, answer) }
  }
  // the worker stops or lost its lease: nothing is reported, the next worker bills the attempt
  if (signal.aborted && isHandBack(signal.reason)) throw signal.reason
  if (signal.aborted) return 'reload'
  const usage: Usage = result.partial.usage
  return { kind: 'model_failed', reason: endOf(result.fault.code), usage, partial: result.partial.text, sent: sent || wasCharged(result.fault.code) }
}

/** The smallest set of tools for this actor (I2). */
const offered = (agent: Agent, work: Work): readonly OfferedTool[] =>
  agent.tools.offered(work.actor).map((c) => ({ name: c.exposedName, description: c.description, inputSchema: c.inputSchema }))

function isValid(agent: Agent, answer: Extract<ModelAnswer, { kind: 'final' }>): boolean {
  if (!agent.final) return true
  const parsed = parseStrict(answer.text.trim())
  return parsed.ok && agent.final.check(parsed.value).length === 0
}

export const isHandBack = (reason: unknown): reason is Fault => Fault.is(reason) && reason.code === 'lease_lost'

/** A refusal costs nothing; whatever else failed may have been computed and billed. */
const wasCharged = (code: FaultCode): boolean => code === 'model_transient' || code === 'model_protocol' || code === 'model_unclassified'

function endOf(code: FaultCode): EndReason {
  switch (code) {
    case 'model_protocol':
      return 'protocol_error'
    case 'model_content_policy':
      return 'content_filtered'
    case 'model_context_overflow':
      return 'context_overflow'
    case 'budget_exceeded':
    case 'canceled':
      return 'deadline'
    default:
      return 'model_unavailable'
  }
}
