/**
 * The rows of a run of which something cannot be opened, with stand-ins for exactly that. Good for an end, never for an effect:
 * what is to be sent or shown is read as it is, or not at all.
 *
 * L4  a run ends, rests or is canceled also when its content is damaged; what it did stays told
 */
import type { ContentKeys } from '../db/seal.ts'
import { openJson } from '../kernel/sealed.ts'
import { Fault } from '../kernel/fault.ts'
import type { ToolOutcome } from '../tool/contract.ts'
import { refused } from './said.ts'
import type { SnapshotRows } from './snapshot.ts'
import type { RunKey } from './state.ts'

type EffectRow = SnapshotRows['effects'][number]

/** What the model would read of a result that was stored and is damaged. */
const LOST = 'The result was stored and can no longer be read.'

/** Only what no key of the tenant opens: a key that is not at hand opens everything again tomorrow. */
function isDamaged(read: () => unknown): boolean {
  try {
    read()
    return false
  } catch (error) {
    if (Fault.is(error) && error.code === 'content_damaged') return true
    throw error
  }
}

/** @throws Fault `content_destroyed` · `store_unavailable`, as whatever reads content */
export function withoutDamage(rows: SnapshotRows, { tenant }: Pick<RunKey, 'tenant'>, keys: ContentKeys): SnapshotRows {
  const base64 = (value: unknown): string =>
    Buffer.from(keys.seal(tenant, Buffer.from(JSON.stringify(value)))).toString('base64')
  const sealed = (text: string | null, stand: () => unknown): string | null =>
    text !== null && isDamaged(() => openJson(keys, tenant, Buffer.from(text, 'base64'))) ? base64(stand()) : text
  const veiled = <T>(text: string, stand: T): string | T => (isDamaged(() => keys.unveil(tenant, text)) ? stand : text)
  const wait = (w: EffectRow['wait']): EffectRow['wait'] =>
    w && {
      ...w,
      signal: w.signal === null ? null : veiled(w.signal, null),
      // what was told and cannot be read was not told
      body:
        w.body !== null && isDamaged(() => openJson(keys, tenant, Buffer.from(w.body ?? '', 'base64'))) ? null : w.body,
    }
  return {
    ...rows,
    // no end needs what was said before
    messages: [],
    summaries: [],
    rules: [],
    effects: rows.effects.map((e) => ({
      ...e,
      argumentsHash: veiled(e.argumentsHash, ''),
      fingerprint: veiled(e.fingerprint, ''),
      wait: wait(e.wait),
      arguments: sealed(e.arguments, () => ({ raw: '{}', canonical: '{}', exposedName: e.tool })),
      result: sealed(e.result, () => outcomeOf(e)),
    })),
    confirmations: rows.confirmations.map((c) => ({
      ...c,
      resourceVersion: c.resourceVersion === null ? null : veiled(c.resourceVersion, null),
    })),
  }
}

/** Whether it happened is in the row, and must stay told. */
function outcomeOf({ errorCode }: EffectRow): ToolOutcome {
  if (errorCode === null) return { ok: true, result: LOST, bytes: LOST.length, truncated: false, mended: false }
  const { error } = refused('tool_failed')
  return { ok: false, error: { ...error, code: errorCode } }
}
