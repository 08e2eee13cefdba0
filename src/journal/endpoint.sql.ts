// Written by `npm run sql` from endpoint.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface InsertEndpointParams {
  readonly tenant: string
  readonly environment: string
  readonly id: string
  readonly url: Uint8Array
  readonly secret: Uint8Array
  readonly types: readonly (string | null)[] | null
  readonly most: number
  readonly audit: string
  readonly actor: string
}
export interface InsertEndpointRow {
  readonly id: string
}
export const insertEndpoint: Statement<InsertEndpointParams, InsertEndpointRow> = {
  name: 'endpoint_insertEndpoint_ea79e9cb',
  text: `with made as (
  insert into plimsoll.endpoint (tenant_id, environment, id, url, secret, types)
  select $1::text, $2::text, $3::text, $4::bytea, $5::bytea, $6::text[]
  where (select count(*) from plimsoll.endpoint e where e.tenant_id = $1::text and e.environment = $2::text) < $7::int
  returning id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select $1::text, $2::text, $8::text, 'operator', $9::text, 'endpoint.create', made.id, 'created' from made
)
select id as "id" from made`,
  params: ['tenant', 'environment', 'id', 'url', 'secret', 'types', 'most', 'audit', 'actor'],
}

export interface EndpointsParams {
  readonly tenant: string
  readonly id: string | null
}
export interface EndpointsRow {
  readonly id: string
  readonly url: Uint8Array
  readonly types: string[] | null
  readonly state: string
  readonly reason: string | null
  readonly failures: number
  readonly failingSince: number | null
  readonly previousUntil: number | null
  readonly createdAt: number
  readonly waiting: number
}
export const endpoints: Statement<EndpointsParams, EndpointsRow> = {
  name: 'endpoint_endpoints_a410337f',
  text: `select e.id, e.url, e.types, e.state, e.reason, e.failures, (extract(epoch from e.failing_since) * 1000)::int8 as "failingSince",
  (extract(epoch from e.previous_until) * 1000)::int8 as "previousUntil", (extract(epoch from e.created_at) * 1000)::int8 as "createdAt",
  (select count(*) from plimsoll.delivery d where d.tenant_id = e.tenant_id and d.endpoint_id = e.id and d.due_at < 'infinity') as "waiting"
from plimsoll.endpoint e where e.tenant_id = $1::text and ($2::text is null or e.id = $2::text) order by e.id`,
  params: ['tenant', 'id'],
}

export interface SecretsOfParams {
  readonly tenant: string
  readonly id: string
}
export interface SecretsOfRow {
  readonly url: Uint8Array
  readonly secret: Uint8Array
  readonly previous: Uint8Array | null
}
export const secretsOf: Statement<SecretsOfParams, SecretsOfRow> = {
  name: 'endpoint_secretsOf_966a7ad1',
  text: `select e.url, e.secret, case when e.previous_until > now() then e.previous_secret end as "previous"
from plimsoll.endpoint e where e.tenant_id = $1::text and e.id = $2::text`,
  params: ['tenant', 'id'],
}

export interface RotateSecretParams {
  readonly secret: Uint8Array
  readonly keepMs: number
  readonly tenant: string
  readonly id: string
  readonly environment: string
  readonly audit: string
  readonly actor: string
}
export interface RotateSecretRow {
  readonly until: number
}
export const rotateSecret: Statement<RotateSecretParams, RotateSecretRow> = {
  name: 'endpoint_rotateSecret_7265d409',
  text: `with made as (
  update plimsoll.endpoint e set secret = $1::bytea, previous_secret = e.secret,
    previous_until = now() + $2::int8 * interval '1 millisecond'
  where e.tenant_id = $3::text and e.id = $4::text returning e.id, e.previous_until
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select $3::text, $5::text, $6::text, 'operator', $7::text, 'endpoint.rotate', made.id, 'rotated' from made
)
select (extract(epoch from previous_until) * 1000)::int8 as "until" from made`,
  params: ['secret', 'keepMs', 'tenant', 'id', 'environment', 'audit', 'actor'],
}

export interface SetStateParams {
  readonly state: string
  readonly reason: string | null
  readonly tenant: string
  readonly id: string
  readonly environment: string
  readonly audit: string
  readonly actor: string
}
export interface SetStateRow {
  readonly id: string
}
/**
 * an endpoint that is enabled again goes on where it stopped, at once
 */
