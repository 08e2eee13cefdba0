/** The life of a process that serves: its store, its words, and the signal that ends it. */
import { join } from 'node:path'
import { createRuntime, type Db, Fault, openStore, type Runtime } from '../index.ts'
import { EXIT } from '../kernel/fault.ts'
import { keyFileOf, restoreFolder } from '../keys.ts'
import { type ObjectStore, openObjects } from '../objects.ts'
import type { Definition } from './definition.ts'
import { failure, type Output } from './output.ts'

/** Resolves at the first SIGINT or SIGTERM; a second one ends the process at once. */
export function stopAsked(): Promise<void> {
  return new Promise((resolve) => {
    let isAsked = false
    const asked = (): void => {
      if (isAsked) process.exit(EXIT.interrupted)
      isAsked = true
      resolve()
    }
    process.on('SIGINT', asked)
    process.on('SIGTERM', asked)
  })
}

/** @throws Fault `schema_older` when the store lacks a migration · `sealing_key_missing`, `sealing_key_unfit` */
export async function openRuntime(
  { db: place, data }: { readonly db: string | undefined; readonly data: string },
  { agents, runtime: told }: Definition,
): Promise<{ readonly db: Db; readonly runtime: Runtime }> {
  const db = await openStore(place ?? join(data, 'store'))
  try {
    const why = await createRuntime({ db, agents: [] }).ready()
    if (why !== null) throw new Fault('schema_older')
    const keys = told.keys ?? (await keyFileOf(db, keyFileIn(data)))
    const objects = objectsOf(data, process.env)
    const restoreLog = restoreFolder(restoreFolderIn(data))
    const folders = join(data, 'folders')
    const refusePlain = process.env['PLIMSOLL_PLAIN_CONTENT'] === 'refuse'
    const days = Number(process.env['PLIMSOLL_BACKUP_DAYS'])
    const backups = days > 0 ? { backupDays: days } : {}
    const runtime = createRuntime({ objects, ...told, ...backups, keys, refusePlain, restoreLog, db, agents, folders })
    await runtime.tenants.restore()
    return { db, runtime }
  } catch (error) {
    await db.close()
    throw error
  }
}

/** Beside the store and not in it: a dump of the database holds no key that opens it. */
export const keyFileIn = (data: string): string => process.env['PLIMSOLL_KEY_FILE'] || join(data, 'key.json')

/** Shared by all machines of one database; kept longer than any backup. */
export const restoreFolderIn = (data: string): string => process.env['PLIMSOLL_RESTORE_LOG'] || join(data, 'restore')

/** A folder beside the store, or what PLIMSOLL_OBJECTS names: another folder, or a bucket with the usual AWS_ variables. */
function objectsOf(data: string, env: NodeJS.ProcessEnv): ObjectStore {
  const place = env['PLIMSOLL_OBJECTS'] || join(data, 'objects')
  return openObjects(place, {
    accessKeyId: env['AWS_ACCESS_KEY_ID'] ?? '',
    secretAccessKey: env['AWS_SECRET_ACCESS_KEY'] ?? '',
    ...(env['AWS_SESSION_TOKEN'] && { sessionToken: env['AWS_SESSION_TOKEN'] }),
    ...(env['AWS_REGION'] && { region: env['AWS_REGION'] }),
  })
}

/** Runs and codes only: what a run said or did is not for a log. */
export const reportTo =
  (out: Output) =>
  (error: unknown, where: { readonly run: string } | null): void =>
    out.note(`${failure(error).line}${where ? ` in ${where.run}` : ''}`)
