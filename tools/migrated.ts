import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'

/** An embedded store in memory after all migrations of `folder`, in order of their names. The caller closes it. */
export async function migrated(folder: string): Promise<PGlite> {
  const db = await PGlite.create()
  for (const name of readdirSync(folder).sort()) {
    if (!name.endsWith('.sql')) continue
    try {
      await db.exec(`begin;\n${readFileSync(join(folder, name), 'utf8')}\n;commit`)
      // a migration may leave the session in a role or a search path of its own
      await db.exec('reset all; reset role')
    } catch (error) {
      await db.close()
      throw new Error(`${name}: ${describeError(error)}`, { cause: error })
    }
  }
  return db
}

function describeError(error: unknown): string {
  const { message, position, detail } = error as { message?: string; position?: string; detail?: string }
  return [message, position && `at character ${position}`, detail].filter(Boolean).join(', ')
}
