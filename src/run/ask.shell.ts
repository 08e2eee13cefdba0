/** One model call: context, attempt, judgement of its form. */
import { assemble, type Assembled, type Context, messagesOf, type Part, type Remembered } from '../context/assemble.ts'
import { corrected, type Factor, NO_FACTOR } from '../context/correction.ts'
import { halved, tightened } from '../context/limits.ts'
import { type Rule, rulesText } from '../memory/procedure.ts'
import { Fault, type FaultCode } from '../kernel/fault.ts'
import { parseStrict } from '../kernel/json.ts'
import { type AttemptResult, attempt } from '../model/attempt.shell.ts'
import type { ModelAnswer, ModelRequest, OfferedTool } from '../model/port.ts'
import type { ActParts, Recollection, Work } from './acting.ts'
import { tenantOf } from './admit.shell.ts'
import { type Attached, attachedTo } from './attach.shell.ts'
import type { Agent } from './agent.ts'
import { linked } from './compensate.shell.ts'
import { coversAnother, droppedUsage } from './dropped.ts'
import { leastOutput, type Reservation } from './budget.ts'
import { type Narrowed, isUntrusted, withAdded } from './hooks.ts'
import { hookAllows, hooksBefore } from './hooks.shell.ts'
import { throwIfHandedBack } from './handback.ts'
import { propose } from './propose.ts'
import type { EndReason } from './reasons.ts'
import type { Report } from './report.ts'
import type { Call, Run } from './state.ts'

/** Of one model in one process, for all tenants: what one worker drives at once, several times over. */
const MODEL_PLACES = 64

export async function askModel(parts: ActParts, work: Work, reservation: Reservation): Promise<Report> {
  const { run, signal } = work
  const recalled = await recollected(parts, work)
  if (recalled?.state === 'unavailable' && parts.agent.memory?.endsWithout) return WITHOUT_MEMORY
  await parts.fault('context.built')
  throwIfHandedBack(signal)
  const memory = await still(parts, work, recalled && 'memory' in recalled ? recalled.memory : [])
  if (memory === null && parts.agent.memory?.endsWithout) return WITHOUT_MEMORY
  const withoutMemory = recalled?.state === 'unavailable' || memory === null
  const rules = await rulesLeft(parts, run)
  const context: Context = { ...run.context, rules, memory: memory ?? [], withoutMemory }
  const hooked = hooksBefore(parts, work)
  if (hooked === null) return failedHook(run)
  const factor = parts.factors?.of(parts.agent.model.id) ?? NO_FACTOR
  const assembled = fitting(context, factor)
  const sent = withAdded(assembled.parts, hooked.added)
  // a smaller request refers to nothing that this one does not
  const attached = await attachedTo(parts, work, sent)
  parts.asking()
  const deadlineMs = parts.clock.now() + Math.min(work.leftMs, parts.agent.modelMs)
  const sending: Sending = { sent: false, attempts: 0, deadlineMs }
  const maxOutputTokens = answerRoom(parts.agent, assembled, { factor, reserved: reservation.maxOutputTokens })
  const given = { rules, hooked, sending, attached, maxOutputTokens }
  let result = await send(parts, work, sent, given)
  // the provider counts otherwise than we do: once more with half of it, instead of a conversation that is stuck
  const isTooLong = 'fault' in result && result.fault.code === 'model_context_overflow' && !sending.sent
  if (isTooLong) {
    const limits = halved(context.limits, run.promptTokens)
    const smaller = { ...context, limits }
    const again = assemble(smaller)
    if (!again.overflows) {
      const { dropped } = result
      result = await send(parts, work, withAdded(again.parts, hooked.added), given)
      result = { ...result, dropped: [...dropped, ...result.dropped] }
    }
  }
  await parts.fault('model.end')
  // the worker stops or lost its lease: nothing is reported, the next worker bills the attempt
  if ('fault' in result) throwIfHandedBack(signal)
  if ('answer' in result && result.answer.kind === 'final' && !hookAllows(parts, run, result.answer.text))
    return failedHook(run, result)
  if ('answer' in result && !isTooLong && attached.size === 0)
    learn(parts, { fixedTokens: context.fixedTokens, sent }, result.answer)
  const calls =
    'answer' in result && result.answer.kind === 'calls'
      ? propose(run, withTools(parts.agent, hooked), result.answer.calls)
      : []
  const report = reportOf(parts, work, { result, sent: sending.sent, calls: await linked(parts, run, calls) })
  if (report.kind !== 'model_answered') return report
  const why = isUntrusted(hooked.added) ? 'hook' : attached.size > 0 ? 'media' : null
  return {
    ...report,
    ...(why && { untrusted: why }),
    ...(context.withoutMemory && { withoutMemory: true }),
  }
}

/** What is known to be too long for the model is made smaller before it is refused; when that leaves nothing, the model decides. */
function fitting(context: Context, factor: Factor): Assembled {
  const assembled = assemble(context)
  if (factor <= 1 || corrected(assembled.tokens, factor) <= context.limits.hard) return assembled
  const smaller = assemble({ ...context, limits: tightened(context.limits, factor) })
  return smaller.overflows ? assembled : smaller
}

