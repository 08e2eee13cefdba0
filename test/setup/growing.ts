/** Memory that grows out of calls and of other memories: what a program has of it, put together over one store. */
import type { Db } from '../../src/db/port.ts'
import { plainSealer } from '../../src/db/seal.ts'
import type { Actor } from '../../src/kernel/scope.ts'
import { systemClock, systemIds } from '../../src/kernel/system.shell.ts'
import { candidateStore } from '../../src/memory/candidate.store.ts'
import type { Candidate } from '../../src/memory/candidate.ts'
import type { Consolidating } from '../../src/memory/consolidate.shell.ts'
import { consolidateStore } from '../../src/memory/consolidate.store.ts'
import type { Consolidators } from '../../src/memory/consolidate.ts'
import { inspect } from '../../src/memory/detect/secretlint.shell.ts'
import type { MemoryKeys } from '../../src/memory/key.ts'
import { memoryStore } from '../../src/memory/memory.store.ts'
import { type Occasion, type Outcome, remember, type Remembering } from '../../src/memory/remember.shell.ts'
import { sourceStore } from '../../src/memory/source.store.ts'
import { actorFrom, scopeOf } from '../../src/request/actor.ts'
import type { TestStore } from './engines.ts'
import { insert, ms } from './rows.ts'
import { unique } from './seed.ts'

/** Somebody of a tenant of their own. */
export function someone(kind: Actor['kind'] = 'end_user', tenant = unique('tenant'), user = unique(kind)): Actor {
  return actorFrom({ kind, tenant, environment: 'production', user, subject: user, permissions: ['*'] })
}

export const rememberingOn = (db: Db): Remembering => ({
  memories: memoryStore(db, plainSealer),
  candidates: candidateStore(db, plainSealer),
  sources: sourceStore(db, plainSealer),
  content: plainSealer,
  inspect,
  written: () => Promise.resolve(),
  makeRoom: () => Promise.resolve(false),
  clock: systemClock,
  ids: systemIds,
  quota: { subject: 1_000, tenant: 100_000 },
})

export const consolidatingOn = (db: Db, registry: MemoryKeys, consolidators: Consolidators = {}): Consolidating => ({
  store: consolidateStore(db, plainSealer),
  remembering: rememberingOn(db),
  registry,
  consolidators,
  writerFor: ({ tenant, environment }, subject) =>
    actorFrom({
      kind: 'operator',
      tenant,
      environment,
      user: 'plimsoll',
      subject: subject || 'plimsoll',
      permissions: [],
    }),
  scopeOf,
  zoneOf: () => 'UTC',
})

export function growing(db: Db, keys: MemoryKeys) {
  const parts = rememberingOn(db)
  const on = (actor: Actor, more: Partial<Occasion> = {}): Occasion => ({
    ...{ actor, scope: scopeOf(actor), keys, zone: 'UTC' },
    ...{ session: null, run: null, call: null, placeId: null },
    ...more,
  })
  return {
    parts,
    on,
    remember: (actor: Actor, candidate: Candidate, more: Partial<Occasion> = {}): Promise<Outcome> =>
      remember(parts, on(actor, more), candidate),
  }
}

/** A call under contract that has returned `result`, in a run of its own; its name as evidence. */
export async function settledCall(store: TestStore, actor: Actor, result: unknown, ageMs = 1_000): Promise<string> {
  const run = unique('run')
  const { tenant, environment, user, subject } = actor
  const sealed = (value: unknown) => plainSealer.seal(tenant, Buffer.from(JSON.stringify(value)))
  await insert(store, 'effect', {
    ...{ tenant_id: tenant, environment, run_id: run, step: 1, position: 0, session_id: unique('ses') },
    ...{ user_id: user, subject_id: subject, call_id: 'c', tool: 'crm.lookup', tool_version: 1, level: 'read' },
    ...{ approval: 'auto', arguments: sealed({}), arguments_hash: 'h', fingerprint: run, idempotency_key: run },
    ...{ status: 'settled', outcome: 'ok', result: sealed({ result }), result_hash: 'h', settled_at: ms(-ageMs) },
  })
  return `${run}/1/0`
}

/** Words of the person in a run of its own, told so long ago; its name as evidence. */
export async function told(store: TestStore, actor: Actor, text: string, ageMs = 1_000): Promise<string> {
  const run = unique('run')
  const { tenant, environment, user, subject } = actor
  const body = plainSealer.seal(tenant, Buffer.from(JSON.stringify({ role: 'user', text })))
  await insert(store, 'message', {
    ...{ tenant_id: tenant, environment, run_id: run, seq: 1, session_id: unique('ses'), user_id: user },
    ...{
      subject_id: subject,
      role: 'user',
      body,
      content_hash: 'h',
      tokens: 1,
      visibility: 'user',
      step: 0,
      origin: '{}',
    },
    ...{ integrity: 'user', confidentiality: 'subject', partial: false, created_at: ms(-ageMs) },
  })
  return `${run}.1`
}
