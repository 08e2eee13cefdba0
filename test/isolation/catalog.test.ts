/** What the catalogue must say about every table, function and role, so that a new one cannot stand outside the wall. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { TENANT_TABLES } from '../setup/seed.ts'

/** No content and no tenant wall: a new name here needs a reason in docs/design/store.md. */
const SYSTEM_TABLES = ['credential', 'migration', 'restore_log', 'sink', 'tenant', 'worker']

const ROLES = [
  'plimsoll_app',
  'plimsoll_claim',
  'plimsoll_owner',
  'plimsoll_relay',
  'plimsoll_retain',
  'plimsoll_shred',
  'plimsoll_step',
]

/** Everything that the program may change without a transition function. */
const APP_WRITES = [
  'artifact insert',
  'artifact update (about, removed_at)',
  'audit insert',
  'consent insert',
  'consent update (basis, decided_at, decided_by, state)',
  'credential insert',
  'credential update (revoked_at)',
  'deletion insert',
  'deletion update (attempts, done_at, due_at, memories, messages, sessions)',
  'deletion_part insert',
  'deletion_part update (done_at, error, removed)',
  'delivery delete',
  'delivery insert',
  'delivery update (attempt, due_at, epoch, head, sent, worker_id)',
  'delivery_attempt delete',
  'delivery_attempt insert',
  'delta delete',
  'delta insert',
  'endpoint delete',
  'endpoint insert',
  'endpoint update (failing_since, failures, previous_secret, previous_until, reason, retry_at, secret, state)',
  'errand insert',
  'errand update (attempts, done_at, due_at, outcome, run_id, state, tries, work_session)',
  'idempotency delete',
  'idempotency insert',
  'idempotency update (created_at, response, run_id, status)',
  'legal_hold insert',
  'legal_hold update (released_at)',
  'member insert',
  'member update (joined_at, left_at)',
  'memory insert',
  'memory update (authority, authority_ref, confidence, confidentiality, confirmed_by, consent_basis, deleted_at, detectors, expires_at, importance, integrity, last_used_at, permission_scope, purpose, recorded_at, sensitivity, slot, status, use_count, user_id, valid_from, value, value_hash, version)',
  'memory_candidate insert',
  'memory_candidate update (body, decided_at, decided_by, memory_id, status, version)',
  'memory_entry delete',
  'memory_entry insert',
  'memory_entry update (indexed_at, length, lexer, terms, tfs, version)',
  'memory_source delete',
  'memory_source insert',
  'memory_source update (quote)',
  'memory_term delete',
  'memory_term insert',
  'memory_term update (length, tf, version)',
  'memory_use delete',
  'memory_use insert',
  'memory_vector delete',
  'memory_vector insert',
  'memory_vector update (body, dimensions, model, version)',
  'memory_version insert',
  'memory_version update (value, value_hash)',
  'procedure insert',
  'procedure update (approved_at, approved_by, body, body_hash, ended_at, evaluated_at, evaluation, forgotten_at, passed, score, status)',
  'restore_log update (segment, written_at)',
  'retention insert',
  'retention update (after_at, after_run, days, kept_at)',
  'summary insert',
  'summary update (body, reason, recheck_reason, rechecked_at, state)',
  'tenant insert',
  'tenant_key insert',
  'tenant_key update (kek, wrapped)',
  'tombstone insert',
  'tombstone update (created_at)',
  'tool_calls insert',
  'tool_calls update (starts)',
  'worker delete',
  'worker insert',
  'worker update',
]

/** Lease columns: what the functions that cross tenants can read of a run. */
const CLAIM_READS =
  'agent, attempts, branch, cancel_cause, created_at, deadline_at, due_at, environment, epoch, followed_until, generation, id, parks_alone, progress_at, progress_ms, session_id, started_at, status, tenant_id, version, wait_reason, worker_id'

