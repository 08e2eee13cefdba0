/** How far each endpoint has come in each run. The events themselves are read from the log of the run, in its order. */
import type { Db } from '../db/port.ts'
import type { Sealer } from '../db/seal.ts'
import type { EventType } from '../kernel/events.ts'
import { Fault, type FaultCode, isUnreachable } from '../kernel/fault.ts'
import type { JsonObject } from '../kernel/json.ts'
import { claim, failed, look, parcel, type ParcelRow, putOff, released, sent } from './outbox.sql.ts'
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
  /** In the order of the run, up to the first that cannot be opened. */
  readonly messages: readonly OutboxMessage[]
  /** What comes after them and cannot be sent; null when all could be opened. */
  readonly closed: Closed | null
  /** The last event that was known when this was read. */
  readonly head: number
  /** Failed attempts of the first message. */
  readonly attempt: number
  /** Failures of the endpoint in a row, over all runs. */
  readonly failures: number
  /** Null for a sink of the program. */
  readonly target: Target | null
}

/** An event that nobody can send as it is stored. */
export interface Closed {
  readonly seq: number
  /** `content_destroyed` with its tenant; else what is wrong, without anything of the content. */
  readonly fault: Fault
  /** The address or a secret of the endpoint cannot be opened, whatever the event is. */
  readonly isTarget: boolean
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
  /** The run goes on without the events up to `seq`. */
  readonly giveUp: boolean
  /** The endpoint has failed, not what it was to be told. */
  readonly blame: boolean
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
  /** Null when the claim is another's now. @throws Fault `store_unavailable` also while the keys of the tenant cannot be had */
  parcel(claim: Claim, limit: number): Promise<Parcel | null>
  /** False when the claim is another's now: the event will come again, under the same id. */
  sent(claim: Claim, seq: number, status: number | null, millis: number): Promise<boolean>
  failed(claim: Claim, failure: Failure, limits: { readonly most: number; readonly overMs: number }): Promise<void>
  /** `head`: nothing up to there is left for this endpoint. */
  release(claim: Claim, head: number | null): Promise<void>
  /** Gives back what could not be read at all. */
  putOff(claim: Claim, delayMs: number): Promise<void>
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
      const { head, attempt, failures, url, secret, previous, seq } = first
      const parts = { head, attempt, failures }
      // without an event nobody needs to know where it would go
      if (seq === null) return { ...parts, messages: [], closed: null, target: null }
      const target = opened(() => {
        const secrets = [secret, previous].filter((one) => one !== null).map((one) => open(of.tenant, one))
        return url === null ? null : { url: open(of.tenant, url), secrets }
      })
      if ('fault' in target) {
        const closed = { seq, fault: target.fault, isTarget: true }
        return { ...parts, messages: [], closed, target: null }
      }
      return { ...parts, ...messagesOf(of, rows, open), target: target.value }
    },
    sent: async (of, seq, status, millis) => (await db.write(of, sent, { ...of, seq, status, millis })).length > 0,
    async failed(of, failure, limits) {
      await db.write(of, failed, { ...of, ...failure, ...limits })
    },
    async release(of, head) {
      await db.write(of, released, { ...of, head })
    },
    async putOff(of, delayMs) {
      await db.write(of, putOff, { ...of, delayMs })
    },
  }
}

function messagesOf(
  { tenant, environment, run }: Claim,
  rows: readonly ParcelRow[],
  open: (tenant: string, sealed: Uint8Array) => string,
): Pick<Parcel, 'messages' | 'closed'> {
  const messages: OutboxMessage[] = []
  for (const { seq, type, body, session, at } of rows) {
    if (seq === null || type === null || body === null || session === null || at === null) continue
    const said = opened(() => JSON.parse(open(tenant, body)) as JsonObject)
    if ('fault' in said) return { messages, closed: { seq, fault: said.fault, isTarget: false } }
    const id = messageId(run, seq)
    messages.push({ id, tenant, environment, run, session, seq, type: type as EventType, at, body: said.value })
  }
  return { messages, closed: null }
}

/** What cannot be opened is told by its code alone: the words of a parser quote what they could not read. */
function opened<T>(work: () => T): { readonly value: T } | { readonly fault: Fault } {
  try {
    return { value: work() }
  } catch (error) {
    // keys that are not at hand right now say nothing of what they open
    if (isUnreachable(error)) throw error
    return { fault: Fault.is(error) ? error : new Fault('content_damaged') }
  }
}
