// Written by `npm run sql` from summary.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface SummaryTurnsParams {
  readonly tenant: string
  readonly session: string
}
export interface SummaryTurnsRow {
  readonly run: string
  readonly generation: number
  readonly ended: boolean
  readonly agent: string
  readonly user: string
  readonly subject: string
  readonly tokens: number
  readonly last: number
}
/**
 * the runs of a conversation, oldest first, with the tokens of what was said in them
 */
export const summaryTurns: Statement<SummaryTurnsParams, SummaryTurnsRow> = {
  name: 'summary_summaryTurns_b60f4391',
  text: `select r.id as "run", r.generation as "generation", r.ended_at is not null as "ended", r.agent as "agent", r.user_id as "user", r.subject_id as "subject",
  coalesce(sum(m.tokens), 0)::int8 as "tokens", coalesce(max(m.seq), 0)::int as "last"
from plimsoll.run r left join plimsoll.message m on m.tenant_id = r.tenant_id and m.run_id = r.id
where r.tenant_id = $1::text and r.session_id = $2::text
group by r.tenant_id, r.id order by r.generation`,
  params: ['tenant', 'session'],
}

export interface SummariesOfParams {
  readonly tenant: string
  readonly session: string
}
export interface SummariesOfRow {
  readonly id: string
  readonly from: number
  readonly to: number
  readonly state: string
}
export const summariesOf: Statement<SummariesOfParams, SummariesOfRow> = {
  name: 'summary_summariesOf_70010c5b',
  text: `select s.id, s.from_generation as "from", s.to_generation as "to", s.state
from plimsoll.summary s where s.tenant_id = $1::text and s.session_id = $2::text order by s.from_generation, s.id`,
  params: ['tenant', 'session'],
}

export interface SummarySourceParams {
  readonly tenant: string
  readonly session: string
  readonly from: number
  readonly to: number
}
export interface SummarySourceRow {
  readonly run: string
  readonly seq: number
  readonly role: string
  readonly body: Uint8Array
  readonly hash: string
  readonly partial: boolean
}
/**
 * the messages of a range, as they were said
 */
export const summarySource: Statement<SummarySourceParams, SummarySourceRow> = {
  name: 'summary_summarySource_fb23be4a',
  text: `select m.run_id as run, m.seq, m.role, m.body, m.content_hash as hash, m.partial from plimsoll.run r
join plimsoll.message m on m.tenant_id = r.tenant_id and m.run_id = r.id
where r.tenant_id = $1::text and r.session_id = $2::text and r.generation between $3::int8 and $4::int8
order by r.generation, m.seq`,
  params: ['tenant', 'session', 'from', 'to'],
}

export interface SummaryActionsParams {
  readonly tenant: string
  readonly session: string
  readonly from: number
  readonly to: number
}
export interface SummaryActionsRow {
  readonly run: string
  readonly tool: string
  readonly status: string
  readonly outcome: string | null
  readonly confirmation: string | null
  readonly decision: string | null
}
/**
 * what was done, and what people decided about it: from the journal, never from what was said
 */
export const summaryActions: Statement<SummaryActionsParams, SummaryActionsRow> = {
  name: 'summary_summaryActions_445556cc',
  text: `select e.run_id as "run", e.tool as "tool", e.status as "status", e.outcome as "outcome", c.id as "confirmation", c.status as "decision"
from plimsoll.run r join plimsoll.effect e on e.tenant_id = r.tenant_id and e.run_id = r.id
left join lateral (select x.id, x.status from plimsoll.confirmation x where x.tenant_id = e.tenant_id and x.run_id = e.run_id
  and x.step = e.step and x.position = e.position order by x.created_at desc, x.id desc limit 1) c on true
where r.tenant_id = $1::text and r.session_id = $2::text and r.generation between $3::int8 and $4::int8
  and (e.level <> 'read' or c.id is not null)
order by r.generation, e.step, e.position`,
  params: ['tenant', 'session', 'from', 'to'],
}

export interface WriteSummaryParams {
  readonly tenant: string
  readonly environment: string
  readonly id: string
  readonly fromMessage: string
  readonly model: string
  readonly prompt: number
  readonly state: string
  readonly reason: string | null
  readonly body: Uint8Array
}
export interface WriteSummaryRow {
  readonly id: string
}
/**
 * written while its errand is under way, or never: who forgets ends the errand first
 */
export const writeSummary: Statement<WriteSummaryParams, WriteSummaryRow> = {
  name: 'summary_writeSummary_e6205a88',
  text: `with held as (
  select e.* from plimsoll.errand e
  where e.tenant_id = $1::text and e.environment = $2::text and e.id = $3::text and e.state = 'running' for update
)
insert into plimsoll.summary (tenant_id, environment, id, session_id, user_id, subject_id, agent, from_generation, to_generation, from_message,
  to_message, model, prompt, state, reason, body)
select held.tenant_id, held.environment, held.id, held.session_id, held.user_id, held.subject_id, held.agent, held.from_generation,
  held.to_generation, $4::text, held.upto, $5::text, $6::int, $7::text, $8::text, $9::bytea
from held on conflict do nothing
returning id`,
  params: ['tenant', 'environment', 'id', 'fromMessage', 'model', 'prompt', 'state', 'reason', 'body'],
}

