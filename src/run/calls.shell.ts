/** Reads, which run beside one another, and plans, which ask before anything is done. */
import type { Showed } from '../kernel/circuit.ts'
import { scopeOf } from '../request/actor.ts'
import type { JsonObject } from '../kernel/json.ts'
import { callAuthorize, type CallOptions, callPlan, callRead } from '../tool/gateway.shell.ts'
import type { CallContext, Contract, ToolOutcome } from '../tool/contract.ts'
import { envelope } from '../tool/outcome.ts'
import { NO_SERVICES } from '../tool/services.ts'
import type { ActParts, Work } from './acting.ts'
import { admitted, showedByRead } from './admit.shell.ts'
import { throwIfHandedBack } from './handback.ts'
import { inTime } from './intime.shell.ts'
import type { PlannedCall, Report, Settlement, Waiting } from './report.ts'
import { refused } from './said.ts'
import { type CallOf, recorded, servicesFor } from './services.shell.ts'
import type { Call } from './state.ts'

/** I7: enough to hide the latency of a handful of look-ups, too few to flood a backend. */
const PARALLEL_READS = 8

export async function runReads(
  parts: ActParts,
  work: Work,
  calls: readonly Call[],
): Promise<Extract<Report, { kind: 'calls_settled' }>> {
  const settled: Settlement[] = []
  const waiting: Waiting[] = []
  const queue = [...calls]
  const lane = async (): Promise<void> => {
    for (let call = queue.shift(); call; call = queue.shift()) {
      // what has not begun when the run is stopped never begins (J7)
      const outcome = work.signal.aborted ? refused('not_started') : await runRead(parts, work, call)
      if ('later' in outcome)
        waiting.push({ ...outcome.later, position: call.position, ms: withinRun(outcome.later.ms, work.leftMs) })
      else settled.push({ position: call.position, outcome })
    }
  }
  await Promise.all(Array.from({ length: Math.min(PARALLEL_READS, calls.length) }, lane))
  throwIfHandedBack(work.signal)
  return { kind: 'calls_settled', calls: settled, ...(waiting.length > 0 && { waiting }) }
}

async function runRead(parts: ActParts, work: Work, call: Call): ReturnType<typeof callRead> {
  const contract = await allowed(parts, work, call)
  if (typeof contract === 'string') return refused(contract)
  const place = placeOf(work, call)
  const services = await servicesFor(parts, place, contract)
  if (typeof services === 'string') return refused(services)
  const seat = await admitted(parts, work, contract)
  if ('ok' in seat) return seat
  let showed: Showed = 'nothing'
  try {
    const limited = await rateLimited(parts, work, contract)
    if (limited) return limited
    const options = { ...limitsOf(parts, work), random: parts.random, services }
    const read = await callRead(contract, inputOf(call), contextOf(work, call), options)
    showed = 'later' in read ? 'answered' : showedByRead(read)
    return 'later' in read ? read : await recorded(parts, place, services.keeper, read)
  } finally {
    seat.leave(showed)
  }
}

/** One start is counted, or nothing starts. Tools without a rate ask nobody. */
export async function rateLimited(parts: ActParts, work: Work, contract: Contract): Promise<ToolOutcome | null> {
  if (!contract.rate) return null
  const answer = await parts.rates.take(scopeOf(work.actor), contract.name, contract.rate)
  if (answer.taken) return null
  const hint = `Try again in ${Math.ceil(answer.waitMs / 1000)} s, or choose another way.`
  return { ok: false, error: envelope('rate_limited', hint) }
}

export const placeOf = (work: Work, call: Call): CallOf => ({
  run: work.run,
  call,
  actor: work.actor,
  signal: work.signal,
})

/**
 * The contract, if it is still the one that was judged, and this actor may still use it and may do this with this object.
 * An authoriser that fails, or does not answer in the time of the call, refuses.
 */
export async function allowed(
  parts: ActParts,
  work: Work,
  call: Call,
): Promise<Contract | 'unknown_tool' | 'permission_denied' | 'not_started'> {
  const contract = parts.agent.tools.named(call.tool)
  if (!contract || contract.version !== call.toolVersion) return 'unknown_tool'
  const yes = (await authorized(parts, work, contract)) && (await isObjectAllowed(parts, work, contract, call))
  throwIfHandedBack(work.signal)
  if (work.signal.aborted) return 'not_started'
  return yes ? contract : 'permission_denied'
}

