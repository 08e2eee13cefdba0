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

const SQLSTATE = /^[0-9A-Z]{5}$/
/** Data exceptions: their message is the value that was refused. Messages of all others hold names alone. */
const OF_VALUES = /^22/
const NAMES = ['code', 'severity', 'schema', 'table', 'column', 'dataType', 'constraint', 'routine'] as const

/**
 * What the server says of an error, without the values of its statement: both drivers hang them to it, as its detail, the
 * line of the JSON, or the parameters themselves, and whoever prints it prints all of that.
 */
function withoutValues(error: unknown): unknown {
  const code = codeOf(error)
  if (!(error instanceof Error) || !SQLSTATE.test(code)) return error
  const said = OF_VALUES.test(code) ? 'The store refused a value of a statement.' : error.message
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  const told = Object.assign(new Error(said), { name: 'StoreError' })
  told.stack = [`${told.name}: ${said}`, ...frames].join('\n')
  for (const name of NAMES) if (name in error) Object.assign(told, { [name]: error[name as keyof Error] })
  return told
}

/** A connection error becomes a fault without host, user or password in it; any other stays what it is, without values. */
export function storeFault(thrown: unknown): unknown {
  const code = codeOf(thrown)
  const error = withoutValues(thrown)
  if (NO_TEXT.test(code)) return new Fault('invalid_text', undefined, { cause: error })
  if (unreachable(thrown)) {
    const hint =
      code === '3D000' ? 'The database does not exist.' : /^28/.test(code) ? 'The server refused the login.' : undefined
    return new Fault('store_unavailable', hint, { cause: error })
  }
  return error
}
