// Written by `npm run sql` from extract.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface ExtractTurnsParams {
  readonly tenant: string
  readonly session: string
}
export interface ExtractTurnsRow {
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
 * the runs of a conversation that no extraction has read, oldest first, with what its user has said in them
 */
export const extractTurns: Statement<ExtractTurnsParams, ExtractTurnsRow> = {
  name: 'extract_extractTurns_c22c8862',
  text: `select r.id as "run", r.generation as "generation", r.ended_at is not null as "ended", r.agent as "agent", r.user_id as "user",
  r.subject_id as "subject", coalesce(sum(m.tokens), 0)::int8 as "tokens", coalesce(max(m.seq), 0)::int as "last"
from plimsoll.run r left join plimsoll.message m on m.tenant_id = r.tenant_id and m.run_id = r.id and m.role = 'user' and m.visibility = 'user'
where r.tenant_id = $1::text and r.session_id = $2::text and r.generation > coalesce((select max(e.to_generation)
  from plimsoll.errand e where e.tenant_id = $1::text and e.session_id = $2::text and e.kind = 'extract'
    and e.outcome is distinct from 'forgotten'), 0)
group by r.tenant_id, r.id order by r.generation`,
  params: ['tenant', 'session'],
}

export interface ExtractSourceParams {
  readonly tenant: string
  readonly session: string
  readonly from: number
  readonly to: number
  readonly user: string
  readonly subject: string
}
export interface ExtractSourceRow {
  readonly run: string
  readonly seq: number
  readonly body: Uint8Array
  readonly hash: string
}
/**
 * What the user has said themselves in these runs, as far as it is still there. What a memory came from that was forgotten is read no
 * more: a model would say it in other words.
 */
export const extractSource: Statement<ExtractSourceParams, ExtractSourceRow> = {
  name: 'extract_extractSource_504edfb7',
  text: `select m.run_id as run, m.seq, m.body, m.content_hash as hash from plimsoll.run r
join plimsoll.message m on m.tenant_id = r.tenant_id and m.run_id = r.id
where r.tenant_id = $1::text and r.session_id = $2::text and r.generation between $3::int8 and $4::int8
  and m.role = 'user' and m.visibility = 'user' and not m.partial and m.user_id = $5::text and m.subject_id = $6::text
  and not exists (select from plimsoll.tombstone t where t.tenant_id = m.tenant_id and t.kind = 'message' and t.id = m.run_id || '.' || m.seq)
  and not exists (select from plimsoll.memory_source s join plimsoll.memory x on x.tenant_id = s.tenant_id and x.id = s.memory_id
    where s.tenant_id = m.tenant_id and s.kind = 'message' and s.ref = m.run_id || '.' || m.seq and s.role = 'evidence' and x.status = 'deleted')
order by r.generation, m.seq`,
  params: ['tenant', 'session', 'from', 'to', 'user', 'subject'],
}
