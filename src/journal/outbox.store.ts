/** How far each endpoint has come in each run. The events themselves are read from the log of the run, in its order. */
import type { Db } from '../db/port.ts'
import type { Sealer } from '../db/seal.ts'
import type { EventType } from '../kernel/events.ts'
import type { FaultCode } from '../kernel/fault.ts'
import type { JsonObject } from '../kernel/json.ts'
import { claim, failed, look, parcel, released, sent } from './outbox.sql.ts'
import type { OutboxMessage } from './sink.ts'
import { messageId } from './webhook.ts'

/** The right to send the events of one run to one endpoint, until a higher epoch has it. */
export interface Claim {
  readonly tenant: string
  readonly environment: string
  readonly endpoint: string
  readonly run: string
  readonly epoch: number
}

export const carriedAs = ({ endpoint, run }: Claim): string => `${endpoint}/${run}`

export interface Parcel {
  /** In the order of the run. */
  readonly messages: readonly OutboxMessage[]
  /** The last event that was known when this was read. */
  readonly head: number
  /** Failed attempts of the first message. */
  readonly attempt: number
  /** Failures of the endpoint in a row, over all runs. */
  readonly failures: number
  /** Null for a sink of the program. */
  readonly target: Target | null
}

/** The newest secret first; the one before signs too for a day after a rotation. */
export interface Target {
  readonly url: string
  readonly secrets: readonly string[]
}

export interface Failure {
  readonly seq: number
  /** HTTP status; null without an answer. */
  readonly status: number | null
  readonly fault: FaultCode
  readonly millis: number
  /** Until the event is tried again. */
  readonly delayMs: number
  /** Until the endpoint is tried again with anything. */
  readonly pauseMs: number
  /** The event has had its attempts: the run goes on without it. */
  readonly giveUp: boolean
  /** The endpoint says that it is no more. */
  readonly gone: boolean
  /** Of the audit row that a disabled endpoint leaves. */
  readonly audit: string
}

export interface OutboxStore {
  /** Makes due what is new. How many endpoints and sinks there are to serve. Crosses tenants; reads no content. */
  look(sinks: readonly string[], everyMs: number, backMs: number): Promise<number>
  /**
   * Crosses tenants; reads no content. `each`: of one endpoint at a time, over all relays. `held`: what this relay carries,
   * by `carriedAs`; what the store believes it has beside that comes again.
   */
  claim(
    worker: string,
    sinks: readonly string[],
    room: { readonly limit: number; readonly each: number },
    held: readonly string[],
  ): Promise<readonly Claim[]>
  /** Null when the claim is another's now. */
  parcel(claim: Claim, limit: number): Promise<Parcel | null>
  /** False when the claim is another's now: the event will come again, under the same id. */
  sent(claim: Claim, seq: number, status: number | null, millis: number): Promise<boolean>
  failed(claim: Claim, failure: Failure, limits: { readonly most: number; readonly overMs: number }): Promise<void>
  /** `head`: nothing up to there is left for this endpoint. */
  release(claim: Claim, head: number | null): Promise<void>
}

export function outboxStore(db: Db, sealer: Sealer): OutboxStore {
  const open = (tenant: string, sealed: Uint8Array): string => Buffer.from(sealer.open(tenant, sealed)).toString()
  return {
    look: async (sinks, everyMs, backMs) => (await db.call(look, { sinks, everyMs, backMs }))[0]?.served ?? 0,
    claim: (worker, sinks, { limit, each }, held) => db.call(claim, { worker, sinks, limit, each, held }),
    async parcel(of, limit) {
      const rows = await db.read(of, parcel, { ...of, limit })
      const [first] = rows
      if (!first) return null
      const { head, attempt, failures, url, secret, previous } = first
      const { tenant, environment, run } = of
      const messages = rows.flatMap((row): OutboxMessage[] => {
        const { seq, type, body, session, at } = row
        if (seq === null || type === null || body === null || session === null || at === null) return []
        const said = JSON.parse(open(tenant, body)) as JsonObject
        const id = messageId(run, seq)
        return [{ id, tenant, environment, run, session, seq, type: type as EventType, at, body: said }]
      })
      const target =
        url && secret
          ? { url: open(tenant, url), secrets: [secret, ...(previous ? [previous] : [])].map((s) => open(tenant, s)) }
          : null
      return { messages, head, attempt, failures, target }
    },
    sent: async (of, seq, status, millis) => (await db.write(of, sent, { ...of, seq, status, millis })).length > 0,
    async failed(of, failure, limits) {
      await db.write(of, failed, { ...of, ...failure, ...limits })
    },
    async release(of, head) {
      await db.write(of, released, { ...of, head })
    },
  }
}
