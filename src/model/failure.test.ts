import { describe, expect, it } from 'vitest'
import type { Random } from '../kernel/random.ts'
import { failureOfEvent, failureOfStatus, failureOfThrown, parseRetryAfter, retryDelay } from './failure.ts'

const NOW = Date.UTC(2026, 10, 30, 12, 0, 0)
const error = (fields: object): object => ({ error: fields })

describe('the class of an HTTP answer', () => {
  it.each([
    [400, error({ type: 'invalid_request_error' }), 'model_invalid_request'],
    [400, error({ code: 'content_policy_violation', type: 'invalid_request_error' }), 'model_content_policy'],
    [400, error({ code: 'x', innererror: { code: 'ResponsibleAIPolicyViolation' } }), 'model_content_policy'],
    [400, error({ code: 'context_length_exceeded' }), 'model_context_overflow'],
    [400, { message: "This model's maximum context length is 8192 tokens." }, 'model_context_overflow'],
    [401, 'Unauthorized', 'model_auth'],
    [402, '', 'model_auth'],
    [403, null, 'model_auth'],
    [404, error({ code: 'model_not_found' }), 'model_invalid_request'],
    [408, '', 'model_transient'],
    [409, '', 'model_invalid_request'],
    [413, '', 'model_invalid_request'],
    [422, '', 'model_invalid_request'],
    [429, error({ code: 'rate_limit_exceeded' }), 'model_rate_limited'],
    [429, error({ code: 'insufficient_quota' }), 'model_auth'],
    [500, '<html>', 'model_transient'],
    [503, '', 'model_transient'],
    [529, error({ type: 'overloaded_error' }), 'model_transient'],
    [302, '', 'model_invalid_request'],
    [204, '', 'model_unclassified'],
  ])('N1 %d is told apart by its status and its code: %j', (status, body, code) => {
    expect(failureOfStatus(status, body).code).toBe(code)
  })

  it('N1 an error that cannot even be read is a failure like any other', () => {
    const hostile = new Proxy(
      {},
      {
        get() {
          throw new Error('no')
        },
      },
    )
    const getter = {
      get code() {
        throw new Error('no')
      },
    }
    for (const thrown of [hostile, getter]) expect(failureOfThrown(thrown, 0)).toEqual({ code: 'model_unclassified' })
  })

  it('N1 the time to wait is kept for rate limits and outages only', () => {
    expect(failureOfStatus(429, '', 2000)).toEqual({ code: 'model_rate_limited', retryAfterMs: 2000 })
    expect(failureOfStatus(503, '', 10)).toEqual({ code: 'model_transient', retryAfterMs: 10 })
    expect(failureOfStatus(401, '', 10)).toEqual({ code: 'model_auth' })
  })
})

describe('the class of an error inside a stream', () => {
  it.each([
    [{ message: 'overloaded', type: 'server_error', code: 'x' }, 'model_transient'],
    [{ code: 429, message: 'slow down' }, 'model_rate_limited'],
    [{ code: '502', message: 'bad gateway' }, 'model_transient'],
    [{ type: 'rate_limit_error' }, 'model_rate_limited'],
    [error({ type: 'authentication_error' }), 'model_auth'],
    [{ code: 'content_filter' }, 'model_content_policy'],
    [{ message: 'something' }, 'model_unclassified'],
    ['text', 'model_unclassified'],
    [null, 'model_unclassified'],
  ])('N1 %j', (event, code) => {
    expect(failureOfEvent(event).code).toBe(code)
  })
})

