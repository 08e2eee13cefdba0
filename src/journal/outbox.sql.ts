// Written by `npm run sql` from outbox.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface LookParams {
  readonly sinks: readonly (string | null)[]
  readonly everyMs: number
  readonly backMs: number
}
export interface LookRow {
  readonly served: number
}
export const look: Statement<LookParams, LookRow> = {
  name: 'outbox_look_ad74ddc4',
  text: `select plimsoll.outbox_look($1::text[], $2::int8, $3::int8) as "served"`,
  params: ['sinks', 'everyMs', 'backMs'],
}

export interface ClaimParams {
  readonly worker: string
  readonly sinks: readonly (string | null)[]
  readonly limit: number
  readonly each: number
  readonly held: readonly (string | null)[]
}
export interface ClaimRow {
  readonly tenant: string
  readonly environment: string
  readonly endpoint: string
  readonly run: string
  readonly epoch: number
}
export const claim: Statement<ClaimParams, ClaimRow> = {
  name: 'outbox_claim_e6c4a665',
  text: `select tenant as "tenant", environment as "environment", endpoint as "endpoint", run as "run", epoch as "epoch"
from plimsoll.outbox_take($1::text, $2::text[], $3::int, $4::int, $5::text[])`,
  params: ['worker', 'sinks', 'limit', 'each', 'held'],
}

export interface ParcelParams {
  readonly limit: number
  readonly tenant: string
  readonly endpoint: string
  readonly run: string
  readonly epoch: number
}
export interface ParcelRow {
  readonly head: number
  readonly attempt: number
  readonly url: Uint8Array | null
  readonly secret: Uint8Array | null
  readonly previous: Uint8Array | null
  readonly failures: number
  readonly seq: number | null
  readonly type: string | null
  readonly body: Uint8Array | null
  readonly session: string | null
  readonly at: number | null
}
/**
 * What a claim has to send, in order; one row without an event when there is nothing. No row: the claim is another's now.
 */
export const parcel: Statement<ParcelParams, ParcelRow> = {
  name: 'outbox_parcel_6dfafada',
  text: `select d.head as "head", d.attempt as "attempt", e.url as "url", e.secret as "secret",
  case when e.previous_until > now() then e.previous_secret end as "previous", coalesce(e.failures, 0) as "failures",
  v.seq as "seq", v.type as "type", v.body as "body", v.session_id as "session", v.at as "at"
from plimsoll.delivery d
left join plimsoll.endpoint e on e.tenant_id = d.tenant_id and e.id = d.endpoint_id
left join lateral (
  select v.seq, v.type, v.body, r.session_id, (extract(epoch from v.created_at) * 1000)::int8 as at
  from plimsoll.event v join plimsoll.run r on r.tenant_id = v.tenant_id and r.id = v.run_id
  where v.tenant_id = d.tenant_id and v.run_id = d.run_id and v.seq > d.sent and v.seq <= d.head and v.visibility = 'user'
    and (e.types is null or v.type = any (e.types))
  order by v.seq limit $1::int) v on true
where d.tenant_id = $2::text and d.endpoint_id = $3::text and d.run_id = $4::text and d.epoch = $5::int8
order by v.seq`,
  params: ['limit', 'tenant', 'endpoint', 'run', 'epoch'],
}

export interface SentParams {
  readonly seq: number
  readonly tenant: string
  readonly endpoint: string
  readonly run: string
  readonly epoch: number
  readonly status: number | null
  readonly millis: number
}
export interface SentRow {
  readonly marked: number
}
/**
 * the epoch is that of the claim: who was taken over says nothing any more
 */
export const sent: Statement<SentParams, SentRow> = {
  name: 'outbox_sent_7aa58ccb',
  text: `with marked as (
  update plimsoll.delivery d set sent = $1::int8, attempt = 0, due_at = case when d.head > $1::int8 then now() else 'infinity' end
  where d.tenant_id = $2::text and d.endpoint_id = $3::text and d.run_id = $4::text and d.epoch = $5::int8
  returning d.tenant_id, d.endpoint_id, d.run_id, d.environment, d.epoch
), told as (
  insert into plimsoll.delivery_attempt (tenant_id, endpoint_id, run_id, seq, epoch, environment, outcome, status, millis)
  select m.tenant_id, m.endpoint_id, m.run_id, $1::int8, m.epoch, m.environment, 'delivered', $6::int, $7::int from marked m
  on conflict do nothing
), healed as (
  update plimsoll.endpoint e set failures = 0, failing_since = null, retry_at = now() from marked m
  where e.tenant_id = m.tenant_id and e.id = m.endpoint_id and e.failures > 0
)
select 1 as "marked" from marked`,
  params: ['seq', 'tenant', 'endpoint', 'run', 'epoch', 'status', 'millis'],
}

