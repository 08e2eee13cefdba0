/** What the program's role sees and may do per table, generated from the list of tables. See guards.ts for probes. */
import { expect } from 'vitest'
import { statement, type TestStore } from './engines.ts'
import { type Guard, guard } from './guards.ts'
import { insert, ms, seedConfirmation, seedEffect, seedRun, TENANT_TABLES, unique } from './seed.ts'

type Table = (typeof TENANT_TABLES)[number]

/** Two tenants with two environments each, and a row of each in every table. */
export const PLACES = ['acme', 'birch'].flatMap((tenant) =>
  ['production', 'test'].map((environment) => ({ tenant, environment })),
)

let epochs = 0
/** Of its own for each place: the key of a row of keys names no environment. */
const made = (): number => ++epochs

export async function seedEverything(store: TestStore): Promise<void> {
  for (const { tenant, environment } of PLACES) {
    const key = await seedRun(store, { tenant_id: tenant, environment })
    const place = { tenant_id: tenant, environment }
    const ofRun = { ...place, run_id: key.run }
    const owner = { session_id: key.session, user_id: 'ann', subject_id: 'ann' }
    const body = Buffer.from('x')
    await seedEffect(store, key)
    await seedConfirmation(store, key)
    const labels = { visibility: 'user', integrity: 'user', confidentiality: 'public', origin: '{}' }
    const message = { seq: 1, step: 0, role: 'user', body, content_hash: 'h', ...labels, tokens: 1 }
    await insert(store, 'message', { ...ofRun, ...owner, ...message })
    await insert(store, 'ledger', { ...ofRun, seq: 1, step: 0, kind: 'open' })
    await insert(store, 'event', { ...ofRun, seq: 1, type: 'run_queued', visibility: 'user', body })
    await insert(store, 'delta', { ...ofRun, seq: 1, generation: 1, step: 1, attempt: 1, body })
    const request = { caller: 'ann', key: unique('idem'), operation: 'runs.create', body_hash: 'h' }
    await insert(store, 'idempotency', { ...ofRun, ...request, expires_at: ms(60_000) })
    const act = { actor_kind: 'end_user', actor: 'ann', action: 'x', target: 'x', outcome: 'x' }
    await insert(store, 'audit', { ...ofRun, id: unique('aud'), ...act })
    const object = {
      kind: 'result',
      media_type: 'text/plain',
      bytes: 1,
      sha256: 'h',
      object_key: unique('key'),
      result_hash: 'h',
    }
    const trust = { integrity: 'untrusted', confidentiality: 'subject', origin: '{}' }
    const call = { id: unique('art'), step: 1, position: 0, call_id: 'call', about: body }
    await insert(store, 'artifact', { ...ofRun, ...owner, ...call, ...object, ...trust })
    const endpoint = `whk_${key.run}`
    await insert(store, 'endpoint', { ...place, id: endpoint, url: body, secret: body })
    await insert(store, 'delivery', { ...ofRun, endpoint_id: endpoint, sent: 0, head: 1 })
    const tried = { endpoint_id: endpoint, seq: 1, epoch: 1, outcome: 'delivered', millis: 1 }
    await insert(store, 'delivery_attempt', { ...ofRun, ...tried })
    await insert(store, 'legal_hold', { ...place, id: unique('hld') })
    const kept = { ...place, class: 'event' }
    await store.admin('delete from plimsoll.retention where tenant_id = $1 and environment = $2', [tenant, environment])
    await insert(store, 'retention', kept)
    await insert(store, 'tombstone', { ...place, kind: 'memory', id: unique('mem') })
    await insert(store, 'signal', { ...place, key: unique('signal') })
    await seedMemory(store, place, key.run)
    await insert(store, 'tenant_key', { ...place, epoch: made(), kek: 'kek', wrapped: body })
    await insert(store, 'tool_calls', { ...place, tool: unique('tool'), starts: '{2026-11-30}' })
  }
}

