/**
 * The connection to one server of tools: opened for the first call, opened anew after it broke, and never for a call that
 * may have reached the server (I8).
 *
 * Requests of the server to us (sampling, elicitation, roots) are not offered and are answered as unknown.
 */
import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  type Transport,
} from '@modelcontextprotocol/client'
import { z } from 'zod'
import type { Clock } from '../kernel/clock.ts'
import { type McpDefinition, readDefinition } from './mcp.ts'

export interface Connection {
  /** What the server offers now. @throws NotSent when it cannot be reached. */
  definitions(): Promise<readonly McpDefinition[]>
  /** The hash of the definition that the server has now; null when it has no such tool. @throws NotSent */
  hashOf(tool: string): Promise<string | null>
  /** @throws NotSent when the call has certainly not begun; whatever else is thrown leaves that open. */
  call(tool: string, input: object, signal: AbortSignal): Promise<object>
  close(): Promise<void>
}

/** Read by us and not by the library, which takes a list only as a whole: one odd tool would be the end of all. */
const Page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() })
const Answer = z.looseObject({})
/** A list that goes on is not a list. */
const MOST_PAGES = 64

/** The call has not begun: nothing was sent, or the server did not take it. */
export class NotSent extends Error {}

/** A server that is not there after this time is started again later. */
const CONNECT_MS = 30_000
/** The gateway ends a call; this only keeps the library from ending it before. */
const NEVER_MS = 24 * 3_600_000
/** Between attempts to connect: from a half second to half a minute, twice as long each time. */
const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 30_000
/** Statuses of HTTP with which a request was turned away at the door. */
const TURNED_AWAY = new Set([401, 403, 404, 405])

interface Live {
  readonly client: Client
  tools: readonly McpDefinition[]
  /** The server has said that its list changed. */
  isStale: boolean
}

export function openConnection(makeTransport: () => Transport, clock: Clock): Connection {
  let live: Promise<Live> | null = null
  let failures = 0
  let notBefore = 0
  let isClosed = false

  function connected(): Promise<Live> {
    if (isClosed) return Promise.reject(new NotSent('The connection is closed.'))
    if (live) return live
    if (clock.monotonic() < notBefore) return Promise.reject(new NotSent('The server was not there a moment ago.'))
    const opening = open()
    live = opening
    opening.then(
      () => (failures = 0),
      () => {
        if (live === opening) live = null
        notBefore = clock.monotonic() + Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures)
        failures += 1
      },
    )
    return opening

    async function open(): Promise<Live> {
      const client = new Client({ name: 'plimsoll', version: '1' }, { capabilities: {} })
      const mine: Live = { client, tools: [], isStale: false }
      client.onclose = () => {
        if (live === opening) live = null
      }
      client.setNotificationHandler('notifications/tools/list_changed', () => void (mine.isStale = true))
      try {
        await client.connect(makeTransport(), { timeout: CONNECT_MS })
        mine.tools = await list(client)
        return mine
      } catch (error) {
        await client.close().catch(() => {})
        throw new NotSent('The server cannot be reached.', { cause: error })
      }
    }
  }

  async function list(client: Client): Promise<readonly McpDefinition[]> {
    const tools: unknown[] = []
    let cursor: string | undefined
    for (let page = 0; page < MOST_PAGES; page++) {
      const params = cursor === undefined ? {} : { cursor }
      const got = await client.request({ method: 'tools/list', params }, Page, { timeout: CONNECT_MS })
      tools.push(...got.tools)
      if (got.nextCursor === undefined) return tools.flatMap((tool) => readDefinition(tool) ?? [])
      cursor = got.nextCursor
    }
    throw new Error('The list of tools has no end.')
  }

  async function current(): Promise<Live> {
    const now = await connected()
    if (!now.isStale) return now
    now.isStale = false
    try {
      now.tools = await list(now.client)
    } catch (error) {
      now.isStale = true
      throw new NotSent('The server does not tell what changed.', { cause: error })
    }
    return now
  }

  return {
    definitions: async () => (await current()).tools,
    hashOf: async (tool) => (await current()).tools.find((t) => t.name === tool)?.hash ?? null,
    async call(tool, input, signal) {
      const { client } = await connected()
      signal.throwIfAborted()
      try {
        const params = { name: tool, arguments: { ...input } }
        return await client.request({ method: 'tools/call', params }, Answer, { signal, timeout: NEVER_MS })
      } catch (error) {
        if (!isTurnedAway(error)) throw error
        // a session that the server has forgotten is opened anew for the next call
        await client.close().catch(() => {})
        throw new NotSent('The server did not take the call.', { cause: error })
      }
    },
    async close() {
      isClosed = true
      const last = await live?.catch(() => null)
      await last?.client.close()
    },
  }
}

function isTurnedAway(error: unknown): boolean {
  if (error instanceof SdkHttpError) return TURNED_AWAY.has(error.status)
  if (error instanceof SdkError) return error.code === SdkErrorCode.NotConnected
  return error instanceof ProtocolError && error.code === METHOD_NOT_FOUND
}

/** JSON-RPC: there is no such tool or method, so nothing was called. */
const METHOD_NOT_FOUND = -32_601
