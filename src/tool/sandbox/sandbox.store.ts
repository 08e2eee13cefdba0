import type { Db } from '../../db/port.ts'
import type { Scope } from '../../kernel/scope.ts'
import { overSessions } from './sandbox.sql.ts'

/** Of these conversations, those that are terminated: no run of theirs works any more, and none will. */
export async function terminated(
  db: Db,
  walls: Pick<Scope, 'tenant' | 'environment'>,
  sessions: readonly string[],
): Promise<readonly string[]> {
  const rows = await db.read(walls, overSessions, { tenant: walls.tenant, sessions: [...sessions] })
  return rows.map((row) => row.id)
}
