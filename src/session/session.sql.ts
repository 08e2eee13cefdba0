// Written by `npm run sql` from session.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface SessionDetailParams {
  readonly tenant: string
  readonly session: string
  readonly user: string
}
export interface SessionDetailRow {
  readonly id: string
  readonly agent: string
  readonly user: string
  readonly subject: string
  readonly version: number
  readonly generation: number
  readonly closedAt: number | null
  readonly createdAt: number
  readonly active: unknown
  readonly head: string | null
}
export const sessionDetail: Statement<SessionDetailParams, SessionDetailRow> = {
  name: 'session_sessionDetail_a5304640',
  text: `select s.id, s.agent, s.user_id as "user", s.subject_id as subject, s.version, s.generation,
  (extract(epoch from s.closed_at) * 1000)::int8 as "closedAt", (extract(epoch from s.created_at) * 1000)::int8 as "createdAt",
  coalesce((select jsonb_agg(jsonb_build_object('run', r.id, 'status', r.status, 'phase', r.phase, 'wait', r.wait_reason) order by r.generation)
    from plimsoll.run r where r.tenant_id = s.tenant_id and r.session_id = s.id
      and r.status in ('queued', 'running', 'waiting_confirmation')), '[]') as "active",
  (select m.run_id || '.' || m.seq from plimsoll.run r join plimsoll.message m on m.tenant_id = r.tenant_id and m.run_id = r.id
    where r.tenant_id = s.tenant_id and r.session_id = s.id and m.visibility = 'user'
    order by r.generation desc, m.seq desc limit 1) as "head"
from plimsoll.session s
where s.tenant_id = $1::text and s.id = $2::text and ($3::text = '' or (s.user_id = $3::text and strpos(s.agent, '/') = 0))`,
  params: ['tenant', 'session', 'user'],
}

export interface SessionListParams {
  readonly tenant: string
  readonly user: string
  readonly agent: string
  readonly after: string
  readonly limit: number
}
export interface SessionListRow {
  readonly id: string
  readonly agent: string
  readonly user: string
  readonly subject: string
  readonly version: number
  readonly generation: number
  readonly closedAt: number | null
  readonly createdAt: number
  readonly active: unknown
}
/**
 * newest first: the time stands at the front of an id
 */
export const sessionList: Statement<SessionListParams, SessionListRow> = {
  name: 'session_sessionList_191103ce',
  text: `select s.id, s.agent, s.user_id as "user", s.subject_id as subject, s.version, s.generation,
  (extract(epoch from s.closed_at) * 1000)::int8 as "closedAt", (extract(epoch from s.created_at) * 1000)::int8 as "createdAt",
  coalesce((select jsonb_agg(jsonb_build_object('run', r.id, 'status', r.status, 'phase', r.phase, 'wait', r.wait_reason) order by r.generation)
    from plimsoll.run r where r.tenant_id = s.tenant_id and r.session_id = s.id
      and r.status in ('queued', 'running', 'waiting_confirmation')), '[]') as "active"
from plimsoll.session s
where s.tenant_id = $1::text and ($2::text = '' or (s.user_id = $2::text and strpos(s.agent, '/') = 0)) and ($3::text = '' or s.agent = $3::text)
  and ($4::text = '' or s.id < $4::text)
order by s.id desc limit $5::int`,
  params: ['tenant', 'user', 'agent', 'after', 'limit'],
}

export interface SessionMessagesParams {
  readonly tenant: string
  readonly session: string
  readonly generation: number
  readonly seq: number
  readonly limit: number
}
export interface SessionMessagesRow {
  readonly run: string
  readonly seq: number
  readonly generation: number
  readonly role: string
  readonly body: Uint8Array
  readonly hash: string
  readonly partial: boolean
  readonly parent: string | null
  readonly at: number
}
/**
 * what people see of the conversation, oldest first; the parent of an answer is the visible message before it in its run
 */
export const sessionMessages: Statement<SessionMessagesParams, SessionMessagesRow> = {
  name: 'session_sessionMessages_79dab8db',
  text: `select v.run as "run", v.seq as "seq", v.generation as "generation", v.role as "role", v.body as "body", v.hash as "hash",
  v.partial as "partial", v.parent as "parent", v.at as "at"
from (
  select m.run_id as run, m.seq, r.generation, m.role, m.body, m.content_hash as hash, m.partial,
    coalesce(m.parent_message, m.run_id || '.' || lag(m.seq) over (partition by m.run_id order by m.seq)) as parent,
    (extract(epoch from m.created_at) * 1000)::int8 as at
  from plimsoll.run r join plimsoll.message m on m.tenant_id = r.tenant_id and m.run_id = r.id
  where r.tenant_id = $1::text and r.session_id = $2::text and m.visibility = 'user'
) v
where v.generation > $3::int8 or (v.generation = $3::int8 and v.seq > $4::int)
order by v.generation, v.seq limit $5::int`,
  params: ['tenant', 'session', 'generation', 'seq', 'limit'],
}

export interface CloseSessionParams {
  readonly sessions: string
  readonly keys: readonly (string | null)[]
}
export interface CloseSessionRow {
  readonly n: number
  readonly version: number
}
export const closeSession: Statement<CloseSessionParams, CloseSessionRow> = {
  name: 'session_closeSession_5519e7a7',
  text: `select n as "n", version as "version" from plimsoll.close_session($1::jsonb, $2::text[])`,
  params: ['sessions', 'keys'],
}
