/**
 * COMMIT A: what the model answered, what it cost, and what it asks for.
 *
 * B1  a turn with more calls than the budget holds starts none of them
 * B3  only a clean, valid, non-empty final is success
 * J3  a call's identity is (run, step, position); the provider's id is a label
 */
import { estimateTokens, tokensOf } from '../context/tokens.ts'
import type { ModelAnswer } from '../model/port.ts'
import { type Spent, settleUsage } from './budget.ts'
import { pastOf, repeats, storedError } from './breaker.ts'
import { plus } from './dropped.ts'
import { endRun } from './end.ts'
import { bill } from './ledger.ts'
import { END_OF_CANCEL, type EndReason } from './reasons.ts'
import type { Report } from './report.ts'
import { assistantMessage, refused, withSaid } from './said.ts'
import { finishStep } from './settle.ts'
import type { Call, Run } from './state.ts'
import { type Moved, NOTHING, type NewEvent, type NewMessage, type Writes } from './writes.ts'

type Answered = Extract<Report, { kind: 'model_answered' }>
type Failed = Extract<Report, { kind: 'model_failed' }>
type StepKind = 'final' | 'read_calls' | 'write_calls' | 'retryable_error'

export function absorbAnswer(run: Run, report: Answered): Moved {
  const moved = absorbed(run, report)
  return report.withoutMemory
    ? { ...moved, writes: { ...moved.writes, events: moved.writes.events.map(unremembered) } }
    : moved
}

/** F7: who follows the run is told that this answer was made without memory. */
const unremembered = (event: NewEvent): NewEvent =>
  event.type === 'step_planned' || event.type === 'run_ended'
    ? { ...event, body: { ...event.body, memory: 'unavailable' } }
    : event

function absorbed(before: Run, report: Answered): Moved {
  const { answer } = report
  const run: Run = report.untrusted
    ? {
        ...before,
        integrity: 'untrusted',
        watermarkFrom: before.watermarkFrom ?? `${before.step + 1}/${report.untrusted}`,
      }
    : before
  const asked = answer.kind === 'calls' ? answer.calls : []
  const said = answer.text + asked.map((c) => c.name + c.arguments).join('')
  const { count } = run.context.limits
  const tokens = tokensOf(said, count)
  const spent = plus(settleUsage(run, answer.usage, (count ?? estimateTokens)(said)), report.dropped)
  // a canceled run takes no calls; what was read for it meanwhile is on record all the same
  const read = report.calls.filter((c) => c.approval !== 'refused' && c.status === 'settled').length
  if (answer.kind !== 'calls' || (run.cancel && read === 0)) {
    const reason = run.cancel ? END_OF_CANCEL[run.cancel] : reasonOf(report)
    return endWithText(run, { spent, text: answer.text, tokens, reason, kind: 'final' })
  }
  const stop = run.cancel ? END_OF_CANCEL[run.cancel] : firstStop(run, report.calls)
  const calls: readonly Call[] = stop
    ? report.calls.map((c) => ({ ...c, status: 'settled', outcome: c.outcome ?? refused('not_started') }))
    : withStoredErrors(run, report.calls)
  const stepped: Run = { ...run, step: run.step + 1, phase: 'tool_running' }
  const message = assistantMessage(stepped, {
    text: answer.text,
    calls: asked,
    reasoning: answer.reasoning,
    partial: false,
    tokens: tokens + reasoningTokens(run, answer),
  })
  const billed = bill(stepped, { kind: 'model', spent, toolCalls: stop ? read : calls.length, released: run.reserved })
  const planned: Run = {
    ...withSaid(billed.run, [message]),
    attempts: 0,
    lost: false,
    calls,
    past: [...run.past, ...calls.map((c) => pastOf(stepped.step, c))],
    messageSeq: message.seq,
    eventSeq: run.eventSeq + 1,
  }
  const writes: Writes = {
    ...NOTHING,
    ledger: billed.ledger,
    messages: [message],
    intents: calls,
    events: [plannedEvent(stepped, kindOf(calls), message, calls)],
  }
  if (stop) return endRun(planned, stop, writes)
  return calls.every((c) => c.status === 'settled') ? finishStep(planned, writes) : { run: planned, writes }
}

