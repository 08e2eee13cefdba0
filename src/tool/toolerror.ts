/**
 * What a tool throws, and what is left of it for the model (B6).
 *
 * A driver puts host, user and password into its message, a file system the path, a database the statement. So nothing
 * of a thrown value passes but a code that the contract declares and a hint that the author wrote for the model.
 */
import type { FaultKind } from '../kernel/fault.ts'
import { cutText } from '../kernel/grapheme.ts'
import { isDamagedText } from '../kernel/json.ts'
import type { Contract, ErrorClass } from './contract.ts'

/** Bytes of a hint: two or three sentences. */
const HINT_BYTES = 400

export const ERROR_MESSAGES: Record<FaultKind, string> = {
  transient: 'The provider failed for a moment.',
  rate_limited: 'The provider limits the rate.',
  invalid_request: 'The provider refused the request.',
  validation: 'The provider refused the values.',
  auth: 'The tool is not allowed to reach its provider.',
  permission_denied: 'This actor may not do this.',
  business_rejected: 'A rule of the business refused this.',
  conflict: 'The resource changed meanwhile.',
  not_found: 'There is no such resource.',
  content_policy: 'The provider filtered the content.',
  canceled: 'The call was canceled.',
  budget: 'The budget does not cover this.',
  unavailable: 'The provider is not available.',
  overloaded: 'Too much is waiting already.',
  unknown_outcome: 'It is not known whether the action happened.',
  corrupt_output: 'The provider answered in a damaged form.',
  unclassified: 'The tool failed.',
}

const NEXT: Record<ErrorClass['reaction'], string> = {
  retry: 'Try again later.',
  fix_arguments: 'Correct the arguments and call again.',
  replan: 'Do not repeat the call; choose another way or tell the user.',
  stop: 'Stop and tell the user.',
}

/**
 * To be thrown by an implementation. `code` is one of the contract's error codes; `hint` is read by the model; `afterMs` is
 * the provider's `Retry-After`, before which no attempt is made again; `cause` is for whoever runs the tool, see `onToolError`.
 */
export function toolError(
  code: string,
  hint = '',
  { afterMs = 0, cause }: { readonly afterMs?: number; readonly cause?: unknown } = {},
): Error {
  const error = new Error(`tool error ${code}`, cause === undefined ? undefined : { cause })
  return Object.assign(error, { name: 'ToolError', code, hint, afterMs })
}

export interface DeclaredError {
  readonly code: string
  readonly class: ErrorClass
  /** The author's, when it was written for the model; otherwise that of the reaction. */
  readonly hint: string
  readonly afterMs: number
}

/** The declared error that was thrown, or null for everything else. Reading it may throw again: that is also null. */
export function declaredError(contract: Pick<Contract, 'errors'>, thrown: unknown): DeclaredError | null {
  try {
    if (!(thrown instanceof Error) || thrown.name !== 'ToolError' || !('code' in thrown)) return null
    const code = String(thrown.code)
    const found = Object.hasOwn(contract.errors, code) ? contract.errors[code] : undefined
    const hint = 'hint' in thrown && typeof thrown.hint === 'string' ? safeHint(thrown.hint) : null
    const afterMs = 'afterMs' in thrown && typeof thrown.afterMs === 'number' ? thrown.afterMs : 0
    return found ? { code, class: found, hint: hint ?? NEXT[found.reaction], afterMs } : null
  } catch {
    return null
  }
}

/** Signs that a hint was not written for the model but copied from a driver. One of them drops the hint whole. */
const COPIED: readonly RegExp[] = [
  /[a-z][a-z0-9+.-]*:\/\//i, // address or connection string
  /^\s*at\s.+[:(]\d+/m, // stack
  /(^|[\s"'(=:])(~|\.{0,2})(\/[\w.@-]+){2,}/, // path
  /\b[A-Za-z]:\\/, // path of Windows
  /\b(SELECT|INSERT INTO|UPDATE \S+ SET|DELETE FROM|FROM \S+ WHERE)\b/, // statement
  /\bselect\s[\s\S]*\sfrom\s\S+\s+where\b/i,
  /\b(pass(word|wd)?|pwd|secret|token|api[_-]?key|authorization|bearer)\b\s*[:=]/i, // credential
  /\b[\w-]+(\.[\w-]+)+:\d{2,5}\b/, // host and port
  /\b\d{1,3}(\.\d{1,3}){3}\b/, // address
]

function safeHint(hint: string): string | null {
  const text = hint.trim()
  // The signs are looked for in a bounded piece: a longer text is no hint.
  if (text === '' || text.length > 4 * HINT_BYTES || isDamagedText(text)) return null
  return COPIED.some((sign) => sign.test(text)) ? null : cutText(text, HINT_BYTES)
}
