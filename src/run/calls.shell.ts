/** Reads, which run beside one another, and plans, which ask before anything is done. */
import { scopeOf } from '../request/actor.ts'
import type { JsonObject } from '../kernel/json.ts'
import { type CallOptions, callPlan, callRead } from '../tool/gateway.shell.ts'
import type { CallFacts, Contract, ToolOutcome } from '../tool/contract.ts'
import type { ActParts, Work } from './acting.ts'
import { throwIfHandedBack } from './handback.ts'
import { inTime } from './intime.shell.ts'
import type { PlannedCall, Report, Settlement } from './report.ts'
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
  const queue = [...calls]
  const lane = async (): Promise<void> => {
    for (let call = queue.shift(); call; call = queue.shift()) {
      // what has not begun when the run is stopped never begins (J7)
      const outcome = work.signal.aborted ? refused('not_started') : await runRead(parts, work, call)
      settled.push({ position: call.position, outcome })
    }
  }
  await Promise.all(Array.from({ length: Math.min(PARALLEL_READS, calls.length) }, lane))
  throwIfHandedBack(work.signal)
  return { kind: 'calls_settled', calls: settled }
}

async function runRead(parts: ActParts, work: Work, call: Call): Promise<ToolOutcome> {
  const contract = await allowed(parts, work, call)
  if (typeof contract === 'string') return refused(contract)
  const place = placeOf(work, call)
  const services = await servicesFor(parts, place, contract)
  if (!services) return refused('credential_missing')
  const options = { ...limitsOf(parts, work), services }
  const outcome = await callRead(contract, inputOf(call), contextOf(work, call), options)
  return recorded(parts, place, services.keeper, outcome)
}

export const placeOf = (work: Work, call: Call): CallOf => ({
  run: work.run,
  call,
  actor: work.actor,
  signal: work.signal,
})

/**
 * The contract, if it is still the one that was judged and this actor may still use it. An authoriser that fails, or does
 * not answer in the time of the call, refuses.
 */
export async function allowed(
  parts: ActParts,
  work: Work,
  call: Call,
): Promise<Contract | 'unknown_tool' | 'permission_denied' | 'not_started'> {
  const contract = parts.agent.tools.named(call.tool)
  if (!contract || contract.version !== call.toolVersion) return 'unknown_tool'
  const yes = await authorized(parts, work, contract)
  throwIfHandedBack(work.signal)
  if (work.signal.aborted) return 'not_started'
  return yes ? contract : 'permission_denied'
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

/** K1: no call has more time than its run. */
export const limitsOf = (parts: Pick<ActParts, 'clock'>, work: Work): CallOptions & { readonly timeoutMs: number } => ({
  clock: parts.clock,
  timeoutMs: Math.max(1, Math.floor(work.leftMs)),
})

export const contextOf = (work: Work, call: Call): CallFacts => ({
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
    if (!services) {
      failed.push({ position: call.position, outcome: refused('credential_missing') })
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
