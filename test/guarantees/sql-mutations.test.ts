/** The probes are worth something only if they notice: every planted fault in a guard of the store must fail one. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { seedRun, TENANT_TABLES } from '../setup/seed.ts'
import type { Guard } from '../setup/guards.ts'
import { MUTATIONS, type Mutation, PROBES } from '../setup/mutations.ts'

const migration = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../migrations/${name}.sql`, import.meta.url)), 'utf8')
const SQL = readdirSync(fileURLToPath(new URL('../../migrations', import.meta.url)))
  .filter((name) => name !== '0001_runs.sql')
  .sort()
  .map((name) => migration(name.replace('.sql', '')))
  .join('')
const RUNS = migration('0001_runs')

/** The blocks that build the wall, after the wall is taken down. */
function wallText(): string {
  const blocks = (RUNS + SQL).match(/^do \$wall\$.*?^end \$wall\$;/gms) ?? []
  const names = new Set(blocks.flatMap((block) => [...block.matchAll(/create policy (\w+)/g)].map((m) => m[1])))
  const down = TENANT_TABLES.map((t) =>
    [
      ...[...names].map((name) => `drop policy if exists ${name} on plimsoll.${t};`),
      `alter table plimsoll.${t} disable row level security;`,
    ].join('\n'),
  )
  return [...down, ...blocks].join('\n')
}

const HEADS = ['create function', 'create or replace function']

/** The text of a function; `create or replace` keeps its owner and its grants. */
function textOf(name: string): string {
  if (name === 'wall') return wallText()
  // a later migration may have replaced it
  const from = Math.max(...HEADS.map((head) => SQL.lastIndexOf(`${head} plimsoll.${name}(`)))
  const to = SQL.indexOf('end $f$;', from)
  if (from < 0 || to < 0) throw new Error(`no function ${name}`)
  return SQL.slice(from, to + 'end $f$;'.length).replace(/^create function/, 'create or replace function')
}

function mutated({ in: name, what, find, replace }: Mutation): string {
  const text = textOf(name)
  if (!text.includes(find)) throw new Error(`${name}, ${what}: the text to change is not there`)
  return text.replace(find, () => replace)
}

/** Few rows keep the pictures of the probes cheap. */
const empty = (store: TestStore) =>
  store.admin([...TENANT_TABLES, 'worker'].map((t) => `delete from plimsoll.${t}`).join(';'))

/** The name of the first probe that fails. */
async function killer(store: TestStore, probes: readonly Guard[]): Promise<string | null> {
  for (const probe of probes) {
    const passed = await probe.run(store).then(
      () => true,
      () => false,
    )
    if (!passed) return probe.name
  }
  return null
}

/** The second wall, down: the roles of the functions see and change every row. */
const POLICIES = `select format('%s policy %I on plimsoll.%I', $1::text, policyname, tablename) as line, qual, with_check
  from pg_policies where schemaname = 'plimsoll' and (policyname = 'batch' or roles && '{plimsoll_claim,plimsoll_relay,plimsoll_retain}')`

async function policiesDown(store: TestStore): Promise<() => Promise<void>> {
  const rows = await store.admin(POLICIES, ['alter'])
  const set = (clauses: (row: Record<string, unknown>) => readonly (readonly [string, unknown])[]) =>
    store.admin(
      rows
        .map((row) => {
          const parts = clauses(row).filter(([, text]) => text !== null)
          return `${String(row.line)} ${parts.map(([name, text]) => `${name} (${String(text)})`).join(' ')}`
        })
        .join(';'),
    )
  await set((row) => [
    ['using', 'true'],
    ['with check', row.with_check === null ? null : 'true'],
  ])
  return async () => {
    await set((row) => [
      ['using', row.qual],
      ['with check', row.with_check],
    ])
  }
}

/** One engine will do, the one that can tell of locks where there is one: the probes themselves run on both. */
const engine = ENGINES[0] ?? 'embedded'

describe(`planted faults on ${engine}`, () => {
  const chosen = MUTATIONS.filter((m) => !m.concurrent || engine === 'postgres')
  let store: TestStore
  let killed = 0
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterAll(async () => {
    console.log(`${engine}: ${killed} of ${chosen.length} planted faults killed`)
    await store.close()
  })

  it.each(chosen)('A3 a fault in a guard is noticed: $in $what', async (mutation) => {
    const probes = PROBES[mutation.in]
    await empty(store)
    await store.admin(mutated(mutation))
    try {
      const alone = await killer(store, probes)
      if (!mutation.held) expect(alone).not.toBeNull()
      else expect(alone).toBeNull()
      if (mutation.held === 'check')
        await expect(seedRun(store, { status: 'queued', worker_id: 'wrk' })).rejects.toThrow(/check constraint/)
      if (mutation.held === 'policies') {
        const up = await policiesDown(store)
        try {
          expect(await killer(store, probes)).not.toBeNull()
        } finally {
          await up()
        }
      }
      killed++
    } finally {
      await store.admin(textOf(mutation.in))
    }
  })

  it.each(Object.keys(PROBES) as Mutation['in'][])('A3 the sound function passes the same probes: %s', async (name) => {
    await empty(store)
    expect(await killer(store, PROBES[name])).toBeNull()
  })
})
