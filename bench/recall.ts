/**
 * Recall on PostgreSQL, the lexical leg: a question in a place of 700 and of 10 000 memories, while the table grows from
 * 10 thousand to a million memories of a thousand tenants. Words fall as in a text: the word of rank r is taken with a
 * chance of about 1/r. A question takes 8 to 20 words that a memory of the place has, so that each has many hits.
 */
import type pg from 'pg'
import { openPostgres } from '../src/db/postgres.ts'
import { type ContentKeys, plainSealer } from '../src/db/seal.ts'
import { filterOf, placesOf } from '../src/memory/recall/filter.ts'
import { lexVersion } from '../src/memory/lex/lex.ts'
import { recallStore } from '../src/memory/recall/recall.store.ts'
import { hashedTerm } from '../src/memory/recall/terms.ts'
import { actorFrom, scopeOf } from '../src/request/actor.ts'
import { createHash } from 'node:crypto'
import { freshDatabase } from './database.ts'

/** Memories in the place that is asked, and in the table when it is asked. */
const PLACES = [700, 10_000]
const TABLE = [10_000, 100_000, 1_000_000]
const TENANTS = 1_000
/** Words of a memory, and of the language. */
const LENGTH = 20
const VOCABULARY = 20_000
/** The first words of a language are stop words, and no terms. */
const STOPS = 40
const QUESTIONS = 200
const WARM = 20

const word = (rank: number): string => `w${rank}`
/** One hash for all tenants, so that one list of terms serves them. */
const keys: ContentKeys = {
  ...plainSealer,
  hash: (_tenant, _purpose, term) => createHash('sha256').update(term).digest(),
}

/** Memories from..to of `tenant`, one place for each `inPlace` of them. A text is only as long as a real value. */
const LOAD = String.raw`
  with made as (
    select n, 'm' || n as id, $1::text || case when $5 then (n % $6)::text else '' end as tenant, 'u' || (n / $4) as subject
    from generate_series($2::int, $3::int) n
  ), memory as (
    insert into plimsoll.memory (tenant_id, id, environment, subject_id, user_id, scope, scope_id, permission_scope, layer, kind, key, slot,
      value, value_hash, integrity, confidentiality, confidence, importance, sensitivity, purpose, consent_basis, detectors, valid_from)
    select tenant, id, 'bench', subject, subject, 'user', subject, '{owner}', 'semantic', 'fact', 'said', id,
      '\x00'::bytea || convert_to(to_json(repeat('lorem ipsum ', 12))::text, 'UTF8'), md5(id), 'user', 'subject', 1, 1, 'none', 'service', 'explicit', 1, now()
    from made
  ), word as (
    select tenant, id, subject, rank, count(*)::real as tf
    from (select m.tenant, m.id, m.subject, floor($8::float8 * exp(random() * ln($9::float8 / $8::float8)))::int as rank
      from made m, generate_series(1, $7::int) w where m.n > 0) w group by tenant, id, subject, rank
  ), entry as (
    insert into plimsoll.memory_entry (tenant_id, memory_id, environment, place, version, lexer, terms, tfs, length)
    select w.tenant, w.id, 'bench', 'user:' || w.subject, 1, 'bench', array_agg(v.term), array_agg(w.tf), $7
    from word w join public.vocabulary v on v.rank = w.rank group by w.tenant, w.id, w.subject
  )
  insert into plimsoll.memory_term (tenant_id, environment, place, term, memory_id, version, tf, length)
  select w.tenant, 'bench', 'user:' || w.subject, v.term, w.id, 1, w.tf, $7 from word w join public.vocabulary v on v.rank = w.rank`

/** Each statement of a load takes so many memories, which bounds what it sorts and holds. */
const BATCH = 50_000

export async function benchRecall(server: string, say: (line: string) => void): Promise<Record<string, unknown>> {
  const database = await freshDatabase(server, 'plimsoll_bench_recall')
  const { admin } = database
  try {
    await vocabulary(admin)
    const load = async (tenant: string, from: number, to: number, inPlace: number, spread: boolean) => {
      for (let at = from; at <= to; at += BATCH) {
        const last = Math.min(to, at + BATCH - 1)
        await admin.query(LOAD, [tenant, at, last, inPlace, spread, TENANTS, LENGTH, STOPS, VOCABULARY])
      }
    }
    for (const size of PLACES) await load(`asked_${size}`, 1, size, size + 1, false)
    const rows: Record<string, unknown>[] = []
    let loaded = PLACES.reduce((sum, size) => sum + size, 0)
    for (const total of TABLE) {
      if (total > loaded) await load('other_', loaded + 1, total, 1_000, true)
      loaded = Math.max(loaded, total)
      await admin.query('vacuum (analyze) plimsoll.memory, plimsoll.memory_term, plimsoll.memory_entry')
      for (const size of PLACES) {
        const times = await ask(database.url, admin, `asked_${size}`)
        const at = (share: number) => Number((times[Math.floor(times.length * share)] ?? 0).toFixed(2))
        const row = { table: loaded, place: size, p50ms: at(0.5), p95ms: at(0.95) }
        rows.push(row)
        say(`${row.table} memories, ${size} in the place: ${row.p50ms} ms, p95 ${row.p95ms} ms`)
      }
    }
    const disk = await admin.query<{ bytes: string }>(
      `select pg_total_relation_size('plimsoll.memory_term') + pg_total_relation_size('plimsoll.memory_entry') as bytes`,
    )
    return { questions: QUESTIONS, rows, indexBytesPerMemory: Math.round(Number(disk.rows[0]?.bytes) / loaded) }
  } finally {
    await database.drop()
  }
}

async function vocabulary(admin: pg.Client): Promise<void> {
  await admin.query('create table public.vocabulary (rank int primary key, term int8 not null)')
  const ranks = Array.from({ length: VOCABULARY + STOPS }, (_, at) => at + 1)
  const terms = ranks.map((rank) => hashedTerm(keys, '', `s:${word(rank)}`))
  await admin.query('insert into public.vocabulary select * from unnest($1::int[], $2::text[]::int8[])', [ranks, terms])
}

/** Milliseconds of each question, sorted. The first ones are not counted: a connection plans a statement when it is new. */
async function ask(url: string, admin: pg.Client, tenant: string): Promise<readonly number[]> {
  const db = await openPostgres({ url, connections: 1 })
  try {
    const store = recallStore(db, keys, lexVersion(process.versions.icu ?? ''))
    const scope = scopeOf(
      actorFrom({ kind: 'end_user', tenant, environment: 'bench', user: 'u0', subject: 'u0', permissions: [] }),
    )
    const { rows } = await admin.query<{ words: number[] }>(
      `select array_agg(v.rank) as words from plimsoll.memory_entry e, unnest(e.terms) u (term) join public.vocabulary v on v.term = u.term
       where e.tenant_id = $1 group by e.memory_id order by md5(e.memory_id) limit $2`,
      [tenant, QUESTIONS + WARM],
    )
    const filter = filterOf({ purposes: ['service'] })
    const times: number[] = []
    for (const [number, { words }] of rows.entries()) {
      const text = words
        .slice(0, 8 + (number % 13))
        .map(word)
        .join(' ')
      const asking = { text, places: placesOf(scope, {}), scopes: ['owner'], filter, now: Date.now(), k: 10 }
      const begun = performance.now()
      const { memories } = await store.recall(scope, asking)
      if (memories.length !== 10 || memories[0]?.relevance === 0)
        throw new Error('a question of the bench found nothing')
      if (number >= WARM) times.push(performance.now() - begun)
    }
    return times.sort((a, b) => a - b)
  } finally {
    await db.close()
  }
}