/** A memory of Ann with everything that hangs on it. */
export async function seedMemory(store: TestStore, place: { tenant_id: string; environment: string }, run: string) {
  const id = unique('mem')
  const value = Buffer.from('x')
  const at = { valid_from: ms(0) }
  const trust = { integrity: 'user', confidence: 1 }
  const about = { subject_id: 'ann', user_id: 'ann' }
  const owned = { ...about, scope: 'user', scope_id: 'ann', permission_scope: '{owner}', layer: 'semantic' }
  const known = { ...trust, ...at, confidentiality: 'subject', importance: 1, sensitivity: 'none', purpose: 'service' }
  const said = { kind: 'fact', key: unique('key'), value, value_hash: 'h', consent_basis: 'explicit', detectors: 1 }
  await insert(store, 'memory', { ...place, id, ...owned, ...known, ...said })
  const version = { memory_id: id, version: 1, value, value_hash: 'h', user_id: 'ann', change: 'created' }
  await insert(store, 'memory_version', { ...place, ...version, ...trust, ...at })
  const source = { memory_id: id, kind: 'message', ref: `${run}.1`, role: 'evidence', version: 1 }
  await insert(store, 'memory_source', { ...place, ...source })
  const index = { memory_id: id, version: 1 }
  const entry = { ...index, place: 'user:ann', lexer: 'x', terms: '{7}', tfs: '{1}', length: 1 }
  await insert(store, 'memory_entry', { ...place, ...entry })
  await insert(store, 'memory_term', { ...place, ...index, place: 'user:ann', term: 7, tf: 1, length: 1 })
  const vector = { place: 'user:ann', model: 'x', dimensions: 1, body: value }
  await insert(store, 'memory_vector', { ...place, ...index, ...vector })
  const asked = { id: unique('mcd'), place: 'user:ann', key: 'k', body: value, value_hash: unique('h'), reasons: '{}' }
  await insert(store, 'memory_candidate', { ...place, ...about, ...asked, expires_at: ms(60_000) })
  await insert(store, 'memory_use', {
    ...place,
    run_id: run,
    memory_id: id,
    version: 1,
    rank: 1,
    score: 1,
    reason: 'x',
  })
  const word = { subject_id: 'ann', purpose: unique('purpose'), state: 'granted', basis: 'explicit', decided_by: 'ann' }
  await insert(store, 'consent', { ...place, ...word })
  await insert(store, 'member', { ...place, place: `group:${unique('g')}`, user_id: 'ann' })
  const deletion = unique('del')
  const asks = { kind: 'memory', target: id, actor_kind: 'end_user', actor: 'ann', subject_id: 'ann' }
  await insert(store, 'deletion', { ...place, id: deletion, ...asks })
  const ranged = { session_id: 'ses', agent: 'support', from_generation: 1, to_generation: 2, ...about }
  await insert(store, 'errand', { ...place, ...ranged, id: unique('ern'), kind: 'summary', upto: unique('run') })
  const made = { from_message: 'run.1', to_message: 'run.2', model: 'small', prompt: 1, state: 'verified', body: value }
  await insert(store, 'summary', { ...place, ...ranged, id: unique('ern'), ...made })
  const learned = { id: unique('prc'), name: unique('p'), version: 1, body: value, body_hash: 'h', proposed_by: 'olga' }
  await insert(store, 'procedure', { ...place, ...learned, sources: `{${id}}`, source_versions: '{1}' })
  await insert(store, 'deletion_part', { ...place, deletion_id: deletion, derivative: 'versions' })
  return id
}

export const rowsOf = (table: Table) =>
  statement(`rows_${table}`, `select tenant_id, environment from plimsoll.${table} order by 1, 2`)

const NO_TENANTS = ['', 'ACME', 'acme ', '*', '%', 'acme,birch', '{acme,birch}', "acme' or true --", 'null']

