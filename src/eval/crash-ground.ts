/** What the cases of the crash runs stand on. */
import { join } from 'node:path'
import { migrate } from '../db/migrate.ts'
import { openMigrator, openPostgres } from '../db/postgres.ts'
import { openWitness } from '../db/witness.ts'
import { startEffectProvider } from '../testing/effect-provider.ts'
import type { CrashGround } from './crash-case.ts'

export interface OpenGround extends CrashGround {
  close(): Promise<void>
}

let opened = 0

/** A migrated database with its witness, and a provider. */
export async function openCrashGround(
  url: string,
  folder: string,
  program: { readonly program?: string },
): Promise<OpenGround> {
  const migrator = await openMigrator(url)
  await migrate(migrator)
  await migrator.close()
  opened += 1
  const witness = await openWitness(url)
  const db = await openPostgres({ url, connections: 8 })
  const provider = await startEffectProvider({ log: join(folder, `effects-${opened}.jsonl`) })
  return {
    db,
    url,
    provider,
    witness,
    ...program,
    patienceMs: 60_000,
    async close() {
      await Promise.all([provider.stop(), db.close(), witness.close()])
    },
  }
}

/** A database of its own beside that of `ground`, for what would hear of everything; it is gone afterwards. */
export async function besideGround(ground: CrashGround): Promise<OpenGround> {
  const name = `plimsoll_crash_${process.pid}_${(opened += 1)}`
  const url = Object.assign(new URL(ground.url), { pathname: `/${name}` }).toString()
  const over = async (text: string): Promise<void> => {
    const migrator = await openMigrator(ground.url)
    await migrator.query(text, [])
    await migrator.close()
  }
  await over(`create database ${name}`)
  const own = await openMigrator(url)
  await migrate(own)
  await own.close()
  const [witness, db] = [await openWitness(url), await openPostgres({ url, connections: 4 })]
  return {
    ...ground,
    db,
    url,
    witness,
    async close() {
      await Promise.all([db.close(), witness.close()])
      await over(`drop database ${name} with (force)`)
    },
  }
}