/** The contract's own word on this object, with the credentials that it declares. */
async function isObjectAllowed(parts: ActParts, work: Work, contract: Contract, call: Call): Promise<boolean> {
  if (!contract.implementation.authorize) return true
  const found = await servicesFor(parts, placeOf(work, call), contract)
  const services = typeof found === 'string' ? NO_SERVICES : found
  return callAuthorize(contract, inputOf(call), contextOf(work, call), { ...limitsOf(parts, work), services })
}

/** A product's own code: anything but `true`, in time, is no permission. */
async function authorized(parts: ActParts, work: Work, contract: Contract): Promise<boolean> {
  try {
    const yes: unknown = parts.authorize(work.actor, { tool: contract.name, permission: contract.permission })
    if (typeof yes === 'boolean') return yes
    const ms = Math.min(contract.timeoutMs, limitsOf(parts, work).timeoutMs)
    return (await inTime(parts.clock, work.signal, { answer: yes, ms })) === true
  } catch {
    return false
  }
}

/** Execution starts from the stored canonical text and nothing else (J8). */
export const inputOf = (call: Call): JsonObject => JSON.parse(call.canonical) as JsonObject

export const withinRun = (ms: number, leftMs: number): number => Math.max(0, Math.min(ms, Math.ceil(leftMs)))

/** K1: no call has more time than its run. */
export const limitsOf = (
  parts: Pick<ActParts, 'clock' | 'egress'>,
  work: Work,
): CallOptions & { readonly timeoutMs: number } => ({
  clock: parts.clock,
  egress: parts.egress,
  timeoutMs: Math.max(1, Math.floor(work.leftMs)),
})

export const contextOf = (work: Work, call: Call): CallContext => ({
  actor: work.actor,
  runId: work.run.key.run,
  step: work.run.step,
  position: call.position,
  effectKey: call.key,
  signal: work.signal,
})

/** J1: the server's plan of each call, and a confirmation for it. A plan that fails is an answer to the model. */
export async function planCalls(parts: ActParts, work: Work, calls: readonly Call[]): Promise<Report> {
  const plans: PlannedCall[] = []
  const failed: Settlement[] = []
  for (const call of calls) {
    const contract = await allowed(parts, work, call)
    if (typeof contract === 'string') {
      failed.push({ position: call.position, outcome: refused(contract) })
      continue
    }
    const services = await servicesFor(parts, placeOf(work, call), contract)
    if (typeof services === 'string') {
      failed.push({ position: call.position, outcome: refused(services) })
      continue
    }
    const options = { ...limitsOf(parts, work), services }
    const planned = await callPlan(contract, inputOf(call), contextOf(work, call), options)
    if (!planned.ok) {
      failed.push({ position: call.position, outcome: { ok: false, error: planned.error } })
      continue
    }
    plans.push({
      position: call.position,
      plan: planned.plan,
      resourceVersion: planned.resourceVersion,
      repeats: await repeatsOf(parts, work, call),
      answers: services.answers,
      confirmation: parts.ids.next('cnf'),
      nonce: Buffer.from(parts.random.bytes(16)).toString('base64url'),
      // never open beyond the run itself
      openMs: Math.floor(Math.max(0, Math.min(contract.confirmationMs, work.leftMs))),
    })
  }
  throwIfHandedBack(work.signal)
  return { kind: 'calls_planned', plans, failed, confirmers: [work.run.user] }
}

/** J10: the effect that this call would repeat; of two equal calls of one step the second repeats the first. */
async function repeatsOf(parts: ActParts, work: Work, call: Call): Promise<string | null> {
  if (call.level !== 'irreversible') return null
  const twin = work.run.calls.find(
    (c) => c.position < call.position && c.argumentsHash === call.argumentsHash && c.status !== 'settled',
  )
  return twin?.key ?? parts.effects.repeats(scopeOf(work.actor), work.run.session, call)
}