/** Of what was reserved for the answer, as much as the window has room for when the request is as long as the model will count it. */
function answerRoom(
  { rules }: Agent,
  { tokens }: Assembled,
  { factor, reserved }: { readonly factor: Factor; readonly reserved: number },
): number {
  if (factor <= 1) return reserved
  return Math.max(leastOutput(rules), Math.min(reserved, rules.contextTokens - corrected(tokens, factor)))
}

/** Media are estimated too coarsely to learn from. What hooks have added is in the rules already. */
function learn(
  { factors, agent }: ActParts,
  { fixedTokens, sent }: { readonly fixedTokens: number; readonly sent: readonly Part[] },
  { usage }: ModelAnswer,
): void {
  if (usage.input === undefined || usage.suspect) return
  const estimated = sent.reduce((sum, part) => sum + part.tokens, fixedTokens)
  factors?.learn(agent.model.id, { estimated, reported: usage.input, isExact: agent.context.count !== undefined })
}

/** Nothing was asked, so nothing was spent. */
const WITHOUT_MEMORY: Report = {
  kind: 'model_failed',
  reason: 'memory_unavailable',
  usage: {},
  partial: '',
  sent: false,
}

/** Null where nothing is remembered. A failure of memory is told and fails no run by itself. */
async function recollected(parts: ActParts, { run, signal }: Work): Promise<Recollection | null> {
  if (parts.agent.memory === null || !parts.recollect) return null
  try {
    return await parts.recollect(run, parts.agent, signal)
  } catch (error) {
    throwIfHandedBack(signal)
    // who may not read gets nothing, and no answer as if there were nothing (F2)
    if (Fault.is(error) && error.code === 'permission_denied') throw error
    return { state: 'unavailable' }
  }
}

/** A tool that a hook took away is unknown for this step, whatever the model asks for. */
function withTools(agent: Agent, { tools }: Narrowed): Agent {
  if (!agent.hooks) return agent
  const find: Agent['tools']['find'] = (name) => {
    const found = agent.tools.find(name)
    return found && tools.includes(found.name) ? found : undefined
  }
  return { ...agent, tools: { ...agent.tools, find } }
}

/** C9: fails closed. What was answered is paid for, and nobody gets it. */
function failedHook(run: Run, result?: Extract<AttemptResult, { readonly answer: ModelAnswer }>): Report {
  const dropped = result ? droppedUsage(run, result.dropped) : undefined
  return {
    kind: 'model_failed',
    reason: 'hook_failed',
    usage: result?.answer.usage ?? {},
    partial: '',
    sent: result !== undefined,
    ...(dropped && { dropped }),
  }
}

/** What was forgotten since it was recalled is not sent. Null when nobody knows. */
async function still(
  { stillRemembered }: ActParts,
  { run, signal }: Work,
  memory: readonly Remembered[],
): Promise<readonly Remembered[] | null> {
  if (memory.length === 0 || !stillRemembered) return memory
  try {
    return await stillRemembered(run, memory)
  } catch {
    throwIfHandedBack(signal)
    return null
  }
}

/** G2: what was forgotten since the run was read is no rule any more. Nothing is sent when nobody knows. */
async function rulesLeft({ runs }: ActParts, { key, context: { rules = [] } }: Run): Promise<readonly Rule[]> {
  if (rules.length === 0) return rules
  const left = await runs.rulesLeft(
    key,
    rules.map((rule) => rule.id),
  )
  return rules.filter((rule) => left.has(rule.id))
}

/** A call with all of its attempts: whether anything came, how many there were, until when. */
interface Sending {
  sent: boolean
  attempts: number
  readonly deadlineMs: number
}

async function send(
  parts: ActParts,
  work: Work,
  sent: readonly Part[],
  given: {
    readonly rules: readonly Rule[]
    readonly hooked: Narrowed
    readonly sending: Sending
    readonly attached: Attached
    readonly maxOutputTokens: number
  },
): Promise<AttemptResult> {
  const { agent } = parts
  const { run, signal } = work
  const { rules, hooked, sending, attached, maxOutputTokens } = given
  const request: ModelRequest = {
    messages: messagesOf(rulesText(agent.instructions, rules), { parts: sent }, attached),
    tools: offered(agent, work, hooked),
    maxOutputTokens,
  }
  const before = sending.attempts
  const result = await attempt({
    model: agent.model,
    bulkhead: parts.bulkheads.of(`model/${agent.model.id}`, MODEL_PLACES, tenantOf(run)),
    fault: parts.fault,
    request,
    signal,
    clock: parts.clock,
    random: parts.random,
    deadlineMs: sending.deadlineMs,
    mayRepeat: (dropped) => coversAnother(run, dropped),
    onPart: (number, part) => {
      sending.sent = true
      parts.delta(run, before + number, part)
    },
  })
  sending.attempts += result.attempts
  return result
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
const offered = (agent: Agent, work: Work, { tools }: Narrowed): readonly OfferedTool[] =>
  agent.tools
    .offered(work.actor, tools)
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
