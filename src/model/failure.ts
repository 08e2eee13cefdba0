/**
 * Every way in which a provider can fail, as one of our codes.
 *
 * N1  only transient failures and rate limits, and only before any output, are repeated; with jitter and Retry-After
 * B6  codes leave this file, texts of the provider do not
 */
import type { FaultCode } from '../kernel/fault.ts'
import type { Random } from '../kernel/random.ts'

export type ModelFaultCode = Extract<FaultCode, `model_${string}`>

export interface Failure {
  readonly code: ModelFaultCode
  readonly retryAfterMs?: number
}

/** A provider that asks for more than a day has no rate limit but an outage. */
const LONGEST_RETRY_AFTER_MS = 86_400_000

/** Milliseconds from `Retry-After` (seconds or an HTTP date) or its finer relative `retry-after-ms`; absent if unreadable. */
export function parseRetryAfter(
  header: (name: string) => string | null | undefined,
  nowMs: number,
): number | undefined {
  const fine = header('retry-after-ms')?.trim() ?? ''
  if (/^\d+(?:\.\d+)?$/.test(fine)) return Math.min(Math.ceil(Number(fine)), LONGEST_RETRY_AFTER_MS)
  const text = header('retry-after')?.trim() ?? ''
  if (/^\d+(?:\.\d+)?$/.test(text)) return Math.min(Math.ceil(Number(text) * 1000), LONGEST_RETRY_AFTER_MS)
  // Only the forms of HTTP dates, which begin with a weekday: a lenient parser would read "-5" as a year.
  const date = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.min(Math.max(0, date - nowMs), LONGEST_RETRY_AFTER_MS)
}

const withRetryAfter = (code: ModelFaultCode, retryAfterMs: number | undefined): Failure =>
  retryAfterMs === undefined ? { code } : { code, retryAfterMs }

/** An HTTP answer that is not a stream. `body` is the parsed JSON, or the text where it is none. */
export function failureOfStatus(status: number, body: unknown, retryAfterMs?: number): Failure {
  const named = codeOfWords(wordsOf(body))
  const isRefusal = named === 'model_content_policy' || named === 'model_context_overflow'
  if (isRefusal && status >= 400 && status < 500) return { code: named }
  if (status === 429)
    return named === 'model_auth' ? { code: named } : withRetryAfter('model_rate_limited', retryAfterMs)
  if (status === 408 || status === 425 || status >= 500) return withRetryAfter('model_transient', retryAfterMs)
  if (status === 401 || status === 402 || status === 403) return { code: 'model_auth' }
  // A redirect is a wrong base URL, and following one would carry the key to another host.
  if (status >= 300 && status < 500) return { code: 'model_invalid_request' }
  return { code: 'model_unclassified' }
}

/** An error object inside a stream that began well. */
export function failureOfEvent(error: unknown): Failure {
  const words = wordsOf(error)
  const status = words.numbers.find((n) => n >= 400 && n < 600)
  const named = codeOfWords(words)
  if (named !== null) return { code: named }
  return status === undefined ? { code: 'model_unclassified' } : failureOfStatus(status, error)
}

/** Whatever was thrown while asking or reading; the signal has been looked at before. */
export function failureOfThrown(error: unknown, nowMs: number): Failure {
  try {
    return failureOfLinks(causes(error), nowMs)
  } catch {
    // a getter or a proxy may throw anything when it is read
    return { code: 'model_unclassified' }
  }
}

function failureOfLinks(links: readonly Link[], nowMs: number): Failure {
  for (const link of links) {
    const status = link['statusCode']
    if (typeof status === 'number' && status >= 300) return failureOfApiCall(status, link, nowMs)
  }
  const byName = links.map((link) => CODE_OF_NAME[textOf(link['name'])]).find((code) => code !== undefined)
  if (byName !== undefined) return { code: byName }
  const codes = links.map((link) => textOf(link['code']))
  if (codes.some((code) => /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code))) return { code: 'model_unclassified' }
  const isBroken = codes.some((code) => NETWORK_CODE.test(code)) || links.some(isBrokenConnection)
  return { code: isBroken ? 'model_transient' : 'model_unclassified' }
}

const NETWORK_CODE =
  /^(?:ECONN(?:RESET|REFUSED|ABORTED)|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|E(?:HOST|NET)UNREACH|ENETDOWN|UND_ERR_[A-Z_]+)$/

/** What fetch throws, which has no code of its own, and a failed call of the AI SDK with a success status or none. */
const isBrokenConnection = (link: Link): boolean =>
  link['name'] === 'AI_APICallError' ||
  (link['name'] === 'TypeError' && /^(?:fetch failed|terminated|network error)/i.test(textOf(link['message'])))

