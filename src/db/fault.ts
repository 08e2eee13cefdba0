/** Errors of the two drivers, as the rest of the program may see them. */
import { Fault } from '../kernel/fault.ts'

/** SQLSTATEs of a server that cannot be used right now, and codes of the socket below it. */
const UNREACHABLE = /^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EHOST|ENET|EPIPE|57P0|08|53300|3D000|28)/
/** U+0000 in a text, or its escape in a jsonb: PostgreSQL holds neither. */
const NO_TEXT = /^(22021|22P05)$/

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')

/** The connection is gone, or never was. */
export function unreachable(error: unknown): boolean {
  const text = error instanceof Error ? error.message : ''
  return (
    UNREACHABLE.test(codeOf(error)) ||
    /timeout exceeded when trying to connect|Connection terminated|Query read timeout|is not queryable/i.test(text)
  )
}

/** A serialization failure or a deadlock: nothing of the transaction has happened. */
export const isRolledBack = (error: unknown): boolean => /^(40001|40P01)$/.test(codeOf(error))

/** A connection error becomes a fault without host, user or password in it; any other stays what it is. */
export function storeFault(error: unknown): unknown {
  const code = codeOf(error)
  if (NO_TEXT.test(code)) return new Fault('invalid_text', undefined, { cause: error })
  if (unreachable(error)) {
    const hint =
      code === '3D000' ? 'The database does not exist.' : /^28/.test(code) ? 'The server refused the login.' : undefined
    return new Fault('store_unavailable', hint, { cause: error })
  }
  return error
}
