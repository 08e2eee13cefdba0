/** COMMIT S as `plimsoll.start` does it, and what is asked of the journal. */
import { effectsOfRun, repeats, start, unknownEffects } from '../../journal/effect.sql.ts'
import type { ConfirmationRow, EffectRow, RunRow } from './rows.ts'
import type { Tables } from './tables.ts'
import { batchOf, evidence, type Guards, named, on, passes, seen, type Verbs } from './verb.ts'

export interface Starting {
  readonly tenant: string
  readonly environment: string
  readonly run: string
  readonly epoch: number | null
  readonly version: number
  readonly step: number
  readonly position: number
  readonly arguments_hash: string
  readonly confirmation: string | null
  readonly resource_version: string | null
  readonly again: boolean
  readonly event: string
}

export interface Started {
  readonly run: RunRow
  readonly sent: Starting
  readonly worker: string
  readonly now: number
  readonly leaseUntil: number
  readonly effect: EffectRow | undefined
  readonly confirmation: ConfirmationRow | undefined
}

/** The WHERE of the UPDATE, condition by condition. */
export const START: Guards<readonly [Started]> = {
  version: ({ run, sent }) => run.version === sent.version,
  status: ({ run }) => run.status === 'running',
  worker: ({ run, worker }) => run.worker_id === worker,
  epoch: ({ run, sent }) => run.epoch === sent.epoch,
  cancel: ({ run }) => run.cancel_cause === null,
  deadline: ({ run, now }) => run.deadline_at > now,
  lease: ({ leaseUntil, now }) => leaseUntil > now,
  hash: ({ effect, sent }) => effect?.arguments_hash === sent.arguments_hash,
  consent: (s) => isRepeat(s) || (s.effect?.status === 'intended' && (s.effect.approval === 'auto' || isApproved(s))),
}

const isRepeat = ({ effect, sent }: Started): boolean =>
  sent.again && (effect?.status === 'started' || effect?.status === 'unknown')

function isApproved({ confirmation: c, sent, now }: Started): boolean {
  return (
    c?.step === sent.step &&
    c.position === sent.position &&
    c.status === 'approved' &&
    c.execute_by !== null &&
    c.execute_by > now &&
    c.params_hash === sent.arguments_hash &&
    c.resource_version === sent.resource_version
  )
}

export function addEffects(verbs: Verbs, guards: typeof START): void {
  on(verbs, start, (tables, { starts, keys, worker }) => {
    const known = evidence(keys)
    return batchOf<Starting>(starts, (t) => `${t.tenant} ${t.run}`).map(({ row: sent, n }) => {
      const found = tables.run.get(`${sent.tenant}/${sent.run}`)
      const run = found?.environment === sent.environment && named(known, found, found.id) ? found : undefined
      if (!run) return { n, outcome: 'lease_lost', version: null }
      const s = facts(tables, run, sent, worker)
      if (passes(guards, s)) return { n, outcome: 'started', version: begin(tables, s) }
      return { n, outcome: whyNot(s), version: run.version }
    })
  })
  on(verbs, repeats, (tables, { session, argumentsHash, key }, walls) =>
    [...tables.effect.all()]
      .filter(
        (e) =>
          seen(walls, e) &&
          e.session_id === session &&
          e.level === 'irreversible' &&
          e.arguments_hash === argumentsHash &&
          e.status !== 'intended' &&
          e.outcome !== 'error' &&
          e.idempotency_key !== key,
      )
      .sort((a, b) => b.created_at - a.created_at)
      .slice(0, 1)
      .map((e) => ({ key: e.idempotency_key })),
  )
  on(verbs, unknownEffects, (tables, { limit }, walls) =>
    [...tables.effect.all()]
      .filter((e) => seen(walls, e) && e.status === 'unknown')
      .sort((a, b) => (a.started_at ?? 0) - (b.started_at ?? 0))
      .slice(0, limit)
      .map((e) => ({ run: e.run_id, ...placeOf(e), startedAt: e.started_at })),
  )
  on(verbs, effectsOfRun, (tables, { tenant, run }, walls) =>
    tables.effect
      .of(`${tenant}/${run}`)
      .filter((e) => seen(walls, e))
      .sort((a, b) => a.step - b.step || a.position - b.position)
      .map((e) => ({
        ...placeOf(e),
        level: e.level,
        approval: e.approval,
        status: e.status,
        outcome: e.outcome,
        errorCode: e.error_code,
      })),
  )
}

const placeOf = (e: EffectRow) => ({
  step: e.step,
  position: e.position,
  tool: e.tool,
  toolVersion: e.tool_version,
  key: e.idempotency_key,
  argumentsHash: e.arguments_hash,
  attempt: e.attempt,
})

function facts(tables: Tables, run: RunRow, sent: Starting, worker: string): Started {
  const asked = sent.confirmation === null ? undefined : tables.confirmation.get(`${sent.tenant}/${sent.confirmation}`)
  return {
    run,
    sent,
    worker,
    now: tables.now(),
    leaseUntil: tables.worker.get(worker)?.lease_until ?? Number.NEGATIVE_INFINITY,
    effect: tables.effect.get(`${sent.tenant}/${sent.run}/${sent.step}/${sent.position}`),
    confirmation: asked?.run_id === sent.run ? asked : undefined,
  }
}

function begin(tables: Tables, { run, sent, effect, confirmation, now }: Started): number {
  tables.run.change(run, {
    version: run.version + 1,
    commits: run.commits + 1,
    event_seq: run.event_seq + 1,
    phase: 'tool_running',
    progress_at: now,
  })
  if (effect)
    tables.effect.change(effect, { status: 'started', started_at: now, attempt: effect.attempt + 1, again: false })
  if (confirmation?.status === 'approved')
    tables.confirmation.change(confirmation, {
      status: 'consumed',
      consumed_at: now,
      version: confirmation.version + 1,
    })
  const { tenant_id, environment } = run
  const told = {
    tenant_id,
    environment,
    run_id: run.id,
    seq: run.event_seq,
    type: 'effect_started',
    visibility: 'user',
  }
  tables.event.insert(tables.rowOf('event', { ...told, body: sent.event }))
  return run.version
}

function whyNot({ run, sent, worker, now, leaseUntil, confirmation }: Started): string {
  const lost = run.status !== 'running' || run.worker_id !== worker || run.epoch !== sent.epoch || leaseUntil <= now
  if (lost) return 'lease_lost'
  if (run.cancel_cause !== null) return 'canceled'
  if (run.deadline_at <= now) return 'deadline'
  if (run.version !== sent.version) return 'conflict'
  const late = confirmation?.status === 'approved' && (confirmation.execute_by ?? Number.POSITIVE_INFINITY) <= now
  return late ? 'expired' : 'not_approved'
}
