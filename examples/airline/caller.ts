/** Somebody with a credential, who speaks to the app plane over HTTP and has nothing else. */
import { randomUUID } from 'node:crypto'
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
  /** Throws when the answer is not a success. */
  get(path: string): Promise<Reply>
  /** With a fresh `Idempotency-Key`; `version` goes into `If-Match`. */
  post(path: string, body: JsonObject, version?: number | null): Promise<Reply>
  /** The events of a run after one of them, until the server ends the stream. */
  events(run: string, after: number, signal: AbortSignal): AsyncGenerator<RunEvent>
}

export function callerWith(bearer: string, url: string): Caller {
  const authorization = `Bearer ${bearer}`

  async function ask(path: string, init: RequestInit & { readonly method: string }): Promise<Reply> {
    const response = await fetch(url + path, init)
    const text = await response.text()
    const body = (text === '' ? {} : JSON.parse(text)) as JsonObject
    if (!response.ok) {
      const code = typeof body.code === 'string' ? body.code : ''
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
      if (!response.ok || !response.body) throw new Error(`the events of ${run} were answered with ${response.status}`)
      const stream = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
      for await (const { id, event, data } of stream) {
        // what has no id is a piece of an answer in progress
        if (id !== undefined) yield { id: Number(id), type: event ?? '', data: JSON.parse(data) as JsonObject }
      }
    },
  }
}
