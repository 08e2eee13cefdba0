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
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/fault.ts'
import { type McpDefinition, readDefinition } from './mcp.ts'

export interface Connection {
  /** What the server offers now. @throws NotSent when it cannot be reached. */
  definitions(): Promise<readonly McpDefinition[]>
  /**
   * Calls a tool as it was approved. @throws Changed when the server has another definition of it, or none; NotSent when the
   * call has certainly not begun. Whatever else is thrown leaves that open.
   */
  call(approved: Pick<McpDefinition, 'name' | 'hash'>, input: object, signal: AbortSignal): Promise<object>
  close(): Promise<void>
}

/** Read by us and not by the library, which takes a list only as a whole: one odd tool would be the end of all. */
const Page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() })
const Answer = z.looseObject({})
/** A list that goes on is not a list. */
const MOST_PAGES = 64

/** The call has not begun: nothing was sent, or the server did not take it. */
export class NotSent extends Error {}

/** The tool is not the one that was approved. */
export class Changed extends Error {}

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
  /** Null when the server has said that its list changed. */
  tools: Promise<readonly McpDefinition[]> | null
  /** Calls under way. */
  calls: number
  /** Something broke on the way: new calls go another, and this one ends with its last call. */
  isLeft: boolean
}

export function openConnection(makeTransport: () => Transport, clock: Clock): Connection {
  const clients = new Set<Client>()
  let current: Live | null = null
  let opening: Promise<Live> | null = null
  let failures = 0
  let notBefore = 0
  let isClosed = false

  async function connected(): Promise<Live> {
    if (current) return current
    opening ??= open().finally(() => (opening = null))
    return opening
  }

  async function open(): Promise<Live> {
    if (isClosed || clock.monotonic() < notBefore) throw new NotSent('The server was not there a moment ago.')
    const client = new Client({ name: 'plimsoll', version: '1' }, { capabilities: {} })
    const mine: Live = { client, tools: null, calls: 0, isLeft: false }
    clients.add(client)
    client.onclose = () => {
      clients.delete(client)
      leave(mine)
    }
    client.setNotificationHandler('notifications/tools/list_changed', () => void (mine.tools = null))
    try {
      await client.connect(makeTransport(), { timeout: CONNECT_MS })
      if (mine.isLeft || isClosed) throw new Error('It went at once.')
      failures = 0
      current = mine
      return mine
    } catch (error) {
      notBefore = clock.monotonic() + Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures)
      failures += 1
      await client.close().catch(() => {})
      clients.delete(client)
      throw new NotSent('The server cannot be reached.', { cause: error })
    }
  }

  function leave(mine: Live): void {
    mine.isLeft = true
    if (current === mine) current = null
    if (mine.calls === 0) void mine.client.close().catch(() => {})
  }

  /** Who asks while another is asking waits for the same list, so that no call passes on an old one. */
  function toolsOf(mine: Live): Promise<readonly McpDefinition[]> {
    mine.tools ??= list(mine.client).catch((error: unknown) => {
      mine.tools = null
      leave(mine)
      throw new NotSent('The server does not tell its tools.', { cause: error })
    })
    return mine.tools
  }

  return {
    definitions: async () => toolsOf(await connected()),
    async call({ name, hash }, input, signal) {
      const mine = await connected()
      const now = (await toolsOf(mine)).find((t) => t.name === name)
      if (now?.hash !== hash) throw new Changed('The tool is not the one that was approved.')
      signal.throwIfAborted()
      mine.calls += 1
      try {
        const params = { name, arguments: { ...input } }
        return await mine.client.request({ method: 'tools/call', params }, Answer, { signal, timeout: NEVER_MS })
      } catch (error) {
        // a server that was restarted knows no old session, and a broken pipe stays broken
        if (!(error instanceof ProtocolError) && !signal.aborted) mine.isLeft = true
        throw isTurnedAway(error) ? new NotSent('The server did not take the call.', { cause: error }) : error
      } finally {
        mine.calls -= 1
        if (mine.isLeft) leave(mine)
      }
    },
    async close() {
      isClosed = true
      // the one that is just being opened among them: a server that says nothing would hold us for as long as it may
      await Promise.all([...clients].map((client) => client.close().catch(() => {})))
      await opening?.catch(() => {})
    },
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

/** Certain of nothing but this: whatever else went wrong, the call may have begun. */
function isTurnedAway(error: unknown): boolean {
  if (Fault.is(error)) return error.code === 'egress_refused'
  if (error instanceof TypeError) return NEVER_THERE.has(codeOf(error.cause))
  if (error instanceof SdkHttpError) return TURNED_AWAY.has(error.status)
  if (error instanceof SdkError) return error.code === SdkErrorCode.NotConnected
  return error instanceof ProtocolError && error.code === METHOD_NOT_FOUND
}

/** What Node says when no connection was made. */
const NEVER_THERE = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])
const codeOf = (cause: unknown): string =>
  typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : ''

/** JSON-RPC: there is no such tool or method, so nothing was called. */
const METHOD_NOT_FOUND = -32_601
