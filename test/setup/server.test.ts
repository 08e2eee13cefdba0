import pg from 'pg'
import { inject, it } from 'vitest'
import { expect } from 'vitest'

const url = inject('postgres')

it.skipIf(!url)(
  'house: the suite provides a real PostgreSQL, to workers and to the processes that they start',
  async () => {
    expect(process.env.PLIMSOLL_TEST_PG).toBe(url)
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query('select rolcreatedb, rolcreaterole from pg_roles where rolname = current_user')
    await client.end()
    expect(rows).toEqual([{ rolcreatedb: true, rolcreaterole: true }])
  },
)
