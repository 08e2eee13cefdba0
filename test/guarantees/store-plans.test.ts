/** What one run costs does not depend on the rows of others, from the first hour of a new database. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { type Key, keyText, seedRun, seedWorker, transition } from '../setup/seed.ts'

const OTHERS = 300
const text = (value: unknown) => `$json$${JSON.stringify(value)}$json$`
const FETCHED = `select coalesce(sum(coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0)), 0)::int as rows
  from pg_stat_xact_user_tables where schemaname = 'plimsoll'`

type Held = Key & { readonly worker: string }
const placeOf = ({ tenant, environment, run }: Key) => ({ tenant, environment, run })
const changing =
  (name: string, row: (key: Held) => unknown, worker = false) =>
  (key: Held) =>
    `select n from plimsoll.${name}(${text([row(key)])}, array['${keyText(key)}']${worker ? `, '${key.worker}'` : ''})`

const STATEMENTS: readonly [string, (key: Held) => string][] = [
  ['load', (key) => `select plimsoll.load('${key.tenant}', '${key.environment}', '${key.run}')`],
  ['step', changing('step', (key) => transition(key), true)],
  ['start', changing('start', (key) => ({ ...placeOf(key), epoch: 3, version: 7, step: 1, position: 0 }), true)],
  ['decide', changing('decide', (key) => ({ ...placeOf(key), confirmation: 'cnf', version: 1 }))],
  ['cancel', changing('cancel', (key) => ({ ...placeOf(key), version: 7, cause: 'user', event: '' }))],
  ['close_session', changing('close_session', (key) => ({ ...placeOf(key), session: 'ses' }))],
  ['claim', (key) => `select run from plimsoll.claim('${key.worker}', array['support'], 1)`],
  ['driven', (key) => `select run from plimsoll.driven('${key.worker}')`],
]

describe.each(ENGINES)('plans on %s', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  it('L6 one run reads no rows of others, though the plans were made when there were none', async () => {
    const key = await seedRun(store)
    // six times: from then on a session keeps its plan
    for (const [, statement] of STATEMENTS) for (let i = 0; i < 6; i++) await store.app(statement(key))
    const worker = await seedWorker(store)
    await store.admin(
      `insert into plimsoll.session (tenant_id, id, environment, user_id, subject_id, agent)
       select 'acme', 'other' || s, 'production', 'ann', 'ann', 'support' from generate_series(1, ${OTHERS}) s`,
    )
    await store.admin(
      `insert into plimsoll.run (tenant_id, id, environment, session_id, generation, user_id, subject_id, agent, release, status, worker_id,
         due_at, deadline_at, progress_ms, max_steps, max_tool_calls, max_tokens, max_cost, max_attempts)
       select 'acme', 'other' || s, 'production', 'other' || s, 1, 'ann', 'ann', 'support', 'r1', x.status,
         case when x.status = 'running' then '${worker}' end, now(), now() + interval '1 hour', 60000, 8, 8, 8, 8, 8
       from generate_series(1, ${OTHERS}) s, lateral (select case s % 2 when 0 then 'running' else 'queued' end as status) x`,
    )
    await store.admin(
      `insert into plimsoll.message (tenant_id, run_id, seq, environment, session_id, user_id, subject_id, step, role, body, content_hash,
         visibility, integrity, confidentiality, origin, tokens)
       select tenant_id, id, n, environment, session_id, 'ann', 'ann', n, 'tool', '', '', 'model', 'untrusted', 'subject', '{}', 1
       from plimsoll.run, generate_series(2, 6) n where id like 'other%'`,
    )
    await store.admin(
      `insert into plimsoll.effect (tenant_id, run_id, step, position, environment, session_id, user_id, subject_id, call_id, tool, tool_version,
         level, approval, arguments, arguments_hash, fingerprint, idempotency_key, status)
       select tenant_id, id, n, 0, environment, session_id, 'ann', 'ann', 'call', 'tool', 1, 'read', 'auto', '', 'h', 'f', id || n, 'intended'
       from plimsoll.run, generate_series(1, 4) n where id like 'other%'`,
    )
    for (const [name, statement] of STATEMENTS) {
      // the counters are those of the session since it last handed them on
      await store.app('select pg_stat_force_next_flush()')
      const [seen] = await store.app(`${statement(key)}; ${FETCHED}`)
      expect([name, Number(seen?.rows)]).toEqual([name, expect.toSatisfy((rows: number) => rows < 40)])
    }
  })
})
