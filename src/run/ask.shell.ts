/** One model call: context, attempt, judgement of its form. */
import { assemble } from '../context/assemble.ts'
import type { FaultCode } from '../kernel/fault.ts'
import { parseStrict } from '../kernel/json.ts'
import { type AttemptResult, attempt } from '../model/attempt.shell.ts'
import type { ModelAnswer, OfferedTool } from '../model/port.ts'
import type { ActParts, Work } from './acting.ts'
import { tenantOf } from './admit.shell.ts'
import type { Agent } from './agent.ts'
import { linked } from './compensate.shell.ts'
import { coversAnother, droppedUsage } from './dropped.ts'
import type { Reservation } from './budget.ts'
import { throwIfHandedBack } from './handback.ts'
import { propose } from './propose.ts'
import type { EndReason } from './reasons.ts'
import type { Report } from './report.ts'
import type { Call } from './state.ts'

/** Of one model in one process, for all tenants: what one worker drives at once, several times over. */
const MODEL_PLACES = 64

export async function askModel(parts: ActParts, work: Work, reservation: Reservation): Promise<Report> {
  const { agent } = parts
  const { run, signal } = work
  const request = assemble({
    instructions: agent.instructions,
    transcript: work.transcript,
    tools: offered(agent, work),
    maxOutputTokens: reservation.maxOutputTokens,
  })
  await parts.fault('context.built')
  throwIfHandedBack(signal)
  parts.asking()
  let sent = false
  const result = await attempt({
    model: agent.model,
    bulkhead: parts.bulkheads.of(`model/${agent.model.id}`, MODEL_PLACES, tenantOf(run)),
    fault: parts.fault,
    request,
    signal,
    clock: parts.clock,
    random: parts.random,
    deadlineMs: parts.clock.now() + Math.min(work.leftMs, agent.modelMs),
    mayRepeat: (dropped) => coversAnother(run, dropped),
    onPart: (number, part) => {
      sent = true
      parts.delta(run, number, part)
    },
  })
  await parts.fault('model.end')
  // the worker stops or lost its lease: nothing is reported, the next worker bills the attempt
  if ('fault' in result) throwIfHandedBack(signal)
  const calls = 'answer' in result && result.answer.kind === 'calls' ? propose(run, agent, result.answer.calls) : []
  return reportOf(parts, work, { result, sent, calls: await linked(parts, run, calls) })
}

interface Ended {
  readonly result: AttemptResult
  readonly sent: boolean
  readonly calls: readonly Call[]
}

function reportOf({ agent }: ActParts, { run, signal, leftMs }: Work, { result, sent, calls }: Ended): Report {
  if ('answer' in result) {
    const { answer } = result
    const finalValid = answer.kind !== 'final' || isValid(agent, answer)
    return { kind: 'model_answered', answer, calls, finalValid, dropped: droppedUsage(run, result.dropped) }
  }
  // the last attempt is settled by the report itself
  const dropped = droppedUsage(run, result.dropped.slice(0, -1))
  const { code } = result.fault
  const { text: partial, usage } = result.partial
  return {
    kind: 'model_failed',
    // the model was too slow, and the run has time left
    reason: code === 'budget_exceeded' && leftMs > agent.modelMs ? 'model_unavailable' : endOf(code),
    usage,
    partial,
    sent: sent || signal.aborted || wasCharged(code),
    dropped,
  }
}

/** The smallest set of tools for this actor (I2). */
const offered = (agent: Agent, work: Work): readonly OfferedTool[] =>
  agent.tools
    .offered(work.actor)
    .map((c) => ({ name: c.exposedName, description: c.description, inputSchema: c.inputSchema }))

function isValid(agent: Agent, answer: Extract<ModelAnswer, { kind: 'final' }>): boolean {
  if (!agent.final) return true
  const parsed = parseStrict(answer.text.trim())
  return parsed.ok && agent.final.check(parsed.value).length === 0
}

/** A refusal costs nothing; whatever else failed may have been computed and billed. */
const wasCharged = (code: FaultCode): boolean =>
  ['model_transient', 'model_protocol', 'model_unclassified', 'budget_exceeded'].includes(code)

function endOf(code: FaultCode): EndReason {
  switch (code) {
    case 'model_protocol':
      return 'protocol_error'
    case 'model_content_policy':
      return 'content_filtered'
    case 'model_context_overflow':
      return 'context_overflow'
    case 'budget_exceeded':
      return 'deadline'
    case 'canceled':
      // the mark in the row, which this report meets in its commit, says who canceled
      return 'user_canceled'
    default:
      return 'model_unavailable'
  }
}
