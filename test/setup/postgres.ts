import type { TestProject } from 'vitest/node'
import { startPostgres } from './server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Admin URL of a real PostgreSQL; empty when there is none, and then its tests skip. */
    postgres: string
  }
}

/** One server for the whole run; each test file makes a database of its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // its files live as long as the run, so it need not wait for the disk; commits and crashes of processes are the same
  const server = await startPostgres({ fsync: 'off' })
  console.log(server ? `PostgreSQL ${server.version}` : 'No PostgreSQL here: the tests that need one are skipped.')
  project.provide('postgres', server?.url ?? '')
  process.env.PLIMSOLL_TEST_PG = server?.url ?? ''
  return async () => {
    await server?.stop()
  }
}
