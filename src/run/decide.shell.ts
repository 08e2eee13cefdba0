/**
 * What people do to a run from outside: decide a confirmation, cancel.
 *
 * A2  only these and the loop move a run   J1  nothing that a model holds can decide   J7  cancel stops what has not started
 */
import type { ContentKeys } from '../db/seal.ts'
import type { Clock } from '../kernel/clock.ts'
import { Fault, isUnreachable } from '../kernel/fault.ts'
import type { FaultHook } from '../kernel/faultpoint.ts'
import type { ConfirmationId, Ids, RunId } from '../kernel/ids.ts'
import type { Actor, Scope } from '../kernel/scope.ts'
import type { EffectStore } from '../journal/effect.store.ts'
import type { ConfirmationStore, Decided, Decision } from '../gate/confirmation.store.ts'
import type { ConfirmationView } from '../gate/confirmation.ts'
import { actorOfRun, scopeOf } from '../request/actor.ts'
import { callResourceVersion } from '../tool/gateway.shell.ts'
import type { Agent } from './agent.ts'
import { inputOf } from './calls.shell.ts'
import { step } from './machine.ts'
import type { CancelCause } from './reasons.ts'
import type { Report } from './report.ts'
import type { Egress } from '../tool/egress/egress.shell.ts'
import type { AuditEntry, RunStore } from './run.store.ts'
import { servicesFor, type ToolServices } from './services.shell.ts'
import { withoutDamage } from './damaged.ts'
import { readSnapshot, type SnapshotRows } from './snapshot.ts'
import { isFinal, type Run } from './state.ts'

export interface Deciding {
  readonly runs: RunStore
  readonly confirmations: ConfirmationStore
  readonly effects: EffectStore
  readonly sealer: ContentKeys
  readonly ids: Ids
  readonly clock: Clock
  readonly egress: Egress
  readonly agents: ReadonlyMap<string, Agent>
  readonly services?: ToolServices
  readonly fault: FaultHook
}

export interface DecideRequest {
  readonly confirmation: ConfirmationId
  readonly approve: boolean
  readonly paramsHash: string
  readonly version: number
  readonly reason: string | null
}

const MOST_CONFLICTS = 8

/** @throws Fault 404 not_found · 403 permission_denied · 409 already_decided · 410 confirmation_expired · 412 stale_plan or precondition_failed · 422 params_hash_differs */
export async function decideConfirmation(
  parts: Deciding,
  actor: Actor,
  request: DecideRequest,
): Promise<ConfirmationView> {
  const scope = scopeOf(actor)
  const seen = await parts.confirmations.get(scope, request.confirmation)
  if (!seen || !isVisible(actor, seen)) throw new Fault('not_found')
  // R6: a service key can do much, but consent is the user's own
  if (actor.kind !== 'end_user')
    throw new Fault('permission_denied', 'Only an end user decides a confirmation, with a token of his own.')
  if (!seen.confirmers.includes(actor.user)) throw new Fault('permission_denied')
  if (request.approve && seen.status === 'pending') await checkResource(parts, scope, seen)
  await parts.fault('decide.before')
  const decided = await decideOnce(parts, actor, seen, {
    run: seen.run,
    confirmation: seen.id,
    version: request.version,
    paramsHash: request.paramsHash,
    approve: request.approve,
    // consent keeps for as long as it could have been given: after that it is stale
    executeMs: Math.max(1, seen.expiresAt - seen.createdAt),
    audit: parts.ids.next('aud'),
    reason: request.reason,
  })
  await parts.fault('decide.after')
  if (decided.outcome !== 'decided') throw faultOf(decided)
  const now = await parts.confirmations.get(scope, request.confirmation).catch(() => null)
  return now ?? { ...seen, status: request.approve ? 'approved' : 'rejected' }
}

/** When the reply of the decision is lost, the row says whether it is recorded; whoever pressed twice meant the same. */
async function decideOnce(parts: Deciding, actor: Actor, seen: ConfirmationView, decision: Decision): Promise<Decided> {
  const scope = scopeOf(actor)
  try {
    return await parts.confirmations.decide(scope, actor, decision)
  } catch (error) {
    if (!isUnreachable(error)) throw error
    const now = await parts.confirmations.get(scope, seen.id)
    const wanted = decision.approve ? ['approved', 'consumed'] : ['rejected']
    if (now?.decidedBy !== actor.user || seen.decidedBy !== null || !wanted.includes(now.status)) throw error
    return { outcome: 'decided', status: now.status, version: now.version }
  }
}

/** A stranger to a confirmation learns nothing, not even that it exists. */
export const isVisible = (actor: Actor, seen: ConfirmationView): boolean =>
  actor.kind !== 'end_user' || seen.user === actor.user || seen.confirmers.includes(actor.user)

function faultOf({ outcome, status, version }: Decided): Fault {
  const at = version === null ? {} : { currentVersion: version }
  const current = { facts: at }
  switch (outcome) {
    case 'decided':
    case 'not_found':
      return new Fault('not_found')
    case 'not_permitted':
      return new Fault('permission_denied')
    case 'already_decided': {
      const recorded = status === 'consumed' ? 'approved' : (status ?? 'unknown')
      const started = status === 'consumed' ? ', and the action has started' : ''
      return new Fault('already_decided', `The confirmation was decided before: ${recorded}${started}.`, {
        facts: { outcome: recorded, ...at },
      })
    }
    case 'expired':
      return new Fault('confirmation_expired')
    case 'superseded':
      return new Fault('stale_plan', undefined, current)
    case 'version':
      return new Fault('precondition_failed', undefined, current)
    case 'hash':
      return new Fault('params_hash_differs')
    case 'run_closed':
      return new Fault('refused_transition')
    default:
      return outcome satisfies never
  }
}

