// Written by `npm run sql` from event.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface TailParams {
  readonly tenant: string
  readonly run: string
  readonly after: number
  readonly visible: readonly (string | null)[]
  readonly limit: number
  readonly piece: number
}
export interface TailRow {
  readonly sort: number
  readonly kind: string
  readonly seq: number
  readonly step: number
  readonly attempt: number
  readonly type: string
  readonly body: Uint8Array | null
  readonly at: number
}
/**
 * What a stream has not sent yet, of one instant: durable events, then pieces of the answer in progress, then one row that
 * says how far the run is. A piece counts only while its attempt is the one that may speak (A4).
 */
export const tail: Statement<TailParams, TailRow> = {
  name: 'event_tail_308755e6',
  text: `with told as (
  select e.seq, e.type, e.body, (extract(epoch from e.created_at) * 1000)::int8 as at from plimsoll.event e
  where e.tenant_id = $1::text and e.run_id = $2::text and e.seq > $3::int8 and e.visibility = any ($4::text[])
  order by e.seq limit $5::int
), said as (
  select d.seq, d.step, d.attempt, d.body
  from plimsoll.delta d join plimsoll.run r on r.tenant_id = d.tenant_id and r.id = d.run_id
  where d.tenant_id = $1::text and d.run_id = $2::text and d.seq > $6::int8 and d.generation = r.generation
    and d.step = r.step + 1 and d.attempt / 100 = r.epoch and r.status = 'running' and r.cancel_cause is null
  order by d.seq limit $5::int
)
select 1 as "sort", 'event' as "kind", t.seq as "seq", 0 as "step", 0 as "attempt", t.type as "type", t.body as "body", t.at as "at" from told t
union all select 2, 'piece', s.seq, s.step, s.attempt, '', s.body, 0 from said s
union all select 3, 'state', r.event_seq, r.step, 0, r.status, null, 0
from plimsoll.run r where r.tenant_id = $1::text and r.id = $2::text
order by 1, 3`,
  params: ['tenant', 'run', 'after', 'visible', 'limit', 'piece'],
}

export interface TextsParams {
  readonly tenant: string
  readonly run: string
  readonly seqs: readonly (number | null)[]
}
export interface TextsRow {
  readonly seq: number
  readonly body: Uint8Array
  readonly hash: string
  readonly partial: boolean
}
/**
 * visible messages of a run
 */
export const texts: Statement<TextsParams, TextsRow> = {
  name: 'event_texts_c2372f17',
  text: `select m.seq, m.body, m.content_hash as hash, m.partial from plimsoll.message m
where m.tenant_id = $1::text and m.run_id = $2::text and m.seq = any ($3::int[]) and m.visibility = 'user' and m.role = 'assistant'`,
  params: ['tenant', 'run', 'seqs'],
}

export interface PutPieceParams {
  readonly seq: number
  readonly step: number
  readonly attempt: number
  readonly body: Uint8Array
  readonly tenant: string
  readonly run: string
  readonly epoch: number
  readonly generation: number
}
export interface PutPieceRow {
  readonly seq: number
}
/**
 * no row: the attempt may not speak any more
 */
export const putPiece: Statement<PutPieceParams, PutPieceRow> = {
  name: 'event_putPiece_4f3d3991',
  text: `insert into plimsoll.delta (tenant_id, run_id, seq, environment, generation, step, attempt, body)
select r.tenant_id, r.id, $1::int8, r.environment, r.generation, $2::int, $3::int, $4::bytea
from plimsoll.run r
where r.tenant_id = $5::text and r.id = $6::text and r.epoch = $7::int8 and r.generation = $8::int8
  and r.step + 1 = $2::int and r.status = 'running' and r.cancel_cause is null
returning seq`,
  params: ['seq', 'step', 'attempt', 'body', 'tenant', 'run', 'epoch', 'generation'],
}

export interface DropPiecesParams {
  readonly tenant: string
  readonly run: string
  readonly below: number
}
export const dropPieces: Statement<DropPiecesParams, never> = {
  name: 'event_dropPieces_8679f17b',
  text: `delete from plimsoll.delta where tenant_id = $1::text and run_id = $2::text and seq < $3::int8`,
  params: ['tenant', 'run', 'below'],
}