/** The same row under another tenant or environment: what a forged insert would look like. */
const FORGED: Readonly<Record<string, string>> = {
  audit: `insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
    values ($1, $2, 'forged', 'x', 'x', 'x', 'x', 'x')`,
  artifact: `insert into plimsoll.artifact (tenant_id, environment, id, session_id, user_id, subject_id, run_id, step, position, call_id, kind,
      media_type, bytes, sha256, object_key, result_hash, integrity, confidentiality, origin)
    values ($1, $2, 'forged', 'x', 'x', 'x', 'x', 1, 0, 'x', 'result', 'x', 1, 'x', 'forged', 'x', 'x', 'x', '{}')`,
  delta: `insert into plimsoll.delta (tenant_id, environment, run_id, seq, generation, step, attempt, body)
    values ($1, $2, 'forged', 1, 1, 1, 1, '')`,
  delivery: `insert into plimsoll.delivery (tenant_id, environment, endpoint_id, run_id, sent, head) values ($1, $2, 'forged', 'forged', 0, 1)`,
  delivery_attempt: `insert into plimsoll.delivery_attempt (tenant_id, environment, endpoint_id, run_id, seq, epoch, outcome, millis)
    values ($1, $2, 'forged', 'forged', 1, 1, 'delivered', 1)`,
  procedure: `insert into plimsoll.procedure (tenant_id, environment, id, name, version, body, body_hash, sources, source_versions, proposed_by)
    values ($1, $2, 'forged', 'forged', 1, 'x', '', '{x}', '{1}', 'x')`,
  errand: `insert into plimsoll.errand (tenant_id, environment, id, kind, agent, session_id, user_id, subject_id, from_generation, to_generation,
      upto) values ($1, $2, 'forged', 'x', 'x', 'x', 'x', 'x', 1, 1, 'x')`,
  summary: `insert into plimsoll.summary (tenant_id, environment, id, session_id, user_id, subject_id, agent, from_generation, to_generation,
      from_message, to_message, model, prompt, state, body) values ($1, $2, 'forged', 'x', 'x', 'x', 'x', 1, 1, 'x', 'x', 'x', 1, 'verified', '')`,
  endpoint: `insert into plimsoll.endpoint (tenant_id, environment, id, url, secret) values ($1, $2, 'forged', '', '')`,
  consent: `insert into plimsoll.consent (tenant_id, environment, subject_id, purpose, state, basis, decided_by)
    values ($1, $2, 'forged', 'x', 'granted', 'x', 'x')`,
  deletion: `insert into plimsoll.deletion (tenant_id, environment, id, subject_id, kind, target, actor_kind, actor)
    values ($1, $2, 'forged', 'x', 'memory', 'x', 'x', 'x')`,
  deletion_part: `insert into plimsoll.deletion_part (tenant_id, environment, deletion_id, derivative) values ($1, $2, 'forged', 'x')`,
  member: `insert into plimsoll.member (tenant_id, environment, place, user_id) values ($1, $2, 'group:forged', 'x')`,
  memory: `insert into plimsoll.memory (tenant_id, environment, id, subject_id, user_id, scope, scope_id, permission_scope, layer, kind, key,
      value, value_hash, integrity, confidentiality, confidence, importance, sensitivity, purpose, consent_basis, detectors, valid_from)
    values ($1, $2, 'forged', 'x', 'x', 'user', 'x', '{owner}', 'semantic', 'fact', 'x', '', '', 'user', 'subject', 1, 1, 'none', 'x', 'x', 1, now())`,
  memory_version: `insert into plimsoll.memory_version (tenant_id, environment, memory_id, version, value_hash, user_id, change, integrity,
      confidence, valid_from) values ($1, $2, 'forged', 1, '', 'x', 'created', 'user', 1, now())`,
  memory_source: `insert into plimsoll.memory_source (tenant_id, environment, memory_id, kind, ref, role, version)
    values ($1, $2, 'forged', 'message', 'x', 'evidence', 1)`,
  memory_candidate: `insert into plimsoll.memory_candidate (tenant_id, environment, id, subject_id, user_id, place, key, body, value_hash,
      reasons, expires_at) values ($1, $2, 'forged', 'x', 'x', 'user:x', 'x', '', '', '{}', now())`,
  memory_entry: `insert into plimsoll.memory_entry (tenant_id, environment, memory_id, place, version, lexer, terms, tfs, length)
    values ($1, $2, 'forged', 'user:x', 1, 'x', '{1}', '{1}', 1)`,
  memory_term: `insert into plimsoll.memory_term (tenant_id, environment, place, term, memory_id, version, tf, length)
    values ($1, $2, 'user:x', 1, 'forged', 1, 1, 1)`,
  memory_vector: `insert into plimsoll.memory_vector (tenant_id, environment, place, memory_id, version, model, dimensions, body)
    values ($1, $2, 'user:x', 'forged', 1, 'x', 1, '')`,
  memory_use: `insert into plimsoll.memory_use (tenant_id, environment, run_id, memory_id, version, rank, score, reason)
    values ($1, $2, 'forged', 'x', 1, 1, 1, 'x')`,
  tombstone: `insert into plimsoll.tombstone (tenant_id, environment, kind, id) values ($1, $2, 'memory', 'forged')`,
  legal_hold: `insert into plimsoll.legal_hold (tenant_id, environment, id) values ($1, $2, 'forged')`,
  retention: `insert into plimsoll.retention (tenant_id, environment, class) values ($1, $2, 'value')`,
  idempotency: `insert into plimsoll.idempotency (tenant_id, environment, caller, key, operation, body_hash, run_id, expires_at)
    values ($1, $2, 'x', 'forged', 'x', 'x', 'x', now())`,
  tenant_key: `insert into plimsoll.tenant_key (tenant_id, environment, epoch, kek, wrapped) values ($1, $2, 1000000, 'kek', '')`,
  tool_calls: `insert into plimsoll.tool_calls (tenant_id, environment, tool, starts) values ($1, $2, 'forged', '{}')`,
}

