/** The guards of a compensation (J7): which effect an intent may answer. See guards.ts for what a probe is. */
import { expect } from 'vitest'
import type { TestStore } from './engines.ts'
import { type Guard, guard, unchanged } from './guards.ts'
import { rowsWhere } from './rows.ts'
import { base64, commit, type Key, keyText, seedEffect, seedRun, transition, unique } from './seed.ts'

type Fields = Readonly<Record<string, unknown>>
type Seeded = Key & { readonly worker: string; readonly session: string }

/** An effect as a contract that says `compensates` intends it. */
const intent = (compensates: string | null, over: Fields = {}) => ({
  step: 1,
  position: 0,
  call_id: 'c',
  tool: 'orders.refund',
  tool_version: 1,
  level: 'irreversible',
  approval: 'confirm',
  arguments: base64('{}'),
  arguments_hash: 'h',
  fingerprint: 'f',
  key: unique('refund'),
  status: 'intended',
  compensates,
  compensated_tool: 'orders.charge',
  ...over,
})

/** A run that did something, and a later one of the same conversation that undoes it. */
async function seedBoth(store: TestStore, done: Fields = {}, before: Fields = {}) {
  const key = await seedRun(store)
  const earlier = await seedRun(store, {
    session_id: key.session,
    generation: 9,
    status: 'succeeded',
    worker_id: null,
    end_reason: 'completed',
    ...before,
  })
  const charge = unique('charge')
  await seedCharge(store, earlier, { session_id: before.session_id ?? key.session, ...done, idempotency_key: charge })
  return { key, charge, earlier }
}

const seedCharge = (store: TestStore, run: Key, over: Fields) =>
  seedEffect(store, run, {
    tenant_id: run.tenant,
    environment: run.environment,
    tool: 'orders.charge',
    status: 'settled',
    outcome: 'ok',
    started_at: new Date(0).toISOString(),
    ...over,
  })

const answering = (key: Key, charge: string, ...effects: Fields[]) => ({
  rows: [transition(key, { effects: effects.length > 0 ? effects : [intent(charge)] })],
  keys: [keyText(key), answeredText(key, charge)],
})
const answeredText = (key: Key, charge: string): string => `${key.tenant}/${key.environment}/effect:${charge}`

async function answer(store: TestStore, key: Seeded, charge: string, ...effects: Fields[]): Promise<number[]> {
  const { rows, keys } = answering(key, charge, ...effects)
  return commit(store.db, rows, { worker: key.worker, keys })
}

const refuses = (name: string, done: Fields, before: Fields = {}): Guard =>
  guard(name, async (store) => {
    const { key, charge } = await seedBoth(store, done, before)
    await unchanged(store, async () => {
      expect(await answer(store, key, charge)).toEqual([])
    })
  })

/** What somebody else's compensation of the same effect has come to. */
const beside = (name: string, other: Fields, applied: readonly number[]): Guard =>
  guard(name, async (store) => {
    const { key, charge, earlier } = await seedBoth(store)
    await seedEffect(store, earlier, {
      session_id: key.session,
      position: 5,
      compensates: charge,
      started_at: new Date(0).toISOString(),
      ...other,
    })
    expect(await answer(store, key, charge)).toEqual(applied)
    expect(await rowsWhere(store, 'effect', { compensates: charge, run_id: key.run })).toHaveLength(applied.length)
  })

/** Only a second session can tell. */
export const ANSWER_LOCKS: readonly Guard[] = [
  guard(
    'of two runs that answer one effect at the same moment the second waits for the first, and is refused',
    async (store) => {
      if (store.engine !== 'postgres') return
      const { key, charge } = await seedBoth(store)
      const rival = await seedRun(store, { session_id: key.session, generation: 5 })
      const { rows, keys } = answering(rival, charge)
      const list = keys.map((k) => `'${k}'`).join(', ')
      const open = await store.hold(
        `select n from plimsoll.step('${JSON.stringify(rows)}', array[${list}], '${rival.worker}')`,
      )
      expect(open.rows).toHaveLength(1)
      const second = answer(store, key, charge).catch((error: unknown) => error)
      let kind: unknown = null
      while (kind === null) {
        const rows = await store.admin('select locktype from pg_locks where not granted limit 1')
        kind = rows[0]?.locktype ?? null
      }
      await open.commit()
      // in line for the effect, and not for the row that it would have doubled
      expect(kind).toBe('advisory')
      expect(await second).toEqual([])
      expect(await rowsWhere(store, 'effect', { compensates: charge })).toMatchObject([{ run_id: rival.run }])
    },
  ),
]

