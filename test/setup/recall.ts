/** Memories for tests of recall: everything has a plain default, a test names only what it is about. */
import { plainSealer } from '../../src/db/seal.ts'
import { type Asking, filterOf } from '../../src/memory/recall/filter.ts'
import { indexOf } from '../../src/memory/recall/index-text.ts'
import type { RecallStore } from '../../src/memory/recall/recall.store.ts'
import type { Scope } from '../../src/kernel/scope.ts'
import { actorFrom, scopeOf } from '../../src/request/actor.ts'
import type { TestStore } from './engines.ts'
import { insert, ms } from './rows.ts'
import { unique } from './seed.ts'

interface Who {
  readonly tenant?: string
  readonly environment?: string
  readonly user: string
  readonly subject?: string
}

export function scopeFor({ tenant = 'acme', environment = 'production', user, subject = user }: Who): Scope {
  return scopeOf(actorFrom({ kind: 'end_user', tenant, environment, user, subject, permissions: [] }))
}

export const asking = (over: Partial<Asking>): Asking => ({
  text: '',
  places: [],
  scopes: ['owner'],
  filter: filterOf({ purposes: ['service'] }),
  now: Date.now() + 1_000,
  k: 10,
  ...over,
})

/** Columns of the memory, and the text that it is indexed with. */
export interface Made extends Partial<Who> {
  readonly text?: string
  readonly [column: string]: unknown
}

/** Writes a memory behind the program's back and indexes it as the program does. */
export const maker =
  (store: TestStore, recall: RecallStore) =>
  async ({
    tenant = 'acme',
    environment = 'production',
    user = 'ann',
    text = '',
    ...over
  }: Made = {}): Promise<string> => {
    const id = unique('mem').replace(/\d+$/, (n) => n.padStart(6, '0'))
    const about = { subject_id: user, user_id: user, scope: 'user', scope_id: user, permission_scope: '{owner}' }
    const known = { confidence: 0.5, importance: 1, sensitivity: 'none', purpose: 'service', consent_basis: 'explicit' }
    const value = plainSealer.seal(tenant, Buffer.from(JSON.stringify(text)))
    const what = { layer: 'semantic', kind: 'fact', key: 'city', slot: id, value, value_hash: id }
    const trust = { integrity: 'user', confidentiality: 'subject', detectors: 1, valid_from: ms(-60_000) }
    const { status, deleted_at, ...columns } = over
    const row = { tenant_id: tenant, environment, id, ...about, ...known, ...what, ...trust, ...columns }
    await insert(store, 'memory', row)
    const scope = scopeFor({ tenant, environment, user })
    const outcome = await recall.index(scope, { id, version: 1 }, indexOf({ text }))
    if (outcome !== 'indexed') throw new Error(outcome)
    if (status !== undefined)
      await store.admin(
        `update plimsoll.memory set status = $1, deleted_at = ${deleted_at ? 'now()' : 'null'} where id = $2`,
        [status, id],
      )
    return id
  }