describe('the class of what was thrown', () => {
  const thrown = (name: string, fields: object, cause?: unknown): Error => {
    const made = Object.assign(new Error('text of the provider', { cause }), fields)
    made.name = name
    return made
  }
  const reset = thrown('Error', { code: 'ECONNRESET' })
  it.each([
    [
      'a refused connection',
      Object.assign(new TypeError('fetch failed'), { cause: thrown('Error', { code: 'ECONNREFUSED' }) }),
      'model_transient',
    ],
    [
      'a cut body',
      Object.assign(new TypeError('terminated'), { cause: thrown('SocketError', { code: 'UND_ERR_SOCKET' }) }),
      'model_transient',
    ],
    [
      'a reset that calls itself status 200',
      thrown('AI_APICallError', { statusCode: 200, isRetryable: true }, reset),
      'model_transient',
    ],
    ['an API call without status', thrown('AI_APICallError', {}), 'model_transient'],
    ['an API call with status 401', thrown('AI_APICallError', { statusCode: 401 }), 'model_auth'],
    [
      'a quota in a body',
      thrown('AI_APICallError', { statusCode: 429, responseBody: '{"error":{"code":"insufficient_quota"}}' }),
      'model_auth',
    ],
    ['an unreadable body', thrown('AI_JSONParseError', {}), 'model_protocol'],
    ['a missing key', thrown('AI_LoadAPIKeyError', {}), 'model_auth'],
    [
      'an untrusted certificate',
      Object.assign(new TypeError('fetch failed'), { cause: thrown('Error', { code: 'CERT_HAS_EXPIRED' }) }),
      'model_unclassified',
    ],
    ['a fault of our own code', new TypeError('x is not a function'), 'model_unclassified'],
    ['no error at all', undefined, 'model_unclassified'],
  ])('N1 %s', (_, value, code) => {
    expect(failureOfThrown(value, NOW).code).toBe(code)
  })

  it('N1 Retry-After of an API call is read', () => {
    const limited = thrown('AI_APICallError', { statusCode: 429, responseHeaders: { 'retry-after': '2' } })
    expect(failureOfThrown(limited, NOW)).toEqual({ code: 'model_rate_limited', retryAfterMs: 2000 })
  })
})

describe('Retry-After', () => {
  it.each([
    ['2', 2000],
    ['0', 0],
    ['1.5', 1500],
    ['Mon, 30 Nov 2026 12:00:07 GMT', 7000],
    ['Mon, 30 Nov 2026 11:00:00 GMT', 0],
    ['999999999', 86_400_000],
    ['-5', undefined],
    ['soon', undefined],
    ['', undefined],
    [null, undefined],
  ])('N1 %j is %s ms', (value, ms) => {
    expect(parseRetryAfter((name) => (name === 'retry-after' ? value : null), NOW)).toBe(ms)
  })

  it('N1 the finer header wins', () => {
    expect(parseRetryAfter((name) => (name === 'retry-after' ? '60' : '250'), NOW)).toBe(250)
  })
})

describe('the delay before a repeat', () => {
  const random = (fraction: number): Random => ({ fraction: () => fraction, bytes: (n) => new Uint8Array(n) })
  const transient = { code: 'model_transient', hadOutput: false } as const

  it('N1 nothing is repeated after output, and nothing but transient failures and rate limits', () => {
    expect(retryDelay(1, { ...transient, hadOutput: true }, random(0.5))).toBeNull()
    expect(retryDelay(1, { code: 'model_rate_limited', hadOutput: true, retryAfterMs: 1 }, random(0.5))).toBeNull()
    for (const code of [
      'model_auth',
      'model_invalid_request',
      'model_protocol',
      'model_unclassified',
      'model_content_policy',
      'model_unavailable',
    ] as const) {
      expect(retryDelay(1, { code, hadOutput: false }, random(0.5))).toBeNull()
    }
  })

  it('N1 full jitter under a doubling, capped ceiling', () => {
    expect([1, 2, 3, 20].map((attempt) => retryDelay(attempt, transient, random(0.999_999)))).toEqual([
      500, 1000, 2000, 20_000,
    ])
    expect(retryDelay(5, transient, random(0))).toBe(0)
  })

  it('N1 the time that the provider names is waited out in full', () => {
    expect(retryDelay(1, { code: 'model_rate_limited', retryAfterMs: 30_000, hadOutput: false }, random(0))).toBe(
      30_000,
    )
    expect(retryDelay(1, { code: 'model_rate_limited', retryAfterMs: 30_000, hadOutput: false }, random(0.999))).toBe(
      30_500,
    )
  })
})