export interface FailedParams {
  readonly giveUp: boolean
  readonly seq: number
  readonly delayMs: number
  readonly tenant: string
  readonly endpoint: string
  readonly run: string
  readonly epoch: number
  readonly status: number | null
  readonly fault: string
  readonly millis: number
  readonly pauseMs: number
  readonly gone: boolean
  readonly most: number
  readonly overMs: number
  readonly blame: boolean
  readonly audit: string
}
export interface FailedRow {
  readonly marked: number
}
/**
 * `giveUp`: what is up to `seq` is left behind, and the run goes on with what comes after it. `blame`: the endpoint has failed
 */
export const failed: Statement<FailedParams, FailedRow> = {
  name: 'outbox_failed_2087c973',
  text: `with marked as (
  update plimsoll.delivery d set worker_id = null,
    sent = case when $1::boolean then $2::int8 else d.sent end,
    attempt = case when $1::boolean then 0 else d.attempt + 1 end,
    due_at = case when not $1::boolean then now() + $3::int8 * interval '1 millisecond'
                  when d.head > $2::int8 then now() else 'infinity' end
  where d.tenant_id = $4::text and d.endpoint_id = $5::text and d.run_id = $6::text and d.epoch = $7::int8
  returning d.tenant_id, d.endpoint_id, d.run_id, d.environment, d.epoch
), told as (
  insert into plimsoll.delivery_attempt (tenant_id, endpoint_id, run_id, seq, epoch, environment, outcome, status, fault, millis)
  select m.tenant_id, m.endpoint_id, m.run_id, $2::int8, m.epoch, m.environment,
    case when $1::boolean then 'given_up' else 'failed' end, $8::int, $9::text, $10::int from marked m
  on conflict do nothing
), counted as (
  update plimsoll.endpoint e set failures = e.failures + 1, failing_since = coalesce(e.failing_since, now()),
    retry_at = greatest(e.retry_at, now() + $11::int8 * interval '1 millisecond'),
    state = case when x.ends is null then e.state else 'disabled' end, reason = coalesce(x.ends, e.reason)
  from marked m, lateral (
    select case when $12::boolean then 'gone'
                when f.failures + 1 >= $13::int and f.failing_since < now() - $14::int8 * interval '1 millisecond' then 'failing' end as ends
    from plimsoll.endpoint f where f.tenant_id = m.tenant_id and f.id = m.endpoint_id) x
  where e.tenant_id = m.tenant_id and e.id = m.endpoint_id and e.state = 'enabled' and $15::boolean
  returning e.tenant_id, e.environment, e.id, x.ends
), audited as (
  insert into plimsoll.audit (tenant_id, id, environment, actor_kind, actor, action, target, outcome, reason)
  select c.tenant_id, $16::text, c.environment, 'system', 'relay', 'endpoint.disable', c.id, 'disabled', c.ends
  from counted c where c.ends is not null
)
select 1 as "marked" from marked`,
  params: ['giveUp', 'seq', 'delayMs', 'tenant', 'endpoint', 'run', 'epoch', 'status', 'fault', 'millis', 'pauseMs', 'gone', 'most', 'overMs', 'blame', 'audit'],
}

export interface ReleasedParams {
  readonly head: number | null
  readonly tenant: string
  readonly endpoint: string
  readonly run: string
  readonly epoch: number
}
/**
 * `head`: nothing up to there is for this endpoint any more; null leaves the place as it is
 */
export const released: Statement<ReleasedParams, never> = {
  name: 'outbox_released_266ab253',
  text: `update plimsoll.delivery d set worker_id = null,
  sent = greatest(d.sent, coalesce($1::int8, d.sent)),
  due_at = case when $1::int8 is null then d.due_at when d.head > $1::int8 then now() else 'infinity' end
where d.tenant_id = $2::text and d.endpoint_id = $3::text and d.run_id = $4::text and d.epoch = $5::int8`,
  params: ['head', 'tenant', 'endpoint', 'run', 'epoch'],
}

export interface PutOffParams {
  readonly delayMs: number
  readonly tenant: string
  readonly endpoint: string
  readonly run: string
  readonly epoch: number
}
/**
 * of what cannot be read nothing is known, and nothing is counted
 */
export const putOff: Statement<PutOffParams, never> = {
  name: 'outbox_putOff_247349ce',
  text: `update plimsoll.delivery d set worker_id = null, due_at = now() + $1::int8 * interval '1 millisecond'
where d.tenant_id = $2::text and d.endpoint_id = $3::text and d.run_id = $4::text and d.epoch = $5::int8`,
  params: ['delayMs', 'tenant', 'endpoint', 'run', 'epoch'],
}
