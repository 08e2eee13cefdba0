/** How much a contract may ask for: numbers with their bounds, and lists of hosts and credentials (I1). */
import { isHostPattern } from './egress/egress.ts'
import type { Rule } from './problem.ts'
import type { ToolSpec } from './spec.ts'
import type { SchemaSource } from './schema/standard.ts'

type Spec = ToolSpec<SchemaSource>

/** One hour: longer work is its own run, with a checkpoint. */
const LONGEST_CALL_MS = 3_600_000
/** One day: an older confirmation was made on another world. */
const LONGEST_CONFIRMATION_MS = 86_400_000
/** Room for the mark of a truncated result. */
const SMALLEST_RESULT_BYTES = 512
/** What one call may put on a disk that others share. */
const LARGEST_RAW_BYTES = 16 * 1024 ** 3
const CAPABILITY = /^[a-z][a-z0-9_.-]{0,62}$/
/** Each is asked for at each call. */
const MOST_CREDENTIALS = 8

export const boundRules = (s: Spec): Rule[] => [
  ...credentialRules(s),
  ...numberRules(s),
  ...hostRules(s),
  ...paceRules(s),
]

function credentialRules(s: Spec): Rule[] {
  const given: unknown = s.credentials ?? []
  const names = Array.isArray(given) ? (given as readonly unknown[]) : [null]
  const legal = names.every((name) => typeof name === 'string' && CAPABILITY.test(name))
  return [
    [
      !legal || names.length > MOST_CREDENTIALS || new Set(names).size !== names.length,
      'credentials_illegal',
      '/credentials',
      'The credentials are not a list of up to eight different capabilities in lower case.',
      "`credentials: ['payments']`.",
    ],
  ]
}

function numberRules(s: Spec): Rule[] {
  const outside = (value: number | undefined, least: number, most: number): boolean =>
    value !== undefined && !(Number.isSafeInteger(value) && value >= least && value <= most)
  const b = s.breaker ?? {}
  return [
    [
      outside(s.timeoutMs, 1, LONGEST_CALL_MS),
      'timeout_illegal',
      '/timeoutMs',
      'The timeout is not a number of milliseconds up to one hour.',
      '`timeoutMs: 10_000`.',
    ],
    [
      outside(s.confirmationMs, 1, LONGEST_CONFIRMATION_MS),
      'confirmation_illegal',
      '/confirmationMs',
      'The life of a confirmation is not a number of milliseconds up to one day.',
      '`confirmationMs: 300_000`.',
    ],
    [
      outside(s.maxResultBytes, SMALLEST_RESULT_BYTES, 16 * 1024 * 1024),
      'result_limit_illegal',
      '/maxResultBytes',
      'The limit of the result is not a number of bytes from 512 to 16 MiB.',
      '`maxResultBytes: 65_536`.',
    ],
    [
      outside(s.maxRawBytes, s.maxResultBytes ?? SMALLEST_RESULT_BYTES, LARGEST_RAW_BYTES),
      'raw_limit_illegal',
      '/maxRawBytes',
      'The limit of what is stored is not a number of bytes from `maxResultBytes` to 16 GiB.',
      '`maxRawBytes: 268_435_456`.',
    ],
    [
      outside(b.identicalCalls, 2, 1_000),
      'breaker_illegal',
      '/breaker/identicalCalls',
      'The count is not a whole number from 2 to 1000.',
      '`breaker: { identicalCalls: 3 }`.',
    ],
    [
      outside(b.identicalErrors, 2, 1_000),
      'breaker_illegal',
      '/breaker/identicalErrors',
      'The count is not a whole number from 2 to 1000.',
      '`breaker: { identicalErrors: 3 }`.',
    ],
  ]
}

function hostRules(s: Spec): Rule[] {
  const hosts: unknown = s.hosts ?? []
  const listed = Array.isArray(hosts) ? (hosts as unknown[]) : [null]
  return listed.map((host, i) => [
    typeof host !== 'string' || !isHostPattern(host),
    'host_illegal',
    `/hosts/${i}`,
    'A host is a name as a URL writes it, in lower case, with `*.` in front for all names below it.',
    "`hosts: ['api.vendor.example']`.",
  ])
}

/** A longer span is a quota of the product; more calls than these are no limit that the store should count one by one. */
const LONGEST_SPAN_MS = 86_400_000
const MOST_CALLS = 1_000
/** With a second and a third attempt a moment is over; more are a queue, and that is not a tool's business. */
const MOST_ATTEMPTS = 5

// biome-ignore format: a table is read by its rows
function paceRules({ rate, retry, effect, concurrency }: Spec): Rule[] {
  const within = (value: unknown, most: number): boolean => Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= most
  const attempts = typeof retry === 'object' ? retry.attempts : 1
  return [
    [concurrency !== undefined && !within(concurrency, MOST_CALLS), 'concurrency_illegal', '/concurrency', 'The calls at once are not a whole number from 1 to 1000.', '`concurrency: 16`.'],
    [rate !== undefined && !within(rate.calls, MOST_CALLS), 'rate_illegal', '/rate/calls', 'The rate is not a whole number of calls from 1 to 1000.', '`rate: { calls: 10, perMs: 60_000 }`.'],
    [rate !== undefined && !within(rate.perMs, LONGEST_SPAN_MS), 'rate_illegal', '/rate/perMs', 'The span is not a number of milliseconds up to one day.', '`rate: { calls: 10, perMs: 60_000 }`.'],
    [typeof retry === 'string' && retry !== 'none', 'retry_illegal', '/retry', 'A retry is `none`, or a number of attempts.', "`retry: { attempts: 3 }` or `'none'`."],
    [!within(attempts, MOST_ATTEMPTS), 'retry_illegal', '/retry/attempts', 'The attempts are not a whole number from 1 to 5.', '`retry: { attempts: 3 }`.'],
    [attempts > 1 && effect !== 'read', 'retry_of_effect', '/retry', 'An effect is never repeated by itself.', 'remove `retry`; a broken effect is asked for by its key.'],
  ]
}
