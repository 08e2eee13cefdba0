/** What one run costs does not depend on the rows of others, from the first hour of a new database. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { type RetentionClass, RETENTION_CLASSES } from '../../src/journal/retention.ts'
import { holds, rules } from '../../src/journal/retention.sql.ts'
import { artifactDetail, artifactsOfRun, dropArtifacts, keptFiles } from '../../src/tool/result/artifact.sql.ts'
import { waitForCall } from '../../src/tool/rate.sql.ts'
import { rule, seedEnded } from '../setup/retention-guards.ts'
import { insert, type Key, keyText, seedRun, seedWorker, transition, unique } from '../setup/seed.ts'

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

  it('L6 L9 J9 the relay, artifacts, signals and sweeps read no rows of others, though the plans were made when there were none', async () => {
    const key = await seedEnded(store)
    const place = { tenant_id: key.tenant, environment: key.environment }
    for (const name of Object.keys(RETENTION_CLASSES)) await rule(store, key, name as RetentionClass)
    const endpoint = unique('whk')
    await insert(store, 'endpoint', { ...place, id: endpoint, url: Buffer.from(''), secret: Buffer.from('') })
    const worker = await seedWorker(store)
    await insert(store, 'signal', { ...place, key: 'mine', waiters: [key.run] })
    const sweeps = (dry: boolean) =>
      Object.keys(RETENTION_CLASSES).map((name): [string, string] => [
        `sweep ${name}${dry ? ', dry' : ''}`,
        `select runs from plimsoll.sweep('${key.tenant}', '${key.environment}', '${name}', 100, ${dry}, null, null, '', '')`,
      ])
    const tell = { ...placeOf(key), signal: 'mine', body: 'eA==', hash: 'h' }
    const cases: [string, string][] = [
      ['outbox_look', `select plimsoll.outbox_look('{}', 0, 60000)`],
      ['outbox_take', `select run from plimsoll.outbox_take('${worker}', '{}', 10, 4, '{}')`],
      ['tell', `select n from plimsoll.tell(${text([tell])}, array['${key.tenant}/${key.environment}/signal:mine'])`],
      ['retention_due', 'select tenant from plimsoll.retention_due(20)'],
      ...sweeps(true),
      ...sweeps(false),
    ]
    const walls = `set local app.tenant = '${key.tenant}'; set local app.environment = '${key.environment}'; `
    const values = { run: key.run, tenant: key.tenant, artifact: 'art', session: key.session, user: '' }
    const plain = [artifactsOfRun, artifactDetail, keptFiles, dropArtifacts, waitForCall, rules, holds]
    for (const { name, text, params } of plain) {
      const given = (params as readonly string[]).map((param) => {
        if (param === 'keys') return `'{"a","b"}'`
        return param in values ? `'${values[param as keyof typeof values]}'` : param === 'tool' ? `'tool'` : '5'
      })
      await store.app(`prepare ${name} as ${text}`)
      cases.push([name, `${walls} execute ${name}(${given.join(', ')})`])
    }
    for (const [, statement] of cases) for (let i = 0; i < 6; i++) await store.app(statement)

    // the rows of other tenants, and those of this one that are younger than its days or done with
    const owner = `'production', 'other' || s, 'ann', 'ann'`
    for (const tenant of [key.tenant, 'acme']) {
      const series = `from generate_series(1, ${OTHERS}) s`
      await store.admin(
        `insert into plimsoll.run (tenant_id, id, environment, session_id, generation, user_id, subject_id, agent, release, status, end_reason,
           ended_at, due_at, deadline_at, progress_ms, max_steps, max_tool_calls, max_tokens, max_cost, max_attempts)
         select '${tenant}', 'past' || s, 'production', 'past' || s, 1, 'ann', 'ann', 'support', 'r1', 'succeeded', 'completed',
           now() - interval '1 day', now(), now(), 60000, 8, 8, 8, 8, 8 ${series};
         insert into plimsoll.artifact (tenant_id, id, environment, session_id, user_id, subject_id, run_id, step, position, call_id, kind,
           media_type, bytes, sha256, object_key, result_hash, integrity, confidentiality, origin)
         select '${tenant}', 'past' || s, ${owner}, 'past' || s, 1, 0, 'call', case s % 2 when 0 then 'file' else 'result' end,
           'x', 1, '', 'past' || s, 'h', 'untrusted', 'subject', '{}' ${series};
         insert into plimsoll.signal (tenant_id, environment, key, told_at, body, body_hash)
         select '${tenant}', 'production', 'other' || s, now(), '', '' ${series};
         insert into plimsoll.delivery (tenant_id, endpoint_id, run_id, environment, sent, head, due_at)
         select '${tenant}', '${tenant === 'acme' ? 'whk_other' : endpoint}', 'past' || s, 'production', 1, 1, 'infinity' ${series};
         insert into plimsoll.delivery_attempt (tenant_id, endpoint_id, run_id, seq, epoch, environment, outcome, millis)
         select '${tenant}', '${endpoint}', 'past' || s, 1, 1, 'production', 'delivered', 1 ${series};
         insert into plimsoll.idempotency (tenant_id, environment, caller, key, operation, body_hash, run_id, expires_at)
         select '${tenant}', 'production', 'ann', 'k' || s, 'x', 'h', 'past' || s, now() + interval '1 day' ${series};
         insert into plimsoll.retention (tenant_id, environment, class, days, swept_at)
         select 'tenant' || s, 'production', 'event', 9, now() ${series} on conflict do nothing;`,
      )
    }
    // a server does this by itself when so many rows are new; the embedded store never does
    if (engine === 'postgres') await store.admin('analyze plimsoll.artifact, plimsoll.run')
    for (const [name, statement] of cases) {
      await store.app('select pg_stat_force_next_flush()')
      const [seen] = await store.app(`${statement}; ${FETCHED}`)
      // there a batch of signals looks at the tenant's runs once, to know who is alive
      const most = engine === 'embedded' && name.startsWith('sweep signal') ? OTHERS + 60 : 60
      expect([name, Number(seen?.rows)]).toEqual([name, expect.toSatisfy((rows: number) => rows < most)])
    }
  })
})
