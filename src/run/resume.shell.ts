/**
 * A wait is over: its time, or because somebody has told (T3). What the tool says then is the outcome, or another wait.
 *
 * J4  an effect of which nobody tells is asked for by its key, and is unknown when that says nothing either
 */
import { callProbe, callResume, type ResumeOutcome } from '../tool/gateway.shell.ts'
import type { Contract, ToolOutcome } from '../tool/contract.ts'
import type { ActParts, Acted, Work } from './acting.ts'
import { contextOf, inputOf, placeOf } from './calls.shell.ts'
import { settled, unknown, waits } from './effect.shell.ts'
import { throwIfHandedBack } from './handback.ts'
import { MOST_WAITS } from './loops.ts'
import { refused } from './said.ts'
import { recorded, servicesFor } from './services.shell.ts'
import type { Call } from './state.ts'

/** A `resume` that fails is asked again after this: long enough for a restart of what it asks. */
const AGAIN_MS = 5_000

export async function resumeCall(
  parts: ActParts,
  work: Work,
  { call, isLast }: { readonly call: Call; readonly isLast: boolean },
): Promise<Acted> {
  const contract = parts.agent.tools.named(call.tool)
  if (!contract || contract.version !== call.toolVersion) return openEnd(work, call, 'unknown_tool')
  const heard = await ask(parts, work, contract, call)
  throwIfHandedBack(work.owned)
  if (heard.kind === 'settled') return settled(work.run, call, heard.outcome)
  if (heard.kind === 'silent') return askByKey(parts, work, contract, call)
  if (isLast || (call.wait?.count ?? 0) >= MOST_WAITS) return askByKey(parts, work, contract, call)
  if (heard.kind === 'later') return waits(work, call, heard.later)
  // the signal stays where it is, and what was told is heard again with the next try
  return waits(work, call, { signal: call.wait?.signal ?? null, ms: AGAIN_MS, again: true })
}

/** Like every question about what has started it does not stop with the run (J7), and has time of its own. */
async function ask(parts: ActParts, work: Work, contract: Contract, call: Call): Promise<ResumeOutcome> {
  const place = { ...placeOf(work, call), signal: work.owned }
  const services = await servicesFor(parts, place, contract)
  // a vault that is away now may be there at the next try
  if (typeof services === 'string') return { kind: 'broken' }
  const cx = { ...contextOf(work, call), signal: work.owned }
  const { clock, egress } = parts
  const told = { arrived: call.wait?.arrived ?? null, isTimer: call.wait?.signal === null }
  const heard = await callResume(contract, inputOf(call), cx, { clock, egress, services, ...told })
  if (heard.kind !== 'settled') return heard
  return { ...heard, outcome: await recorded(parts, place, services.keeper, heard.outcome) }
}

async function askByKey(parts: ActParts, work: Work, contract: Contract, call: Call): Promise<Acted> {
  if (call.level === 'read' || !contract.implementation.probe) return openEnd(work, call, 'wait_expired')
  const cx = { ...contextOf(work, call), signal: work.owned }
  const place = { ...placeOf(work, call), signal: work.owned }
  const services = await servicesFor(parts, place, contract)
  if (typeof services === 'string') return unknown(work.run, call)
  const answer = await callProbe(contract, inputOf(call), cx, { clock: parts.clock, egress: parts.egress, services })
  throwIfHandedBack(work.owned)
  if (answer.happened === true)
    return settled(work.run, call, await recorded(parts, place, services.keeper, answer.outcome))
  // it was taken once, so "not there" is no proof that it will not happen yet
  return unknown(work.run, call)
}

/** Nobody told: a read has failed; what became of an effect only a person can say. */
const openEnd = (work: Work, call: Call, code: 'wait_expired' | 'unknown_tool'): Acted => {
  const outcome: ToolOutcome = refused(code)
  return call.level === 'read' ? settled(work.run, call, outcome) : unknown(work.run, call)
}