export interface SummaryAtParams {
  readonly tenant: string
  readonly session: string
  readonly from: number
  readonly to: number
}
export interface SummaryAtRow {
  readonly id: string
  readonly state: string
  readonly body: Uint8Array
  readonly from: number
  readonly to: number
}
export const summaryAt: Statement<SummaryAtParams, SummaryAtRow> = {
  name: 'summary_summaryAt_20409652',
  text: `select s.id, s.state, s.body, s.from_generation as "from", s.to_generation as "to" from plimsoll.summary s
where s.tenant_id = $1::text and s.session_id = $2::text and s.from_generation = $3::int8 and s.to_generation = $4::int8
  and s.state = 'verified' order by s.id desc limit 1`,
  params: ['tenant', 'session', 'from', 'to'],
}

export interface NoteRecheckParams {
  readonly reason: string | null
  readonly tenant: string
  readonly id: string
}
/**
 * what does not hold is used no more
 */
export const noteRecheck: Statement<NoteRecheckParams, never> = {
  name: 'summary_noteRecheck_ab112000',
  text: `update plimsoll.summary s set rechecked_at = now(), recheck_reason = $1::text,
  state = case when $1::text is null then s.state else 'stale' end,
  reason = case when $1::text is null then s.reason else 'recheck' end,
  body = case when $1::text is null then s.body else ''::bytea end
where s.tenant_id = $2::text and s.id = $3::text and s.state = 'verified'`,
  params: ['reason', 'tenant', 'id'],
}

export interface StaleSummariesParams {
  readonly tenant: string
  readonly environment: string
  readonly sessions: readonly (string | null)[]
  readonly runs: readonly (string | null)[]
}
export interface StaleSummariesRow {
  readonly id: string
  readonly session: string
}
/**
 * Every summary that covers one of the runs, or belongs to one of the conversations. Its words go with it: they were drawn from
 * what is gone, and it is made again from what is left.
 */
export const staleSummaries: Statement<StaleSummariesParams, StaleSummariesRow> = {
  name: 'summary_staleSummaries_d89ebdc7',
  text: `update plimsoll.summary s set state = 'stale', reason = 'forgotten', body = ''::bytea
where s.tenant_id = $1::text and s.environment = $2::text and s.state = 'verified'
  and (s.session_id = any ($3::text[]) or exists (select from unnest($4::text[]) x join plimsoll.run r on r.tenant_id = s.tenant_id
    and r.id = x where r.session_id = s.session_id and r.generation between s.from_generation and s.to_generation))
returning s.id, s.session_id as session`,
  params: ['tenant', 'environment', 'sessions', 'runs'],
}

export interface RunsOfSourcesParams {
  readonly tenant: string
  readonly environment: string
  readonly memories: readonly (string | null)[]
}
export interface RunsOfSourcesRow {
  readonly run: string
}
/**
 * where the memories came from that are gone
 */
export const runsOfSources: Statement<RunsOfSourcesParams, RunsOfSourcesRow> = {
  name: 'summary_runsOfSources_879b83b2',
  text: `select distinct coalesce(s.run_id, split_part(s.ref, '.', 1)) as "run" from plimsoll.memory_source s
where s.tenant_id = $1::text and s.environment = $2::text and s.memory_id = any ($3::text[])
  and s.kind in ('message', 'call')`,
  params: ['tenant', 'environment', 'memories'],
}

export interface ResidueSummariesParams {
  readonly tenant: string
  readonly environment: string
}
export interface ResidueSummariesRow {
  readonly message: string
}
/**
 * those that still stand for what has a tombstone and was made before it, and for runs of which nothing is left
 */
export const residueSummaries: Statement<ResidueSummariesParams, ResidueSummariesRow> = {
  name: 'summary_residueSummaries_bcdffc0d',
  text: `select r.id || '.1' as "message" from plimsoll.summary s
join plimsoll.run r on r.tenant_id = s.tenant_id and r.session_id = s.session_id and r.generation between s.from_generation and s.to_generation
where s.tenant_id = $1::text and s.environment = $2::text and s.state = 'verified' and r.ended_at is not null
  and not exists (select from plimsoll.message m where m.tenant_id = r.tenant_id and m.run_id = r.id)
union
select t.id as "message" from plimsoll.tombstone t join plimsoll.run r on r.tenant_id = t.tenant_id and r.id = split_part(t.id, '.', 1)
join plimsoll.summary s on s.tenant_id = t.tenant_id and s.session_id = r.session_id and r.generation between s.from_generation and s.to_generation
where t.tenant_id = $1::text and t.environment = $2::text and t.kind = 'message' and s.state = 'verified'
  and s.created_at < t.created_at`,
  params: ['tenant', 'environment'],
}

export interface SummaryReportParams {
  readonly tenant: string
}
export interface SummaryReportRow {
  readonly model: string
  readonly prompt: number
  readonly made: number
  readonly verified: number
  readonly rechecked: number
  readonly failed: number
  readonly rejected: unknown
}
export const summaryReport: Statement<SummaryReportParams, SummaryReportRow> = {
  name: 'summary_summaryReport_2640808f',
  text: `select s.model, s.prompt, count(*)::int8 as "made", (count(*) filter (where s.reason is null or s.state = 'stale'))::int8 as "verified",
  (count(*) filter (where s.rechecked_at is not null))::int8 as "rechecked",
  (count(*) filter (where s.recheck_reason is not null))::int8 as "failed",
  coalesce((select jsonb_object_agg(x.reason, x.n) from (select r.reason, count(*) as n from plimsoll.summary r
    where r.tenant_id = $1::text and r.model = s.model and r.prompt = s.prompt and r.state = 'rejected' group by r.reason) x), '{}') as "rejected"
from plimsoll.summary s where s.tenant_id = $1::text group by s.model, s.prompt order by s.model, s.prompt`,
  params: ['tenant'],
}
