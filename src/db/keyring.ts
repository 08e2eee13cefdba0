/**
 * The data keys of tenants in this process: unwrapped once, held as long as the database says that they live.
 *
 * A tenant's keys are loaded before a statement that names the tenant comes back (`keyedDb`), which is before anybody can
 * have something to seal or to open. So sealing needs to wait for nothing.
 */
import { createHmac } from 'node:crypto'
import type { Random } from '../kernel/random.ts'
import type { Clock } from '../kernel/clock.ts'
import { Fault } from '../kernel/fault.ts'
import {
  derived,
  ENVELOPE,
  epochOf,
  isVeiled,
  KEY_BYTES,
  NONCE_BYTES,
  openUnder,
  sealUnder,
  type VeilKeys,
  unveilUnder,
  veilUnder,
} from './envelope.ts'
import type { KeyProvider } from './keyprovider.ts'
import type { Db } from './port.ts'
import { type ContentKeys, PLAIN, plainSealer } from './seal.ts'
import { insertTenantKey, rewrapTenantKey, tenantKeys, type TenantKeysRow } from './tenantkey.sql.ts'

/** A statement waits for keys that were not looked at for so long: a destroyed tenant is barred everywhere after it. */
export const CHECK_MS = 15_000
/** Epochs are used for sealing once every process must have seen them: twice the time between two looks, and more. */
const SETTLED_MS = 60_000
/**
 * Random nonces of 96 bits are good for 2^32 values under one key. A process makes the next epoch after 2^26 of its own, so
 * that 64 processes may do so at the same time, and whoever comes first does so after 30 days.
 */
const MOST_SEALED = 2 ** 26
const LONGEST_EPOCH_MS = 30 * 86_400_000
/** Tenants whose keys are held; beyond it the one that was looked at longest ago is let go, and loaded again when it is named. */
const MOST_TENANTS = 10_000
/** Where the rows of a tenant's keys stand: they are good in all its environments. */
export const WHOLE_TENANT = '_'

interface Held {
  readonly epochs: ReadonlyMap<number, Buffer>
  /** The epoch that seals. */
  readonly epoch: number
  readonly newest: number
  readonly newestAgeMs: number
  /** Of the first epoch: the same for ever, and only as long as the tenant. */
  readonly veil: VeilKeys
  readonly root: Buffer
  readonly hashes: Map<string, Buffer>
  readonly checkedAt: number
  /** Values that this process has sealed under `epoch`. */
  sealed: number
}

export interface Keyring extends ContentKeys {
  /** Loads the keys of a tenant, makes the first one, and looks again at those that are old. */
  ready(tenant: string): Promise<void> | undefined
  /** The next epoch; used for sealing a minute later, everywhere. @throws Fault `content_destroyed` */
  rotate(tenant: string): Promise<number>
  /** Wraps the tenant's keys anew by the current key of the provider. How many were. */
  rewrap(tenant: string): Promise<number>
  /** What this process knows of a tenant is looked up again. */
  forget(tenant: string): void
}

export interface KeyringParts {
  readonly db: Db
  readonly keys: KeyProvider
  readonly clock: Clock
  readonly random: Random
  /** Content of before there were keys is refused. */
  readonly refusePlain: boolean
}

