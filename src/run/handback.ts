/** Why a run is left without an end: another worker has it, or will have it, or nobody follows it. Nothing is reported then. */
import { Fault } from '../kernel/fault.ts'

const LEAVES: ReadonlySet<string> = new Set(['lease_lost', 'worker_stopping', 'client_gone'])

const isHandBack = (reason: unknown): reason is Fault => Fault.is(reason) && LEAVES.has(reason.code)

/** @throws Fault `lease_lost`, `worker_stopping` or `client_gone`; a canceled run is not handed back but ended. */
export function throwIfHandedBack(signal: AbortSignal): void {
  if (signal.aborted && isHandBack(signal.reason)) throw signal.reason
}

/** True for what ends the driving of a run in this process without a word. */
export const leavesRun = isHandBack