const CODE_OF_NAME: { readonly [name: string]: ModelFaultCode } = {
  AI_LoadAPIKeyError: 'model_auth',
  AI_NoSuchModelError: 'model_invalid_request',
  AI_InvalidPromptError: 'model_invalid_request',
  AI_InvalidArgumentError: 'model_invalid_request',
  AI_UnsupportedFunctionalityError: 'model_invalid_request',
  AI_JSONParseError: 'model_protocol',
  AI_TypeValidationError: 'model_protocol',
  AI_InvalidResponseDataError: 'model_protocol',
  AI_EmptyResponseBodyError: 'model_protocol',
  AI_NoContentGeneratedError: 'model_protocol',
  TimeoutError: 'model_transient',
}

function failureOfApiCall(status: number, link: Link, nowMs: number): Failure {
  const headers = isLink(link['responseHeaders']) ? link['responseHeaders'] : {}
  const retryAfterMs = parseRetryAfter((name) => (typeof headers[name] === 'string' ? headers[name] : null), nowMs)
  return failureOfStatus(status, parseBody(textOf(link['responseBody'])), retryAfterMs)
}

/** JSON where it is JSON, else the text: error pages of gateways are not worth a second failure. */
export function parseBody(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

type Link = { readonly [field: string]: unknown }
const isLink = (value: unknown): value is Link => typeof value === 'object' && value !== null

function causes(error: unknown): readonly Link[] {
  const links: Link[] = []
  let next = error
  while (isLink(next) && links.length < 5) {
    links.push(next)
    next = next['cause']
  }
  return links
}

interface Words {
  /** Values of `code`, `type`, `status` and `message`, lower case, at most two levels deep. */
  readonly texts: readonly string[]
  readonly numbers: readonly number[]
}

function wordsOf(body: unknown): Words {
  const root = isLink(body) ? body : { message: body }
  const error = isLink(root['error']) ? root['error'] : root
  const inner = isLink(error['innererror']) ? error['innererror'] : {}
  const fields = [root, error, inner].flatMap((part) => ['code', 'type', 'status', 'message'].map((name) => part[name]))
  return {
    texts: fields.filter((value) => typeof value === 'string').map((text) => text.slice(0, 2_000).toLowerCase()),
    numbers: fields
      .map((value) => (typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value))
      .filter((value) => typeof value === 'number'),
  }
}

/** In this order: a filtered prompt is also an `invalid_request_error`. Sentences count only where no code exists. */
const CODE_OF_WORD: readonly (readonly [ModelFaultCode, RegExp])[] = [
  [
    'model_content_policy',
    /^(?:content_policy_violation|content_filter|moderation_blocked|responsibleaipolicyviolation|content_policy)$/,
  ],
  [
    'model_context_overflow',
    /^(?:context_length_exceeded|exceed_context_size_error)$|maximum context length|prompt is too long|context window/,
  ],
  [
    'model_auth',
    /^(?:insufficient_quota|billing_hard_limit_reached|invalid_api_key|authentication_error|permission_error)$/,
  ],
  ['model_rate_limited', /^(?:rate_limit_exceeded|rate_limit_error|too_many_requests|resource_exhausted)$/],
  [
    'model_transient',
    /^(?:overloaded(?:_error)?|server_error|internal_server_error|internal_error|api_error|timeout|service_unavailable)$/,
  ],
  ['model_invalid_request', /^(?:invalid_request_error|not_found_error|model_not_found)$/],
]

const codeOfWords = (words: Words): ModelFaultCode | null =>
  CODE_OF_WORD.find(([, pattern]) => words.texts.some((text) => pattern.test(text)))?.[0] ?? null

const FIRST_DELAY_MS = 500
const LONGEST_DELAY_MS = 20_000

/**
 * How long to wait before attempt `attempt + 1`, or `null` when it must not be repeated. Full jitter, so that many runs
 * do not return together; a time that the provider names is waited out in full, plus up to one first delay.
 */
export function retryDelay(
  attempt: number,
  failure: Failure & { readonly hadOutput: boolean },
  random: Random,
): number | null {
  if (failure.hadOutput) return null
  if (failure.code !== 'model_transient' && failure.code !== 'model_rate_limited') return null
  if (failure.retryAfterMs !== undefined) return failure.retryAfterMs + Math.ceil(random.fraction() * FIRST_DELAY_MS)
  const ceiling = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1))
  return Math.ceil(random.fraction() * ceiling)
}
