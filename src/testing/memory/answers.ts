/** The guards of a compensation as `plimsoll.step` holds them, and what is read for one (J7). */
import { answered, candidates } from '../../journal/effect.sql.ts'
import type { EffectRow, RunRow } from './rows.ts'
import type { Tables } from './tables.ts'
import { bytes, type Evidence, type Guards, named, on, passes, seen, type Verbs } from './verb.ts'

/** What a transition says of its new intents. */
interface Intending {
  readonly effects: readonly { readonly compensates?: string | null; readonly compensated_tool?: string }[]
}

export interface Answering {
  readonly run: RunRow
  readonly key: string
  readonly tool: string | undefined
  /** How often the transition answers this effect. */
  readonly times: number
  readonly done: EffectRow | undefined
  /** What undoes it already, or may. */
  readonly others: readonly EffectRow[]
}

export const ANSWER: Guards<readonly [Answering]> = {
  once: ({ times }) => times === 1,
  there: ({ done }) => done !== undefined,
  conversation: ({ done, run }) => !done || done.session_id === run.session_id,
  user: ({ done, run }) => !done || done.user_id === run.user_id,
  tool: ({ done, tool }) => !done || done.tool === tool,
  done: ({ done }) => !done || (done.status === 'settled' && done.outcome === 'ok'),
  free: ({ others }) => others.length === 0,
}

/** Whether each compensation among the new intents answers what it may. */
export function mayAnswer(tables: Tables, known: Evidence, run: RunRow, t: Intending, guards: typeof ANSWER): boolean {
  const keys = t.effects.flatMap((e) => (e.compensates == null ? [] : [e.compensates]))
  return t.effects.every((e) => {
    if (e.compensates == null) return true
    const key = e.compensates
    const visible = [...tables.effect.all()].filter((d) => isVisible(known, run, d, key))
    return passes(guards, {
      run,
      key,
      tool: e.compensated_tool,
      times: keys.filter((k) => k === key).length,
      done: visible.find((d) => d.idempotency_key === key && d.level !== 'read'),
      others: visible.filter((o) => isAnswering(o, key)),
    })
  })
}

const isVisible = (known: Evidence, run: RunRow, e: EffectRow, key: string): boolean =>
  e.tenant_id === run.tenant_id && e.environment === run.environment && named(known, e, `effect:${key}`)

const isAnswering = (o: EffectRow, key: string): boolean => o.compensates === key && o.outcome !== 'error'

const sealedOf = (e: EffectRow) => ({
  tool: e.tool,
  version: e.tool_version,
  key: e.idempotency_key,
  arguments: bytes(e.arguments),
  result: e.result === null ? null : bytes(e.result),
})

export function addAnswers(verbs: Verbs): void {
  on(verbs, candidates, (tables, { session, user, tool, limit }, walls) => {
    const all = [...tables.effect.all()].filter((e) => seen(walls, e))
    return all
      .filter((e) => e.session_id === session && e.user_id === user && e.tool === tool)
      .filter((e) => e.level !== 'read' && e.status !== 'intended')
      .sort((a, b) => b.created_at - a.created_at)
      .slice(0, limit)
      .map((e) => ({
        ...sealedOf(e),
        status: e.status,
        outcome: e.outcome,
        isAnswered: all.some((o) => isAnswering(o, e.idempotency_key)),
      }))
  })
  on(verbs, answered, (tables, { key }, walls) =>
    [...tables.effect.all()]
      .filter((e) => seen(walls, e) && e.idempotency_key === key && e.level !== 'read')
      .map(sealedOf),
  )
}