export function openKeyring({ db, keys, clock, random, refusePlain }: KeyringParts): Keyring {
  if (db.engine === 'memory') throw new Fault('invalid_definition', 'The store in memory keeps nothing, and no keys.')
  /** In the order of the last look. `null`: destroyed. */
  const held = new Map<string, Held | null>()
  const loading = new Map<string, Promise<void>>()
  const scopeOf = (tenant: string) => ({ tenant, environment: WHOLE_TENANT })

  const rowsOf = (tenant: string) => db.read(scopeOf(tenant), tenantKeys, { tenant })

  async function make(tenant: string, epoch: number): Promise<void> {
    const { kek, bytes } = await keys.wrap(tenant, random.bytes(KEY_BYTES))
    await db.write(scopeOf(tenant), insertTenantKey, { tenant, epoch, environment: WHOLE_TENANT, kek, wrapped: bytes })
  }

  async function unwrapped(tenant: string, { kek, wrapped }: TenantKeysRow): Promise<Uint8Array> {
    try {
      return await keys.unwrap(tenant, { kek, bytes: wrapped })
    } catch (cause) {
      if (Fault.is(cause)) throw cause
      throw new Fault('store_unavailable', 'The keys of the store cannot be unwrapped right now.', { cause })
    }
  }

  async function load(tenant: string): Promise<void> {
    const checkedAt = clock.monotonic()
    const known = held.get(tenant) ?? null
    let rows = await rowsOf(tenant)
    if (rows.length === 0) {
      await make(tenant, 1)
      rows = await rowsOf(tenant)
    }
    if (rows.some((row) => row.destroyed)) return keep(tenant, null)
    const epochs = known ? new Map(known.epochs) : new Map<number, Buffer>()
    let root = known?.root
    for (const row of rows) {
      if (epochs.has(row.epoch)) continue
      const key = await unwrapped(tenant, row)
      epochs.set(row.epoch, derived(key, tenant, 'seal'))
      if (row.epoch === 1) root = derived(key, tenant, 'root')
    }
    const newest = rows.at(-1)
    if (!newest || !root) throw new Fault('sealing_key_unfit', 'The first key of a tenant is missing.')
    const epoch = rows.findLast((row) => row.epoch === 1 || row.ageMs >= SETTLED_MS)?.epoch ?? 1
    const isSame = known?.epoch === epoch
    keep(tenant, {
      epochs,
      epoch,
      newest: newest.epoch,
      newestAgeMs: newest.ageMs,
      root,
      veil: known?.veil ?? { mac: derived(root, tenant, 'veil.mac'), cipher: derived(root, tenant, 'veil.cipher') },
      hashes: known?.hashes ?? new Map<string, Buffer>(),
      checkedAt,
      sealed: isSame ? known.sealed : 0,
    })
    // one that is made and not in use yet is enough
    if (newest.epoch === epoch && ((isSame && known.sealed > MOST_SEALED) || newest.ageMs > LONGEST_EPOCH_MS))
      await make(tenant, newest.epoch + 1)
  }

  function keep(tenant: string, now: Held | null): void {
    held.delete(tenant)
    held.set(tenant, now)
    for (const oldest of held.keys()) {
      if (held.size <= MOST_TENANTS) return
      held.delete(oldest)
    }
  }

  /** One look at a time for each tenant. */
  function look(tenant: string): Promise<void> {
    const under = loading.get(tenant)
    if (under) return under
    const work = load(tenant).finally(() => loading.delete(tenant))
    loading.set(tenant, work)
    return work
  }

  const isOld = (of: Held): boolean => clock.monotonic() - of.checkedAt >= CHECK_MS

  /** @throws Fault `content_destroyed` · `store_unavailable` for a tenant that no statement of this process has named lately */
  function use(tenant: string): Held {
    const of = held.get(tenant)
    if (of === null) throw new Fault('content_destroyed')
    if (of === undefined || isOld(of)) void look(tenant).catch(() => {})
    if (of === undefined) throw new Fault('store_unavailable', 'The keys of this tenant are not at hand yet.')
    return of
  }

  return {
    ready(tenant) {
      const of = held.get(tenant)
      if (of === null || (of !== undefined && !isOld(of))) return undefined
      return look(tenant)
    },
    seal(tenant, plain) {
      const of = use(tenant)
      const key = of.epochs.get(of.epoch)
      if (!key) throw new Fault('internal')
      of.sealed += 1
      return sealUnder(key, tenant, of.epoch, random.bytes(NONCE_BYTES), plain)
    },
    open(tenant, sealed) {
      const of = use(tenant)
      if (sealed[0] === PLAIN && !refusePlain) return plainSealer.open(tenant, sealed)
      const key = sealed[0] === ENVELOPE ? of.epochs.get(epochOf(sealed)) : undefined
      if (!key) throw new Fault('content_damaged', 'Content is sealed by a key that this tenant does not have.')
      return openUnder(key, tenant, sealed)
    },
    hash(tenant, purpose, text) {
      const { hashes, root } = use(tenant)
      let key = hashes.get(purpose)
      if (!key) hashes.set(purpose, (key = derived(root, tenant, `hash.${purpose}`)))
      return createHmac('sha256', key).update(text).digest()
    },
    veil: (tenant, text) => veilUnder(use(tenant).veil, text),
    unveil: (tenant, veiled) => {
      const { veil } = use(tenant)
      return isVeiled(veiled) ? unveilUnder(veil, veiled) : veiled
    },
    async rotate(tenant) {
      await look(tenant)
      const { newest } = use(tenant)
      await make(tenant, newest + 1)
      await look(tenant)
      return use(tenant).newest
    },
    async rewrap(tenant) {
      let done = 0
      for (const row of await rowsOf(tenant)) {
        if (row.destroyed || row.kek === keys.id) continue
        const { kek, bytes } = await keys.wrap(tenant, await unwrapped(tenant, row))
        const params = { tenant, epoch: row.epoch, kek, wrapped: bytes, from: row.kek }
        done += (await db.write(scopeOf(tenant), rewrapTenantKey, params)).length
      }
      return done
    },
    forget: (tenant) => void held.delete(tenant),
  }
}

/** The same store, in which a statement comes back when the keys of each tenant are at hand that it names, or that it found. */
export function keyedDb(db: Db, ring: Keyring): Db {
  return {
    engine: db.engine,
    async call(statement, params) {
      const tenant = tenantOf(params)
      if (tenant !== null) await ring.ready(tenant)
      const rows = await db.call(statement, params)
      // of many tenants one whose keys cannot be had must not hold up the others: it fails when it is used
      const found = new Set(rows.map(tenantOf).filter((name) => name !== null))
      if (found.size > 0) await Promise.allSettled([...found].map(async (name) => ring.ready(name)))
      return rows
    },
    async read(scope, statement, params) {
      await ring.ready(scope.tenant)
      return db.read(scope, statement, params)
    },
    async write(scope, statement, params) {
      await ring.ready(scope.tenant)
      return db.write(scope, statement, params)
    },
    close: () => db.close(),
  }
}

function tenantOf(named: unknown): string | null {
  const tenant = typeof named === 'object' && named !== null && 'tenant' in named ? named.tenant : null
  return typeof tenant === 'string' && tenant !== '' ? tenant : null
}
