// Written by `npm run sql` from restorelog.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface MarkRow {
  readonly segment: string
  readonly writtenAt: number
  readonly now: number
}
/**
 * how far the log is, and the time of this database; what is written later has a later name
 */
export const mark: Statement<Record<never, never>, MarkRow> = {
  name: 'restorelog_mark_c0b6352e',
  text: `select m.segment, (extract(epoch from m.written_at) * 1000)::float8 as "writtenAt", (extract(epoch from now()) * 1000)::float8 as "now"
from plimsoll.restore_log m`,
  params: [],
}

export interface EntriesParams {
  readonly overlapMs: number
}
export interface EntriesRow {
  readonly kind: string
  readonly tenant: string
  readonly environment: string
  readonly id: string
  readonly target: string
  readonly at: number
}
/**
 * what has happened in the time before the mark too, as long as a transaction may last, since it may have been committed late
 */
export const entries: Statement<EntriesParams, EntriesRow> = {
  name: 'restorelog_entries_bf0df2d8',
  text: `select e.kind as "kind", e.tenant as "tenant", e.environment as "environment", e.id as "id", e.target as "target",
  (extract(epoch from e.at) * 1000)::float8 as "at"
from plimsoll.restore_log m, plimsoll.restore_entries(m.written_at - $1::int8 * interval '1 millisecond') e
order by e.at`,
  params: ['overlapMs'],
}

export interface ReachedParams {
  readonly segment: string
  readonly at: number
}
export const reached: Statement<ReachedParams, never> = {
  name: 'restorelog_reached_d7c7d401',
  text: `update plimsoll.restore_log set segment = greatest(segment, $1::text collate "C"),
  written_at = greatest(written_at, to_timestamp($2::float8 / 1000))`,
  params: ['segment', 'at'],
}

export interface RestoreParams {
  readonly entries: string
}
export interface RestoreRow {
  readonly kind: string
  readonly changed: number
}
export const restore: Statement<RestoreParams, RestoreRow> = {
  name: 'restorelog_restore_17f75b12',
  text: `select r.kind as "kind", r.changed as "changed" from plimsoll.restore($1::jsonb) r`,
  params: ['entries'],
}
