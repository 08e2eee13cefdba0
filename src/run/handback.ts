/** Why a run is left without an end: another worker has it, or will have it. Nothing is reported then. */
import { Fault } from '../kernel/fault.ts'

const isHandBack = (reason: unknown): reason is Fault =>
  Fault.is(reason) && (reason.code === 'lease_lost' || reason.code === 'worker_stopping')

/** @throws Fault `lease_lost` or `worker_stopping`; a canceled run is not handed back but ended. */
export function throwIfHandedBack(signal: AbortSignal): void {
  if (signal.aborted && isHandBack(signal.reason)) throw signal.reason
}

/** True for what ends the driving of a run in this process without a word. */
export const leavesRun = isHandBack
