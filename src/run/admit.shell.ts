/** A place at a tool, before anything of a call starts, and what the call showed of the tool (N4). */
import type { Place } from '../kernel/bulkhead.shell.ts'
import type { Showed } from '../kernel/circuit.ts'
import { Fault } from '../kernel/fault.ts'
import type { CommitOutcome } from '../tool/gateway.shell.ts'
import type { Contract, ToolOutcome } from '../tool/contract.ts'
import type { ActParts, Work } from './acting.ts'
import { refused } from './said.ts'
import type { Run } from './state.ts'

/** Whose credentials, hosts and failures a call has. */
export const tenantOf = ({ key }: Pick<Run, 'key'>): string => `${key.tenant}/${key.environment}`

/** Or why there is none: the model is told, and nothing has started. */
export async function admitted(
  { bulkheads }: ActParts,
  { run, signal }: Work,
  contract: Contract,
): Promise<Place | Extract<ToolOutcome, { ok: false }>> {
  try {
    return await bulkheads.of(`tool/${contract.name}`, contract.concurrency, tenantOf(run)).enter(signal)
  } catch (error) {
    if (signal.aborted) return refused('not_started')
    return refused(Fault.is(error) ? error.code : 'tool_failed')
  }
}

/** A provider that refuses is there; one that does not answer, or fails in a way that nobody declared, may be down. */
const DOWN: ReadonlySet<string> = new Set(['tool_timeout', 'tool_failed', 'provider_unavailable', 'provider_timeout'])

export function showedByRead(outcome: ToolOutcome): Showed {
  if (outcome.ok) return 'answered'
  if (outcome.error.code === 'canceled' || outcome.error.code === 'not_started') return 'nothing'
  return DOWN.has(outcome.error.code) ? 'failed' : 'answered'
}

export function showedByCommit(outcome: CommitOutcome): Showed {
  if (outcome.kind === 'settled') return showedByRead(outcome.outcome)
  if (outcome.kind === 'later') return 'answered'
  return outcome.because === 'aborted' ? 'nothing' : 'failed'
}
