/** How often a tool may start, as `rate.sql` counts it. */
import { takeCall, waitForCall } from '../../tool/rate.sql.ts'
import type { ToolCallsRow } from './rows.ts'
import { type Guards, on, passes, seen, type Verbs } from './verb.ts'

/** The conditions under which one more call may start. */
export const TAKE: Guards<
  readonly [ToolCallsRow, { readonly calls: number; readonly perMs: number; readonly now: number }]
> = {
  room: ({ starts }, { calls, perMs, now }) => starts.length < calls || (starts.at(-calls) ?? 0) <= now - perMs,
}

export function addRates(verbs: Verbs, guards: { readonly take: typeof TAKE }): void {
  on(verbs, takeCall, (tables, { tenant, environment, tool, calls, perMs }) => {
    const now = tables.now()
    const row = tables.tool_calls.get(`${tenant}/${environment}/${tool}`)
    if (!row) tables.tool_calls.insert({ tenant_id: tenant, environment, tool, starts: [now] })
    else if (!passes(guards.take, row, { calls, perMs, now })) return []
    else tables.tool_calls.change(row, { starts: [...row.starts, now].slice(-calls) })
    return [{ taken: true }]
  })
  on(verbs, waitForCall, (tables, { tenant, environment, tool, calls, perMs }, walls) => {
    const row = tables.tool_calls.get(`${tenant}/${environment}/${tool}`)
    if (!row || !seen(walls, row) || row.starts.length < calls) return []
    return [{ waitMs: Math.max(0, Math.floor((row.starts.at(-calls) ?? 0) - tables.now() + perMs)) }]
  })
}
