/** Answers that take their time: how many there are, and how long one may be left unread. */
import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { Fault } from '../kernel/fault.ts'

const RETRY_LATER_MS = 5_000

/** The open streams of a process. */
export interface Streams {
  readonly open: () => number
  /** @throws Fault `stream_limit` */
  enter(tenant: string, leave: () => void): () => void
  /** Ends all of them; each client knows the last event that it has. */
  close(): void
}

export function streams(most: number): Streams {
  const inside = new Map<() => void, string>()
  let isClosed = false
  return {
    open: () => inside.size,
    enter(tenant, leave) {
      const ofTenant = [...inside.values()].filter((one) => one === tenant).length
      // one tenant alone cannot take the last places of the others
      if (isClosed || inside.size >= most || ofTenant >= Math.ceil(most * 0.75))
        throw new Fault('stream_limit', undefined, { retryAfterMs: RETRY_LATER_MS })
      inside.set(leave, tenant)
      return () => void inside.delete(leave)
    },
    close() {
      isClosed = true
      for (const leave of [...inside.keys()]) leave()
    },
  }
}

export interface Streaming {
  readonly streams: Streams
  /** How long a client may leave what waits for it unread. */
  readonly stallMs: number
}

export interface Pumping extends Streaming {
  /** Faults that are not the caller's, for a restricted log. */
  readonly onError: (error: unknown) => void
}

/**
 * Sends bytes as fast as the client takes them, one piece at a time. A client that leaves, or takes nothing for a while,
 * ends the reading; it knows where to go on. What cannot be read to its end is cut off, so that its length tells.
 * @throws Fault `stream_limit`
 */
export function pump(
  bytes: AsyncIterable<Uint8Array>,
  outgoing: ServerResponse,
  { streams: open, stallMs, onError, tenant, status }: Pumping & { readonly tenant: string; readonly status: number },
): void {
  const left = open.enter(tenant, () => outgoing.destroy())
  outgoing.writeHead(status)
  void send(bytes, outgoing, stallMs)
    .catch((error: unknown) => {
      onError(error)
      outgoing.destroy()
    })
    .finally(left)
}

async function send(bytes: AsyncIterable<Uint8Array>, outgoing: Writable, stallMs: number): Promise<void> {
  for await (const piece of bytes) {
    if (!outgoing.write(piece)) await drained(outgoing, stallMs)
    if (outgoing.destroyed) return
  }
  outgoing.end()
}

/** Resolves when the client has taken what waits for it, or is gone. One that takes nothing for so long is let go. */
export function drained(outgoing: Writable, ms: number): Promise<void> {
  return new Promise((resolve) => {
    // gone already: nothing of it would be heard again
    if (outgoing.destroyed) return resolve()
    const done = () => {
      clearTimeout(stalled)
      outgoing.off('drain', done).off('close', done)
      resolve()
    }
    const stalled = setTimeout(() => {
      outgoing.destroy()
      done()
    }, ms)
    outgoing.once('drain', done).once('close', done)
  })
}