export const setState: Statement<SetStateParams, SetStateRow> = {
  name: 'endpoint_setState_cff72572',
  text: `with made as (
  update plimsoll.endpoint e set state = $1::text, reason = $2::text, failures = 0, failing_since = null, retry_at = now()
  where e.tenant_id = $3::text and e.id = $4::text and e.state <> $1::text returning e.id
), awake as (
  update plimsoll.delivery d set due_at = now() from made
  where $1::text = 'enabled' and d.tenant_id = $3::text and d.endpoint_id = made.id and d.due_at < 'infinity'
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
  select $3::text, $5::text, $6::text, 'operator', $7::text, 'endpoint.state', made.id, $1::text, $2::text from made
)
select id as "id" from made`,
  params: ['state', 'reason', 'tenant', 'id', 'environment', 'audit', 'actor'],
}

export interface DeleteEndpointParams {
  readonly tenant: string
  readonly id: string
  readonly environment: string
  readonly audit: string
  readonly actor: string
}
export interface DeleteEndpointRow {
  readonly id: string
}
export const deleteEndpoint: Statement<DeleteEndpointParams, DeleteEndpointRow> = {
  name: 'endpoint_deleteEndpoint_7597d822',
  text: `with gone as (
  delete from plimsoll.endpoint e where e.tenant_id = $1::text and e.id = $2::text returning e.id
), deliveries as (
  delete from plimsoll.delivery d using gone where d.tenant_id = $1::text and d.endpoint_id = gone.id
), attempts as (
  delete from plimsoll.delivery_attempt a using gone where a.tenant_id = $1::text and a.endpoint_id = gone.id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select $1::text, $3::text, $4::text, 'operator', $5::text, 'endpoint.delete', gone.id, 'deleted' from gone
)
select id as "id" from gone`,
  params: ['tenant', 'id', 'environment', 'audit', 'actor'],
}

export interface AttemptsParams {
  readonly tenant: string
  readonly endpoint: string
  readonly limit: number
}
export interface AttemptsRow {
  readonly run: string
  readonly seq: number
  readonly epoch: number
  readonly outcome: string
  readonly status: number | null
  readonly fault: string | null
  readonly millis: number
  readonly at: number
}
export const attempts: Statement<AttemptsParams, AttemptsRow> = {
  name: 'endpoint_attempts_9c181066',
  text: `select a.run_id as run, a.seq, a.epoch, a.outcome, a.status, a.fault, a.millis, (extract(epoch from a.created_at) * 1000)::int8 as "at"
from plimsoll.delivery_attempt a where a.tenant_id = $1::text and a.endpoint_id = $2::text
order by a.created_at desc, a.seq desc limit $3::int`,
  params: ['tenant', 'endpoint', 'limit'],
}

export interface ReplayParams {
  readonly id: string
  readonly tenant: string
  readonly environment: string
  readonly run: string | null
  readonly seq: number
  readonly since: number | null
  readonly audit: string
  readonly actor: string
  readonly reason: string
}
export interface ReplayRow {
  readonly runs: number
}
/**
 * From an event of one run, or from a time in all runs. What is under way under an earlier claim is not marked any more, so
 * that it does not undo this.
 */
export const replay: Statement<ReplayParams, ReplayRow> = {
  name: 'endpoint_replay_2f94bc0d',
  text: `with wanted as (
  select v.run_id, min(v.seq) as first, max(v.seq) as head
  from plimsoll.event v join plimsoll.endpoint e on e.tenant_id = v.tenant_id and e.environment = v.environment and e.id = $1::text
  where v.tenant_id = $2::text and v.environment = $3::text and v.visibility = 'user'
    and (e.types is null or v.type = any (e.types))
    and ($4::text is null or v.run_id = $4::text) and v.seq >= $5::int8
    and ($6::int8 is null or v.created_at >= to_timestamp($6::int8 / 1000.0))
  group by v.run_id
), made as (
  insert into plimsoll.delivery as d (tenant_id, endpoint_id, run_id, environment, sent, head)
  select $2::text, $1::text, w.run_id, $3::text, w.first - 1, w.head from wanted w
  on conflict (tenant_id, endpoint_id, run_id) do update set sent = least(d.sent, excluded.sent), head = greatest(d.head, excluded.head),
    attempt = 0, due_at = now(), worker_id = null, epoch = d.epoch + 1
  returning run_id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, run_id, actor_kind, actor, action, target, outcome, reason)
  select $2::text, $3::text, $7::text, $4::text, 'operator', $8::text, 'endpoint.replay', $1::text,
    (select count(*) from made) || ' runs', $9::text
)
select count(*) as "runs" from made`,
  params: ['id', 'tenant', 'environment', 'run', 'seq', 'since', 'audit', 'actor', 'reason'],
}