const none = { tenant: '', environment: '' }

export const WALL: readonly Guard[] = [
  guard('a query that forgets its tenant', async (store) => {
    await seedEverything(store)
    for (const table of TENANT_TABLES) {
      expect([table, await store.db.call(rowsOf(table), {})]).toEqual([table, []])
      expect([table, await store.db.read(none, rowsOf(table), {})]).toEqual([table, []])
    }
  }),
  guard('a query of one tenant and environment sees these and nothing else', async (store) => {
    await seedEverything(store)
    for (const table of TENANT_TABLES) {
      for (const { tenant, environment } of PLACES) {
        const rows = await store.db.read({ tenant, environment }, rowsOf(table), {})
        expect([table, ...new Set(rows.map((row) => JSON.stringify(row)))]).toEqual([
          table,
          JSON.stringify({ tenant_id: tenant, environment }),
        ])
      }
    }
  }),
  guard('a tenant that is no name of one', async (store) => {
    for (const tenant of NO_TENANTS) {
      for (const table of ['run', 'message', 'confirmation'] as const) {
        expect(await store.db.read({ tenant, environment: 'production' }, rowsOf(table), {})).toEqual([])
        expect(await store.db.read({ tenant: 'acme', environment: tenant }, rowsOf(table), {})).toEqual([])
      }
    }
  }),
  guard('a row that is written for another tenant or environment', async (store) => {
    const scope = { tenant: 'acme', environment: 'test' }
    for (const [table, text] of Object.entries(FORGED)) {
      const forge = statement(`forge_${table}`, text, ['tenant', 'environment'])
      for (const other of [
        { tenant: 'birch', environment: 'test' },
        { tenant: 'acme', environment: 'production' },
      ])
        await expect(store.db.write(scope, forge, other)).rejects.toThrow(/row-level security/)
    }
  }),
  guard('a delete without a condition reaches its own rows only', async (store) => {
    await seedEverything(store)
    for (const table of ['delivery', 'delivery_attempt', 'delta', 'endpoint', 'idempotency'] as const) {
      const sweep = statement(`sweep_${table}`, `delete from plimsoll.${table} returning tenant_id, environment`)
      const rows = await store.db.write({ tenant: 'acme', environment: 'test' }, sweep, {})
      expect(new Set(rows.map((row) => JSON.stringify(row)))).toEqual(
        new Set([JSON.stringify({ tenant_id: 'acme', environment: 'test' })]),
      )
    }
  }),
]
