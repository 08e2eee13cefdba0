/** A migrated database of a test file's own on the server of the suite. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import { migrate } from '../../src/db/migrate.ts'
import { openMigrator } from '../../src/db/postgres.ts'

export interface TestDatabase {
  readonly url: string
  /** With all rights. */
  admin(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>
  drop(): Promise<void>
}

export async function testDatabase(server = inject('postgres')): Promise<TestDatabase> {
  const name = `plimsoll_recovery_${randomBytes(6).toString('hex')}`
  await once(server, `create database ${name}`)
  const url = Object.assign(new URL(server), { pathname: `/${name}` }).toString()
  const migrator = await openMigrator(url)
  await migrate(migrator)
  await migrator.close()
  const types = { getTypeParser: (oid: number, format?: string): unknown => (oid === 20 ? Number : pg.types.getTypeParser(oid, format as 'text')) }
  const pool = new pg.Pool({ connectionString: url, max: 2, types: types as pg.CustomTypesConfig, application_name: 'test' })
  pool.on('error', () => {})
  return {
    url,
    admin: async (text, values) => (await pool.query(text, values as unknown[])).rows,
    async drop() {
      await pool.end()
      await once(server, `drop database ${name} with (force)`)
    },
  }
}

async function once(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}