/** J12: whoever agrees, agrees to the state that was shown. If the resource moved on, the plan is over for everybody. */
async function checkResource(parts: Deciding, scope: Scope, seen: ConfirmationView): Promise<void> {
  const found = await snapshot(parts, scope, seen.run)
  const call = found?.run.calls.find((c) => c.confirmation?.id === seen.id)
  const contract = call && found?.agent.tools.named(call.tool)
  if (!found || !call || !contract || seen.resourceVersion === null) return
  const cx = {
    actor: actorOfRun(found.run),
    runId: found.run.key.run,
    step: found.run.step,
    position: call.position,
    effectKey: call.key,
    signal: new AbortController().signal,
  }
  const services = await servicesFor(parts, { run: found.run, call, actor: cx.actor, signal: cx.signal }, contract)
  const options = { clock: parts.clock, egress: parts.egress }
  const now =
    typeof services === 'string'
      ? null
      : await callResourceVersion(contract, inputOf(call), cx, { ...options, services })
  if (!now?.ok)
    throw new Fault('model_unavailable', 'The state of the resource cannot be read now; nothing was decided.')
  if (now.version === seen.resourceVersion) return
  await moveIdle(parts, scope, seen.run, () => ({ kind: 'plan_stale', position: call.position })).catch(() => {})
  throw new Fault('stale_plan')
}

/** Cancels a run: at once when nobody drives it, else by a mark that its worker sees before anything else starts. */
export async function cancelRun(
  parts: Deciding,
  actor: Actor,
  run: RunId,
  cause: CancelCause,
  version: number | null,
): Promise<Run> {
  const scope = scopeOf(actor)
  let unheard: Fault | null = null
  for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts++) {
    const found = await snapshot(parts, scope, run, true)
    if (!found || (actor.kind === 'end_user' && found.run.user !== actor.user)) throw new Fault('not_found')
    // our own mark, whose reply was lost, is no conflict
    if (unheard !== null && found.run.cancel) return found.run
    if (version !== null && found.run.version !== version)
      throw new Fault('precondition_failed', undefined, { facts: { currentVersion: found.run.version } })
    if (isFinal(found.run.status))
      throw new Fault('refused_transition', `The run has ended: ${found.run.end}.`, { facts: { run } })
    if (found.run.cancel) return found.run
    if (unheard !== null) throw unheard
    const moved = step(found.run, { kind: 'cancel_requested', cause })
    if ('refused' in moved) throw new Fault('refused_transition')
    await parts.fault('cancel.before')
    try {
      const applied =
        found.run.status === 'running'
          ? await parts.runs.markCanceled(scope, found.run, cause)
          : await parts.runs.commitIdle(scope, found.run, moved)
      await parts.fault('cancel.after')
      if (applied.applied) return { ...moved.run, version: applied.version }
      if (version !== null) throw new Fault('precondition_failed')
    } catch (error) {
      if (!isUnreachable(error)) throw error
      unheard = error
    }
  }
  throw new Fault('conflict')
}

export type Reporter = (run: Run, agent: Agent) => Report | null

/**
 * Moves a run that nobody drives. What is recorded with `audit` by the same person in the same words is not refused but
 * done: the answer to it was lost.
 */
export async function moveIdle(
  parts: Deciding,
  scope: Scope,
  run: RunId,
  report: Reporter,
  audit?: AuditEntry,
): Promise<Run> {
  for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts++) {
    const found = await snapshot(parts, scope, run, true)
    if (!found) throw new Fault('not_found')
    const made = report(found.run, found.agent)
    const moved = made && step(found.run, made)
    if (!moved || 'refused' in moved) {
      if (audit && (await parts.runs.isAudited(scope, run, audit))) return found.run
      throw new Fault('refused_transition', audit && 'What is named here is not unknown, or not any more.')
    }
    if (audit) await parts.fault('resolve.before')
    try {
      const applied = await parts.runs.commitIdle(scope, found.run, moved, audit)
      if (audit) await parts.fault('resolve.after')
      if (applied.applied) return { ...moved.run, version: applied.version }
    } catch (error) {
      // the rows say whether it was stored
      if (!isUnreachable(error)) throw error
    }
  }
  throw new Fault('conflict')
}

/** `despiteDamage`: what cannot be opened is not needed, since the run is only to end or to be told what happened. */
async function snapshot(
  parts: Deciding,
  scope: Scope,
  run: RunId,
  despiteDamage = false,
): Promise<{ readonly run: Run; readonly agent: Agent } | null> {
  const key = { tenant: scope.tenant, environment: scope.environment, run }
  const rows = await parts.runs.load(key)
  if (!rows) return null
  const agent = parts.agents.get(rows.run.agent)
  if (!agent) throw new Fault('not_found', 'This program does not know the agent of the run.')
  const read = (from: SnapshotRows): Run => readSnapshot(from, key, agent, parts.sealer).run
  try {
    return { run: read(rows), agent }
  } catch (error) {
    if (!despiteDamage || !Fault.is(error) || error.code !== 'content_damaged') throw error
    return { run: read(withoutDamage(rows, key, parts.sealer)), agent }
  }
}
