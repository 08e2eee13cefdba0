/** Somebody with a credential, who speaks to the app plane over HTTP and has nothing else. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import type { JsonObject } from '../../src/kernel/json.ts'

export type Reply = {
  readonly status: number
  readonly body: JsonObject
  /** From the ETag; null without one. */
  readonly version: number | null
}

export type RunEvent = { readonly id: number; readonly type: string; readonly data: JsonObject }

export interface Caller {
  /** Repeats what a server could not do just now; throws when the answer is not a success. */
  get(path: string): Promise<Reply>
  /** With a fresh `Idempotency-Key`; `version` goes into `If-Match`. */
  post(path: string, body: JsonObject, version?: number | null): Promise<Reply>
  /** The events of a run after one of them, until the server ends the stream. */
  events(run: string, after: number, signal: AbortSignal): AsyncGenerator<RunEvent>
}

type Asked = RequestInit & { readonly method: string }

/** As long as a key whose request has died is kept for it, and a database needs to come back. */
const MOST_TRIES = 120
const TRY_MS = 500

export function callerWith(bearer: string, url: string): Caller {
  const authorization = `Bearer ${bearer}`

  async function ask(path: string, init: Asked, left = MOST_TRIES): Promise<Reply> {
    const response = await fetch(url + path, init)
    const text = await response.text()
    const body = (text === '' ? {} : JSON.parse(text)) as JsonObject
    if (!response.ok) {
      const code = typeof body.code === 'string' ? body.code : ''
      if (left > 0 && (response.status === 503 || code === 'idempotency_in_flight')) {
        await sleep(TRY_MS)
        return ask(path, init, left - 1)
      }
      throw new Error(`${init.method} ${path} was answered with ${response.status} ${code}`)
    }
    const version = /^"v(\d+)"$/.exec(response.headers.get('etag') ?? '')?.[1]
    return { status: response.status, body, version: version === undefined ? null : Number(version) }
  }

  return {
    get: (path) => ask(path, { method: 'GET', headers: { authorization } }),
    post: (path, body, version = null) =>
      ask(path, {
        method: 'POST',
        headers: {
          authorization,
          'content-type': 'application/json',
          'idempotency-key': randomUUID(),
          ...(version !== null && { 'if-match': `"v${version}"` }),
        },
        body: JSON.stringify(body),
      }),
    async *events(run, after, signal) {
      const headers = { authorization, accept: 'text/event-stream', 'last-event-id': String(after) }
      const response = await fetch(`${url}/v1/runs/${run}/events`, { headers, signal })
      if (response.status === 204) return
      if (response.status === 503) {
        await response.body?.cancel()
        await sleep(TRY_MS)
        return
      }
      if (!response.ok || !response.body) throw new Error(`the events of ${run} were answered with ${response.status}`)
      const stream = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
      try {
        for await (const { id, event, data } of stream) {
          // what has no id is a piece of an answer in progress
          if (id !== undefined) yield { id: Number(id), type: event ?? '', data: JSON.parse(data) as JsonObject }
        }
      } catch (error) {
        // cut off in the middle: whoever asks again after the last id misses nothing
        if (signal.aborted || !(error instanceof TypeError)) throw error
        await sleep(TRY_MS)
      }
    },
  }
}
