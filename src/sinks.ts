/** The door `plimsoll/sinks`: where a program takes the events of all its tenants. */
export { redisStream, type RedisClient, type RedisStreamOptions } from './journal/redis.shell.ts'
export type { OutboxMessage, Sink } from './journal/sink.ts'
