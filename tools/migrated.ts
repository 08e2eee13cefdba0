import { PGlite } from '@electric-sql/pglite'
import { migrate, shippedMigrations } from '../src/db/migrate.ts'

/** An embedded store in memory after all migrations of `folder`, run as the product runs them. The caller closes it. */
export async function migrated(folder: string): Promise<PGlite> {
  const db = await PGlite.create()
  try {
    const door = {
      query: async (text: string, values?: readonly unknown[]) =>
        (await db.query<Record<string, unknown>>(text, values && [...values])).rows,
      script: async (text: string) => {
        await db.exec(text)
      },
    }
    await migrate(door, shippedMigrations(folder))
    return db
  } catch (error) {
    await db.close()
    throw error
  }
}
