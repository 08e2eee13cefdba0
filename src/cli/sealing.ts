/** `plimsoll tenants`, `keys rotate-…` and `restore`: straight on the store, for whoever runs it; no key of the API is enough. */
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { createRuntime, Fault, openStore, type Runtime } from '../index.ts'
import { addToKeyFile, restoreFolder } from '../keys.ts'
import { type Definition, loadDefinition } from './definition.ts'
import { keyFileIn, openRuntime, restoreFolderIn } from './serve.ts'
import { type Output, usage } from './output.ts'
import { visible } from './visible.ts'

export interface StorePlace {
  readonly db: string | undefined
  readonly data: string
  /** A definition file, where its `keys` and not a key file wrap the keys of tenants. */
  readonly definition?: string
}

const NOBODY: Definition = { agents: [], runtime: {} }

async function onStore<T>(place: StorePlace, work: (runtime: Runtime) => Promise<T>): Promise<T> {
  const defined = place.definition === undefined ? NOBODY : await loadDefinition(place.definition)
  const { db, runtime } = await openRuntime(place, defined)
  try {
    return await work(runtime)
  } finally {
    await db.close()
  }
}

export interface DestroyOptions extends StorePlace {
  readonly reason: string
  /** The name again: what is destroyed does not come back. */
  readonly confirm: string
}

export async function destroyTenant(tenant: string, options: DestroyOptions, out: Output): Promise<void> {
  if (options.confirm !== tenant)
    throw usage('--confirm is not the name of the tenant.', `Write \`--confirm ${visible(tenant)}\`: this is for ever.`)
  const by = { actor: userInfo().username, reason: options.reason }
  const { outcome, runs, backupsExpireAt } = await onStore(options, (runtime) => runtime.tenants.destroy(tenant, by))
  const expire = backupsExpireAt === null ? null : new Date(backupsExpireAt).toISOString()
  out.show(
    outcome === 'destroyed'
      ? `${visible(tenant)}: its keys are destroyed, and ${runs} runs have ended. Nothing that was sealed for it can be read.`
      : `${visible(tenant)}: was destroyed before.`,
    expire === null
      ? 'Backups that were made before hold its wrapped keys until they expire; PLIMSOLL_BACKUP_DAYS says when that is.'
      : `Backups that were made before hold its wrapped keys until ${expire}.`,
  )
  out.result({ tenant, outcome, runs, backups_expire_at: expire })
}

export async function rotateData(tenant: string, options: StorePlace, out: Output): Promise<void> {
  const epoch = await onStore(options, (runtime) => runtime.tenants.rotateKey(tenant))
  out.show(
    `${visible(tenant)}: key ${epoch} is made, and seals from a minute on. What older ones have sealed stays readable.`,
  )
  out.result({ tenant, epoch })
}

export async function rotateMaster(options: StorePlace, out: Output): Promise<void> {
  // the file first fits the database as it is, then it gets another key
  if (options.definition !== undefined)
    throw usage('A service of keys rotates its own key.', 'Run `plimsoll keys rewrap` afterwards.')
  await onStore(options, () => Promise.resolve())
  const { id } = await addToKeyFile(keyFileIn(options.data))
  const rewrapped = await onStore(options, (runtime) => runtime.tenants.rewrapKeys())
  out.show(
    `${rewrapped} keys of tenants are wrapped by ${id}.`,
    'Keep the older ones in the file until the last backup that needs them has expired.',
  )
  out.result({ kek: id, rewrapped })
}

export async function rewrap(options: StorePlace, out: Output): Promise<void> {
  const rewrapped = await onStore(options, (runtime) => runtime.tenants.rewrapKeys())
  out.show(`${rewrapped} keys of tenants are wrapped anew.`)
  out.result({ rewrapped })
}

/** `check` fails when the database is older than the log. */
export async function restore(verb: 'check' | 'apply', { db: place, data }: StorePlace, out: Output): Promise<void> {
  const db = await openStore(place ?? join(data, 'store'))
  try {
    const runtime = createRuntime({ db, agents: [], restoreLog: restoreFolder(restoreFolderIn(data)) })
    const dry = verb === 'check'
    const entries = await runtime.tenants.restore({ dry })
    if (dry && entries > 0)
      throw new Fault('restore_pending', `The restore log has ${entries} entries that this database has not seen.`)
    out.show(dry ? 'The database has seen the whole log.' : `${entries} things were told to the database.`)
    out.result({ [dry ? 'pending' : 'changed']: entries })
  } finally {
    await db.close()
  }
}
