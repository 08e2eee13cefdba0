/** A stream of Redis as a sink: one entry per event, with the id of the message among its fields. */
import type { OutboxMessage, Sink } from './sink.ts'

/** What this needs of a client; `new Redis()` of ioredis is one. */
export interface RedisClient {
  xadd(key: string, ...args: (string | number)[]): Promise<string | null>
}

export interface RedisStreamOptions {
  /** The key of the stream; default `plimsoll:events`. */
  readonly stream?: string
  /** Entries that the stream keeps, about; default 100 000. */
  readonly keep?: number
  /** The name under which the place in the log is kept; default `redis`. Another name begins anew. */
  readonly name?: string
}

const STREAM = 'plimsoll:events'
const KEEP = 100_000

/**
 * Fields: `id`, `tenant`, `environment`, `run_id`, `conversation_id`, `seq`, `type`, `at` (milliseconds since the epoch) and
 * `body` (JSON). A repetition has the same `id`; a reader takes each once.
 */
export function redisStream(client: RedisClient, options: RedisStreamOptions = {}): Sink {
  const { stream = STREAM, keep = KEEP, name = 'redis' } = options
  return {
    name,
    async publish(message) {
      await client.xadd(stream, 'MAXLEN', '~', keep, '*', ...fieldsOf(message))
    },
  }
}

const fieldsOf = ({ id, tenant, environment, run, session, seq, type, at, body }: OutboxMessage) => [
  ...['id', id, 'tenant', tenant, 'environment', environment, 'run_id', run, 'conversation_id', session],
  ...['seq', seq, 'type', type, 'at', at, 'body', JSON.stringify(body)],
]
