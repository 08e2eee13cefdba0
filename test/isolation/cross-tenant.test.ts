/** The statements that cross tenants: a closed list, found by reading every statement of the program. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const SRC = fileURLToPath(new URL('../../src/', import.meta.url))
const MIGRATIONS = fileURLToPath(new URL('../../migrations/', import.meta.url))

/** Each crosses tenants by nature, and touches rules, lease columns, places of events, workers or look-ups only. */
const CROSSING = [
  'db/ready.sql appliedMigrations',
  'db/tenantkey.sql keysUnderOthers',
  'journal/lease.sql abandon',
  'journal/lease.sql claim',
  'journal/lease.sql driven',
  'journal/lease.sql enlist',
  'journal/lease.sql forgetWorkers',
  'journal/lease.sql reap',
  'journal/lease.sql renew',
  'journal/lease.sql retire',
  'journal/outbox.sql claim',
  'journal/outbox.sql look',
  'journal/restorelog.sql entries',
  'journal/restorelog.sql mark',
  'journal/restorelog.sql reached',
  'journal/restorelog.sql restore',
  'journal/retention.sql due',
  'memory/forget.sql dueDeletions',
  'memory/keeping.sql walls',
  'request/credential.sql credentialByHash',
  'run/errand.sql dueErrands',
]

/** Of the roles that cross tenants. */
const CROSSING_FUNCTIONS = [
  'abandon',
  'claim',
  'deletion_due',
  'deletion_failed',
  'destroy_tenant',
  'driven',
  'errand_due',
  'errand_failed',
  'forget_calls',
  'forget_messages',
  'forget_session',
  'keys_under_others',
  'memory_walls',
  'outbox_look',
  'outbox_take',
  'reap',
  'restore',
  'restore_entries',
  'retention_due',
  'retention_failed',
  'sweep',
]

/** They set the wall themselves, from the keys or the tenant that the caller hands in. */
const WALLED =
  /plimsoll\.(step|start|decide|cancel|submit|load|open_session|close_session|drop_session|sweep|tell|attend|lay_down|retention_failed|errand_failed|deletion_failed|forget_messages|forget_calls|forget_session|destroy_tenant)\(/

interface Block {
  readonly id: string
  readonly text: string
}

function statements(): Block[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.sql'))
    .flatMap((file) =>
      readFileSync(SRC + file, 'utf8')
        .split(/^-- name: /m)
        .slice(1)
        .map((block) => {
          const [name = '', ...lines] = block.split('\n')
          return { id: `${file} ${name.trim()}`, text: lines.filter((line) => !line.startsWith('--')).join('\n') }
        }),
    )
}

/** True when every table that the statement reads or changes is held to the tenant that the caller names. */
function namesItsTenant(text: string): boolean {
  if (WALLED.test(text)) return true
  // an insert gives its first or second column, the tenant, the value of the caller
  const insert = /insert\s+into\s+plimsoll\.\w+(?:\s+as\s+\w+)?\s*\(\s*(\w+\s*,\s*)?tenant_id\b/i.exec(text)
  const first = insert?.[1] ? /values\s*\(\s*:\w+[^,]*,\s*:tenant\b/i : /values\s*\(\s*:tenant\b/i
  if (insert && first.test(text)) return true
  // the same for rows that came with the call, where nothing is read
  if (
    insert &&
    /\bselect\s+:tenant\b[^;]*\bfrom\s+jsonb_to_recordset\b/i.test(text) &&
    text.match(/plimsoll\./g)?.length === 1
  )
    return true
  return /\btenant_id\s*=\s*:tenant\b/.test(text)
}

it('H7 a new statement that does not name its tenant is noticed: those that cross are a closed list', () => {
  const all = statements()
  expect(all.length).toBeGreaterThan(CROSSING.length)
  expect(
    all
      .filter(({ text }) => !namesItsTenant(text))
      .map(({ id }) => id)
      .sort(),
  ).toEqual(CROSSING)
})

it('H7 a new function that crosses tenants is noticed', () => {
  const ownerOf = new Map<string, string>()
  for (const file of readdirSync(MIGRATIONS).sort()) {
    let role = ''
    for (const [, kind, name = ''] of readFileSync(MIGRATIONS + file, 'utf8').matchAll(
      /^(set local role|reset role|create (?:or replace )?function|drop function)\s*(?:plimsoll\.|)(\w*)/gm,
    )) {
      if (kind === 'drop function') ownerOf.delete(name)
      else if (kind?.startsWith('create')) ownerOf.set(name, role)
      else role = name
    }
  }
  const owners = [...ownerOf].map(([name, role]) => `${role} ${name}`)
  const crossing = owners
    .filter((line) => /^plimsoll_(claim|relay|retain|shred) /.test(line))
    .map((line) => line.split(' ')[1])
  expect(crossing.sort()).toEqual(CROSSING_FUNCTIONS)
  // whoever creates one outside of these roles gives it the rights of the migrator
  expect(owners.filter((line) => !/^plimsoll_(claim|relay|retain|shred|step|owner) /.test(line))).toEqual([])
})