export const ANSWER: readonly Guard[] = [
  guard('an effect of an earlier run of the conversation is answered, and the link is stored', async (store) => {
    const { key, charge } = await seedBoth(store)
    expect(await answer(store, key, charge)).toEqual([1])
    expect(await rowsWhere(store, 'effect', { compensates: charge })).toMatchObject([
      { run_id: key.run, status: 'intended', tool: 'orders.refund' },
    ])
  }),
  guard('an effect that is not there is not answered', async (store) => {
    const { key } = await seedBoth(store)
    await unchanged(store, async () => {
      expect(await answer(store, key, 'nothing')).toEqual([])
    })
  }),
  guard('an effect that the evidence does not name is not answered', async (store) => {
    const { key, charge } = await seedBoth(store)
    await unchanged(store, async () => {
      expect(await commit(store.db, answering(key, charge).rows, { worker: key.worker })).toEqual([])
    })
  }),
  guard('an effect of another tenant under the same key is not answered', async (store) => {
    const key = await seedRun(store)
    const charge = unique('charge')
    const strange = await seedRun(store, { tenant_id: 'birch' })
    await seedCharge(store, strange, { session_id: key.session, idempotency_key: charge })
    const keys = [keyText(key), answeredText(key, charge), answeredText(strange, charge)]
    await unchanged(store, async () => {
      expect(await commit(store.db, answering(key, charge).rows, { worker: key.worker, keys })).toEqual([])
    })
  }),
  guard('an effect of another environment is not answered', async (store) => {
    const key = await seedRun(store)
    const charge = unique('charge')
    const strange = await seedRun(store, { environment: 'test' })
    await seedCharge(store, strange, { session_id: key.session, idempotency_key: charge })
    const keys = [keyText(key), answeredText(key, charge), answeredText(strange, charge)]
    await unchanged(store, async () => {
      expect(await commit(store.db, answering(key, charge).rows, { worker: key.worker, keys })).toEqual([])
    })
  }),
  refuses('an effect of another conversation is not answered', { session_id: 'ses_other' }),
  refuses('an effect of another user is not answered', { user_id: 'eve' }),
  refuses('an effect of another tool is not answered', { tool: 'orders.ship' }),
  refuses('a read is not answered', { level: 'read' }),
  refuses('an effect that has not started is not answered', { status: 'intended', outcome: null }),
  refuses('an effect that has started is not answered', { status: 'started', outcome: null }),
  refuses('an effect that waits is not answered', { status: 'waiting', outcome: null }),
  refuses('an effect of which nobody knows is not answered', { status: 'unknown', outcome: null }),
  refuses('an effect that failed is not answered', { outcome: 'error', error_code: 'declined' }),
  beside('an effect that was answered is not answered again', { status: 'settled', outcome: 'ok' }, []),
  beside('an effect that is about to be answered is not answered', { status: 'intended', started_at: null }, []),
  beside('an effect that is being answered is not answered', { status: 'started' }, []),
  beside('an effect whose answer nobody knows is not answered', { status: 'unknown' }, []),
  beside('an effect whose answer failed is answered again', { status: 'settled', outcome: 'error' }, [1]),
  guard('of two calls of one step that answer the same none is recorded', async (store) => {
    const { key, charge } = await seedBoth(store)
    await unchanged(store, async () => {
      expect(await answer(store, key, charge, intent(charge), intent(charge, { position: 1 }))).toEqual([])
    })
  }),
  guard('one that answers beside one that answers nothing is recorded', async (store) => {
    const { key, charge } = await seedBoth(store)
    expect(await answer(store, key, charge, intent(null, { position: 1 }), intent(charge))).toEqual([1])
  }),
]
