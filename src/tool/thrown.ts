/**
 * What tools and vaults throw, for whoever runs them. It may hold addresses, statements and values of a call, so it is handed to
 * the program as it is (`onToolError`) and to no log of ours: a log has the line below, of which nothing is a value.
 */
import { Fault, FAULTS } from '../kernel/fault.ts'

export interface ThrownAt {
  readonly tool: string
  readonly version: number
  readonly tenant: string
  readonly environment: string
  readonly run: string
  readonly step: number
  readonly position: number
}

/** `thrown` is whatever was thrown, or a Fault: `tool_timeout`, `credential_missing`. */
export type OnToolError = (thrown: unknown, at: ThrownAt) => void

/** A class by its name, and not a sentence that somebody has put there. */
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
/** As Node and PostgreSQL write them: `ECONNREFUSED`, `ERR_INVALID_URL`, `23505`. */
const CODE = /^(?:[A-Z][A-Z0-9_]{1,39}|[0-9A-Z]{5})$/
/** As `toolError` is given them. */
const TOOL_CODE = /^[a-z][a-z0-9_]{0,39}$/
const FRAME = /^\s+at (?:.*\()?(?:file:\/\/)?([^()\s]*?[^/()\s]+\.[cm]?[jt]sx?:\d+:\d+)\)?$/
const CAUSES = 3

/** `orders.refund@1 threw TypeError at refund.ts:31:9 in run_…/2/0`: class, code and place of what was thrown and of its causes. */
export function thrownLine(thrown: unknown, at: ThrownAt): string {
  const who = `${at.tool}@${at.version}`
  const where = `in ${at.run}/${at.step}/${at.position}`
  if (Fault.is(thrown)) return `${who}: ${thrown.code}, ${thrown.message} ${where}`
  const parts: string[] = []
  for (let one = thrown; one instanceof Error && parts.length < CAUSES; one = one.cause) parts.push(partOf(one))
  return `${who} threw ${parts.length > 0 ? parts.join(', because of ') : typeof thrown} ${where}`
}

function partOf(error: Error): string {
  const name = NAME.test(error.name) ? error.name : 'Error'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const isOurs = error.name === 'ToolError' ? TOOL_CODE.test(code) : CODE.test(code) || Object.hasOwn(FAULTS, code)
  const place = placeOf(error)
  return `${name}${isOurs ? ` ${code}` : ''}${place === null ? '' : ` at ${place}`}`
}

/** The innermost line of code that is no library's; the message, which may have lines of its own, is not looked at. */
function placeOf({ stack, message }: Error): string | null {
  if (typeof stack !== 'string') return null
  const frames = stack.slice(stack.indexOf(message) + message.length).split('\n')
  const places = frames.flatMap((line) => FRAME.exec(line)?.[1] ?? [])
  const own = places.find((place) => !place.includes('/node_modules/') && !place.startsWith('node:')) ?? places[0]
  return own?.split('/').at(-1) ?? null
}
