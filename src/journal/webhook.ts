/**
 * What goes to an endpoint, by Standard Webhooks 1.0, and when it is tried again.
 *
 * J9  a stable id, the time of the attempt, and a signature that covers both and the body
 */
import { createHmac } from 'node:crypto'
import type { OutboxMessage } from './sink.ts'

/** The id of an event's message; without a full stop, which separates the parts that are signed. */
export const messageId = (run: string, seq: number): string => `evt_${run.replace(/^run_/, '')}_${seq}`

export const SECRET_PREFIX = 'whsec_'
/** Of a secret; the standard asks for 24 to 64. */
export const SECRET_BYTES = 32

/** The body: the type, the time of the event, its place, and what the app plane shows of it. */
export const payloadOf = ({ type, at, run, session, seq, body }: OutboxMessage): string =>
  JSON.stringify({
    type,
    timestamp: new Date(at).toISOString(),
    data: { ...body, run_id: run, conversation_id: session, seq },
  })

/** The three headers of one attempt. `seconds`: since the epoch; a receiver refuses what is older than minutes. */
export function signedHeaders(
  id: string,
  seconds: number,
  body: string,
  secrets: readonly string[],
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const signature = (secret: string): string => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
  }
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': secrets.map(signature).join(' '),
  }
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** The waits after the first to the last failed attempt of an event: about 28 hours together. */
const WAITS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR] as const
export const MOST_ATTEMPTS = WAITS.length + 1
/** A sink of the program comes back; its events wait for it. */
const LONGEST_SINK_WAIT = MINUTE
/** An endpoint that failed so often in a row is left in peace for a while, with all its runs. */
const PATIENCE = 3
const LONGEST_PAUSE = 5 * MINUTE
/** Disabled when it has failed so often in a row, and for so long. */
export const DISABLE = { most: 20, overMs: 5 * 24 * HOUR } as const

/** `fraction` in [0, 1): waits spread over a fifth to both sides, so that what failed together does not return together. */
const spread = (ms: number, fraction: number): number => Math.round(ms * (0.8 + 0.4 * fraction))

/** Until the next attempt of an event that has failed `attempts` times, or null when it has had all. */
export function waitOf(attempts: number, fraction: number, askedMs: number | null): number | null {
  const wait = WAITS[attempts - 1]
  return wait === undefined ? null : Math.max(spread(wait, fraction), Math.min(askedMs ?? 0, HOUR))
}

export const sinkWaitOf = (attempts: number, fraction: number): number =>
  spread(Math.min(SECOND * 2 ** Math.min(attempts - 1, 10), LONGEST_SINK_WAIT), fraction)

/** How long an endpoint is left in peace after so many failures in a row. */
export const pauseOf = (failures: number, fraction: number): number =>
  failures < PATIENCE ? 0 : spread(Math.min(SECOND * 2 ** Math.min(failures - PATIENCE, 10), LONGEST_PAUSE), fraction)
