/** A reader of an event stream, as a browser would be one. */
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import type { Body, Person } from './plane.ts'

export interface Heard {
  readonly id: string | undefined
  readonly event: string
  readonly data: Body
}

export interface Listener {
  readonly status: number
  readonly headers: Headers
  readonly heard: Heard[]
  /** The next event for which this holds, those already heard included; each is given out once. */
  next(isWanted: (one: Heard) => boolean): Promise<Heard>
  /** Resolves when the server has ended the stream. */
  readonly over: Promise<void>
  leave(): void
}

export async function listenTo(
  base: string,
  who: Person,
  path: string,
  headers: Record<string, string> = {},
): Promise<Listener> {
  const gone = new AbortController()
  const response = await fetch(base + path, {
    headers: { authorization: `Bearer ${who.bearer}`, accept: 'text/event-stream', ...headers },
    signal: gone.signal,
  })
  const heard: Heard[] = []
  const waiting = new Set<() => void>()
  let isOver = false
  let given = 0
  const wake = () => {
    for (const one of waiting) one()
  }
  const parser = createParser({
    onEvent({ id, event, data }: EventSourceMessage) {
      heard.push({ id, event: event ?? 'message', data: JSON.parse(data) })
      wake()
    },
  })
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder()
    const stream = response.body as AsyncIterable<Uint8Array> | null
    try {
      if (stream && response.status === 200)
        for await (const chunk of stream) parser.feed(decoder.decode(chunk, { stream: true }))
    } catch (error) {
      if (!gone.signal.aborted) heard.push({ id: undefined, event: 'broken', data: String(error) })
    } finally {
      isOver = true
      wake()
    }
  }
  return {
    status: response.status,
    headers: response.headers,
    heard,
    over: read(),
    async next(isWanted) {
      for (;;) {
        const at = heard.findIndex((one, i) => i >= given && isWanted(one))
        if (at >= 0) {
          given = at + 1
          return heard[at] as Heard
        }
        if (isOver) throw new Error(`the stream is over; heard: ${heard.map((one) => one.event).join(' ')}`)
        await new Promise<void>((resolve) => {
          const once = () => {
            waiting.delete(once)
            resolve()
          }
          waiting.add(once)
        })
      }
    },
    leave: () => gone.abort(),
  }
}

export const durable = (heard: readonly Heard[]): number[] =>
  heard.filter((one) => one.id !== undefined).map((one) => Number(one.id))
