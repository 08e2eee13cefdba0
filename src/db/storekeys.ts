/** Whether keys and database belong together, and the change of the key that wraps all others. */
import { Fault } from '../kernel/fault.ts'
import { type KeyFile, openKeyFile } from './keyfile.ts'
import type { Keyring } from './keyring.ts'
import type { Db } from './port.ts'
import { keysUnderOthers } from './tenantkey.sql.ts'

const AT_A_TIME = 100

/**
 * The key file of this database, made where nothing is sealed yet.
 * @throws Fault `sealing_key_missing` where something is sealed and there is no file · `sealing_key_unfit`
 */
export async function keyFileOf(db: Db, path: string): Promise<KeyFile> {
  const isSealed = (await db.call(keysUnderOthers, { keks: [], limit: 1 })).length > 0
  const file = await openKeyFile(path, !isSealed)
  const [other] = await db.call(keysUnderOthers, { keks: [...file.ids], limit: 1 })
  if (!other) return file
  throw new Fault('sealing_key_unfit', `Keys of this database are wrapped by ${other.kek}, which is not in ${path}.`)
}

/** Wraps the keys of all tenants by `id`, the current key of the ring's provider. How many there were. */
export async function rewrapAll(db: Db, ring: Keyring, id: string): Promise<number> {
  for (let done = 0; ; ) {
    const rows = await db.call(keysUnderOthers, { keks: [id], limit: AT_A_TIME })
    if (rows.length === 0) return done
    let now = 0
    for (const tenant of new Set(rows.map((row) => row.tenant))) now += await ring.rewrap(tenant)
    if (now === 0) throw new Fault('conflict', 'Somebody else wraps the keys at this moment.')
    done += now
  }
}
