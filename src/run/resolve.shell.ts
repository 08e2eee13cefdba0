/**
 * An operator's word on an effect of which nobody knows whether it happened. Who said it, and why, is recorded with it.
 *
 * J4  nothing but this moves it
 */
import { Fault } from '../kernel/fault.ts'
import type { RunId } from '../kernel/ids.ts'
import type { Actor } from '../kernel/scope.ts'
import { scopeOf } from '../request/actor.ts'
import { boundEffect } from '../tool/outcome.ts'
import type { Agent } from './agent.ts'
import { type Deciding, moveIdle } from './decide.shell.ts'
import type { Report } from './report.ts'
import type { AuditEntry } from './run.store.ts'
import { refused } from './said.ts'
import type { Run } from './state.ts'

export interface EffectPlace {
  readonly run: RunId
  readonly step: number
  readonly position: number
}

/**
 * `happened`: the model reads `result`. `did_not_happen`: the model is told that the call was not started. `retry`: it is
 * sent once more under the same key, unless the tool answers later without removing doubles by it. `leave`: nobody will find out; the run ends as `unknown_effect`, and the effect
 * stays on record as unknown. `reason` says how one knows.
 */
export type Resolution = { readonly reason: string } & (
  | { readonly outcome: 'happened'; readonly result: unknown }
  | { readonly outcome: 'did_not_happen' | 'retry' | 'leave' }
)

/** @throws Fault 403 permission_denied · 404 not_found · 409 refused_transition when it is not unknown (any more) */
export function resolveEffect(parts: Deciding, actor: Actor, at: EffectPlace, said: Resolution): Promise<Run> {
  if (actor.kind !== 'operator') throw new Fault('permission_denied')
  const audit: AuditEntry = {
    id: parts.ids.next('aud'),
    actor_kind: actor.kind,
    actor: actor.user,
    action: 'effect.resolve',
    target: `${at.run}/${at.step}/${at.position}`,
    outcome: said.outcome,
    reason: said.reason,
  }
  return moveIdle(parts, scopeOf(actor), at.run, (run, agent) => reportOf(run, agent, at, said), audit)
}

function reportOf(run: Run, agent: Agent, { step, position }: EffectPlace, said: Resolution): Report | null {
  const call = run.step === step ? run.calls.find((c) => c.position === position) : undefined
  const contract = call && agent.tools.named(call.tool)
  switch (said.outcome) {
    case 'happened':
      return contract ? { kind: 'unknown_resolved', position, outcome: boundEffect(contract, said.result) } : null
    case 'did_not_happen':
      return { kind: 'unknown_resolved', position, outcome: refused('not_started') }
    case 'retry':
      if (call?.status === 'unknown' && contract?.version !== call.toolVersion)
        throw new Fault(
          'refused_transition',
          'The agent has this version of the tool no more: nothing can be sent again.',
        )
      // what was told of the first request would be heard as the outcome of the second
      if (contract?.implementation.resume && contract.unknown !== 'key')
        throw new Fault('refused_transition', 'This tool answers later and does not remove doubles by the key.')
      return { kind: 'unknown_retried', position }
    case 'leave':
      return { kind: 'unknown_left', position }
    default:
      return said satisfies never
  }
}
