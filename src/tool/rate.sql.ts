// Written by `npm run sql` from rate.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface TakeCallParams {
  readonly tenant: string
  readonly environment: string
  readonly tool: string
  readonly calls: number
  readonly perMs: number
}
export interface TakeCallRow {
  readonly taken: boolean
}
/**
 * One row comes back when the call may start. The lock of the row orders the workers, and the clock is read under it.
 */
export const takeCall: Statement<TakeCallParams, TakeCallRow> = {
  name: 'rate_takeCall_6bf84c31',
  text: `insert into plimsoll.tool_calls as r (tenant_id, environment, tool, starts)
values ($1::text, $2::text, $3::text, array[clock_timestamp()])
on conflict (tenant_id, environment, tool) do update
set starts = r.starts[greatest(1, cardinality(r.starts) - $4::int + 2):] || clock_timestamp()
where cardinality(r.starts) < $4::int
  or r.starts[cardinality(r.starts) - $4::int + 1] <= clock_timestamp() - $5::int8 * interval '1 millisecond'
returning true as "taken"`,
  params: ['tenant', 'environment', 'tool', 'calls', 'perMs'],
}

export interface WaitForCallParams {
  readonly calls: number
  readonly perMs: number
  readonly tenant: string
  readonly environment: string
  readonly tool: string
}
export interface WaitForCallRow {
  readonly waitMs: number
}
/**
 * until the oldest of the calls that count is out of the span
 */
export const waitForCall: Statement<WaitForCallParams, WaitForCallRow> = {
  name: 'rate_waitForCall_9c439a3c',
  text: `select greatest(0, extract(epoch from r.starts[cardinality(r.starts) - $1::int + 1] - clock_timestamp()) * 1000 + $2::int8)::int8
  as "waitMs"
from plimsoll.tool_calls r
where r.tenant_id = $3::text and r.environment = $4::text and r.tool = $5::text
  and cardinality(r.starts) >= $1::int`,
  params: ['calls', 'perMs', 'tenant', 'environment', 'tool'],
}