const RIGHTS = `
  select c.relname || ' ' || lower(p.privilege_type) as right from pg_class c, aclexplode(c.relacl) p
  where c.relnamespace = 'plimsoll'::regnamespace and p.grantee = $1::regrole and p.privilege_type <> all ($2::text[])
  union all
  select c.relname || ' ' || lower(p.privilege_type) || ' (' || string_agg(a.attname, ', ' order by a.attname::text collate "C") || ')'
  from pg_class c join pg_attribute a on a.attrelid = c.oid, aclexplode(a.attacl) p
  where c.relnamespace = 'plimsoll'::regnamespace and p.grantee = $1::regrole and p.privilege_type <> all ($2::text[])
  group by c.relname, p.privilege_type
  order by 1`

describe.each(ENGINES)('the catalogue on %s', (engine) => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(() => store.close())

  const column = async (text: string, values?: readonly unknown[]) =>
    (await store.admin(text, values ?? [])).map((row) => Object.values(row)[0])
  const rightsOf = (role: string, except: readonly string[]) => column(RIGHTS, [role, except])

  it('H2 a table without a wall is one of six, and a new one is noticed', async () => {
    const tables = await column(
      `select relname from pg_class where relnamespace = 'plimsoll'::regnamespace and relkind in ('r', 'p', 'f') order by relname::text collate "C"`,
    )
    expect(tables).toEqual([...SYSTEM_TABLES, ...TENANT_TABLES].sort())
  })

  it('H2 row-level security is on and forced on every table of a tenant', async () => {
    const open = await column(
      `select relname from pg_class where relnamespace = 'plimsoll'::regnamespace and relkind in ('r', 'p')
         and not (relrowsecurity and relforcerowsecurity) order by relname::text collate "C"`,
    )
    expect(open).toEqual(SYSTEM_TABLES)
  })

  it('H2 no policy lets everything through, and none is for everybody', async () => {
    const policies = await store.admin(
      `select tablename, policyname, array_to_string(roles, ',') as roles, qual, with_check, cmd from pg_policies where schemaname = 'plimsoll'`,
      [],
    )
    for (const { tablename, policyname, roles, qual, with_check, cmd } of policies) {
      const text = `${String(tablename)} ${String(policyname)}`
      expect([text, ROLES.includes(String(roles))]).toEqual([text, true])
      expect([text, qual]).not.toEqual([text, expect.stringMatching(/^\(*true\)*$/)])
      expect([text, qual]).toEqual([text, expect.any(String)])
      if (cmd !== 'SELECT') expect([text, with_check]).toEqual([text, expect.stringMatching(/\w+ = |strpos|ANY/)])
      const key = {
        tenant: /tenant_id\)?(::text)? = .*app\.tenant.*environment\)?(::text)? = .*app\.environment/s,
        batch: /app\.batch/,
        retain: /tenant_id\)?(::text)? = .*app\.tenant.*environment\)?(::text)? = .*app\.environment/s,
      }[String(policyname)]
      if (key) expect([text, qual, with_check]).toEqual([text, expect.stringMatching(key), expect.stringMatching(key)])
    }
    const walls = policies.filter((p) => p.policyname === 'tenant').map((p) => p.tablename)
    expect(walls.sort()).toEqual([...TENANT_TABLES])
  })

  it('H1 every primary and unique key starts with the tenant', async () => {
    const wrong = await column(
      `select i.indexrelid::regclass::text from pg_index i join pg_class c on c.oid = i.indrelid
       left join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
       where c.relnamespace = 'plimsoll'::regnamespace and i.indisunique and a.attname is distinct from 'tenant_id'
         and c.relname <> all ($1::text[])`,
      [SYSTEM_TABLES],
    )
    expect(wrong).toEqual([])
    const keyless = await column(
      `select relname from pg_class c where relnamespace = 'plimsoll'::regnamespace and relkind in ('r', 'p')
         and not exists (select from pg_index where indrelid = c.oid and indisprimary)`,
    )
    expect(keyless).toEqual([])
  })

  it('H1 A3 every row of a tenant names tenant and environment', async () => {
    const named = await column(
      `select c.relname from pg_class c where c.relnamespace = 'plimsoll'::regnamespace and c.relkind in ('r', 'p')
         and 2 = (select count(*) from pg_attribute a where a.attrelid = c.oid and a.attname in ('tenant_id', 'environment') and a.attnotnull)
       order by c.relname::text collate "C"`,
    )
    expect(named).toEqual(['credential', ...TENANT_TABLES].sort())
  })

  it('H2 the program changes run tables through functions only: its own write rights are a closed list', async () => {
    expect(await rightsOf('plimsoll_app', ['SELECT'])).toEqual(APP_WRITES)
  })

  it('H7 the role that crosses tenants reads lease columns, no content', async () => {
    const reads = await rightsOf('plimsoll_claim', ['UPDATE'])
    expect(reads).toEqual([`run select (${CLAIM_READS})`, 'worker select'])
    const writes = await rightsOf('plimsoll_claim', ['SELECT'])
    expect(writes).toEqual([
      'run update (attempts, cancel_cause, due_at, epoch, progress_at, started_at, status, version, wait_reason, worker_id)',
    ])
  })

  it('H7 the role of the relay reads of events where they are, of endpoints how they are, and no content', async () => {
    expect(await rightsOf('plimsoll_relay', [])).toEqual([
      'delivery insert',
      'delivery select',
      'delivery update (due_at, epoch, head, worker_id)',
      'endpoint select (environment, failures, id, retry_at, seen_at, starts_at, state, tenant_id, types)',
      'endpoint update (seen_at)',
      'event select (created_at, environment, run_id, seq, tenant_id, type, visibility)',
      'run select (agent, id, tenant_id)',
      'sink insert',
      'sink select',
      'sink update (seen_at)',
      'tenant_key select (destroyed_at, tenant_id)',
      'worker select',
    ])
  })

  it('L9 the role of the sweep reads no content, and no row of the ledger, the audit or the sessions', async () => {
    const rights = (await rightsOf('plimsoll_retain', [])).map(String)
    expect(rights.filter((r) => /ledger|audit|^session |\b(response|secret|url)\b/.test(r))).toEqual([])
    expect(rights.filter((r) => / (insert|update)/.test(r))).toEqual([
      'artifact update (about, removed_at)',
      'confirmation update (plan)',
      'deletion update (due_at)',
      'effect update (arguments, forgotten_at, result)',
      'errand update (due_at)',
      'message update (body, content_hash, tokens)',
      'retention update (after_at, after_run, failed_at, kept_at, swept_at)',
    ])
    expect(rights.filter((r) => / select/.test(r) && /arguments|result|body|plan\b/.test(r))).toEqual([])
  })

  it('H7 G7 the role that destroys tenants reads no content and no wrapped key', async () => {
    const rights = (await rightsOf('plimsoll_shred', [])).map(String)
    const reads = rights.filter((r) => / select/.test(r))
    expect(
      reads.filter((r) => /body|\bvalue|quote|result|arguments|plan|response|wrapped|secret|url|resource|hash/.test(r)),
    ).toEqual([])
    expect(rights.filter((r) => /^(message|event|ledger) /.test(r))).toEqual([])
  })

  it('H7 the role of the transitions can read no content of the rows that it writes', async () => {
    const reads = (await rightsOf('plimsoll_step', ['UPDATE', 'INSERT'])).map(String)
    expect(
      reads.filter((r) => /message|event|delta|ledger|audit|\b(body|result|arguments|plan|response)\b/.test(r)),
    ).toEqual([])
  })

  it('H2 nobody who can log in owns anything, and no role is above or inside another', async () => {
    const owners = await column(
      `select distinct pg_get_userbyid(relowner)::text from pg_class where relnamespace = 'plimsoll'::regnamespace
       union select distinct pg_get_userbyid(proowner)::text from pg_proc where pronamespace = 'plimsoll'::regnamespace order by 1`,
    )
    expect(owners).toEqual(ROLES.filter((role) => role !== 'plimsoll_app'))
    const roles = await column(
      `select rolname from pg_roles where rolname = any ($1::name[]) and not rolcanlogin and not rolsuper and not rolbypassrls
         and not rolcreaterole and not rolcreatedb and not rolreplication order by 1`,
      [ROLES],
    )
    expect(roles).toEqual(ROLES)
    const members = await column(
      `select m.roleid::regrole::text from pg_auth_members m where m.member = any ($1::regrole[])`,
      [ROLES],
    )
    expect(members).toEqual([])
  })

  it('H2 nobody but the owner may create in the schema, and a temporary table cannot stand in for one of ours', async () => {
    const creators = await column(
      `select r from unnest($1::text[]) r where has_schema_privilege(r, 'plimsoll', 'create') order by 1`,
      [ROLES],
    )
    expect(creators).toEqual(['plimsoll_owner'])
    const paths = await column(
      `select distinct coalesce((select c from unnest(proconfig) c where c like 'search_path=%'), proname::text)
       from pg_proc where pronamespace = 'plimsoll'::regnamespace`,
    )
    expect(paths).toEqual(['search_path=pg_catalog, pg_temp'])
  })

  it('H2 H7 functions with rights of their own are a closed list, and only the program may call them', async () => {
    const functions = await store.admin(
      `select proname::text as name, pg_get_userbyid(proowner)::text as owner, prosecdef as definer,
         (select string_agg(case a.grantee when 0 then 'public' else a.grantee::regrole::text end, ',' order by 1)
          from aclexplode(coalesce(proacl, acldefault('f', proowner))) a where a.grantee <> proowner) as callers
       from pg_proc where pronamespace = 'plimsoll'::regnamespace order by proname::text collate "C"`,
      [],
    )
    const row = (name: string, owner: string) => ({
      name,
      owner: `plimsoll_${owner}`,
      definer: owner !== 'owner',
      callers: 'plimsoll_app',
    })
    expect(functions).toEqual([
      row('abandon', 'claim'),
      row('attend', 'step'),
      row('cancel', 'step'),
      row('claim', 'claim'),
      row('close_session', 'step'),
      row('decide', 'step'),
      row('deletion_due', 'retain'),
      row('deletion_failed', 'retain'),
      row('destroy_tenant', 'shred'),
      row('driven', 'claim'),
      row('drop_session', 'step'),
      row('errand_due', 'retain'),
      row('errand_failed', 'retain'),
      row('forget_calls', 'retain'),
      row('forget_messages', 'retain'),
      row('forget_session', 'retain'),
      row('index_memory', 'owner'),
      row('keys_under_others', 'shred'),
      row('lay_down', 'step'),
      row('load', 'owner'),
      row('memory_walls', 'retain'),
      row('open_session', 'step'),
      row('outbox_look', 'relay'),
      row('outbox_take', 'relay'),
      row('reap', 'claim'),
      row('restore', 'shred'),
      row('restore_entries', 'shred'),
      row('retention_due', 'retain'),
      row('retention_failed', 'retain'),
      row('start', 'step'),
      row('step', 'step'),
      row('submit', 'step'),
      row('sweep', 'retain'),
      row('tell', 'step'),
    ])
  })

  it('H2 there is no view, rule, trigger or sequence that could carry rows past the wall', async () => {
    const others = await column(
      `select relname from pg_class where relnamespace = 'plimsoll'::regnamespace and relkind not in ('r', 'p', 'i', 'I', 't')
       union all select tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid where c.relnamespace = 'plimsoll'::regnamespace
       union all select rulename from pg_rules where schemaname = 'plimsoll'`,
    )
    expect(others).toEqual([])
  })
})
