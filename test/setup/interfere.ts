/** A store whose calls of one statement go through other hands. */
import type { Db, Statement } from '../../src/db/port.ts'

/** `how` is given the statement's parameters and what sends it. */
export function interfere<P, R>(
  db: Db,
  statement: Statement<P, R>,
  how: (params: P, send: () => Promise<R[]>) => Promise<R[]>,
): Db {
  return {
    ...db,
    call: (asked, params) =>
      (asked as unknown) === statement
        ? (how(params as never, () => db.call(statement, params as never)) as never)
        : db.call(asked, params),
  }
}