/** What goes back with the calls costs again: as much as the provider says, else as its text would. */
function reasoningTokens(
  run: Run,
  { reasoning, usage }: Pick<ModelAnswer & { kind: 'calls' }, 'reasoning' | 'usage'>,
): number {
  if (reasoning === null) return 0
  const text = (run.context.limits.count ?? estimateTokens)(JSON.stringify(reasoning))
  return Math.min(usage.reasoning ?? text, run.rules.maxOutputTokens)
}

/** The attempt failed for good. What was sent is paid for; what was said is kept as partial and never continued (K3). */
export function absorbFailure(run: Run, report: Failed): Moved {
  const { count } = run.context.limits
  const tokens = tokensOf(report.partial, count)
  const last: Spent = report.sent
    ? settleUsage(run, report.usage, (count ?? estimateTokens)(report.partial))
    : { inputTokens: 0, outputTokens: 0, cost: 0, known: true }
  const spent = plus(last, report.dropped)
  const reason = run.cancel ? END_OF_CANCEL[run.cancel] : report.reason
  const { handOver } = run.rules
  if (handOver !== null && reason === 'model_unavailable' && report.partial === '')
    return endWithText(run, {
      spent,
      text: handOver,
      tokens: tokensOf(handOver, count),
      reason: 'handed_over',
      kind: 'final',
    })
  return endWithText(run, { spent, text: report.partial, tokens, reason, kind: 'retryable_error' })
}

interface Ending {
  readonly spent: Spent
  readonly text: string
  readonly tokens: number
  readonly reason: EndReason
  readonly kind: StepKind
}

function endWithText(run: Run, ending: Ending): Moved {
  const stepped: Run = { ...run, step: run.step + 1, phase: 'finalizing' }
  const said = {
    text: ending.text,
    calls: [],
    reasoning: null,
    partial: ending.reason !== 'completed' && ending.reason !== 'handed_over',
    tokens: ending.tokens,
  }
  const messages = ending.text === '' ? [] : [assistantMessage(stepped, said)]
  const billed = bill(stepped, { kind: 'model', spent: ending.spent, released: run.reserved })
  const last = messages.at(-1)
  const told = plannedEvent(stepped, ending.kind, last, [])
  const ended: Run = { ...billed.run, lost: false, messageSeq: last?.seq ?? run.messageSeq, eventSeq: told.seq }
  return endRun(ended, ending.reason, { ...NOTHING, ledger: billed.ledger, messages, events: [told] })
}

function reasonOf(report: Answered): EndReason {
  if (report.answer.kind === 'bad') return report.answer.reason
  return report.finalValid ? 'completed' : 'invalid_final'
}

/** Why none of these calls may start: too many for the budget, or one of them goes in circles. */
function firstStop(run: Run, calls: readonly Call[]): EndReason | null {
  if (run.used.toolCalls + calls.length > run.limits.toolCalls) return 'tool_call_limit'
  const past = [...run.past]
  for (const call of calls) {
    const reason = repeats(past, call.fingerprint, call.breaker)
    if (reason) return reason
    past.push(pastOf(run.step, call))
  }
  return null
}

function withStoredErrors(run: Run, calls: readonly Call[]): readonly Call[] {
  const past = [...run.past]
  return calls.map((call) => {
    // what has been read already has its own outcome, whatever its twin in the same answer met
    const isRead = call.approval !== 'refused' && call.status === 'settled'
    const stored = isRead ? null : storedError(past, call.fingerprint)
    const answered: Call = stored ? { ...call, approval: 'refused', status: 'settled', outcome: stored } : call
    past.push(pastOf(run.step, answered))
    return answered
  })
}

const kindOf = (calls: readonly Call[]): StepKind =>
  calls.some((c) => c.level !== 'read') ? 'write_calls' : 'read_calls'

function plannedEvent(run: Run, kind: StepKind, message: NewMessage | undefined, calls: readonly Call[]): NewEvent {
  return {
    seq: run.eventSeq + 1,
    type: 'step_planned',
    body: {
      step: run.step,
      kind,
      message: message?.seq ?? null,
      calls: calls.map((c) => ({ position: c.position, tool: c.tool })),
    },
  }
}
