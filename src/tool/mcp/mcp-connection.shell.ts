/**
 * The connection to one server of tools: opened for the first call, opened anew after it broke, and never for a call that
 * may have reached the server (I8).
 *
 * After a call that nobody waited for to the end, the server is asked whether it is still there (`ping`), and nothing more is
 * sent to it before it has said so: what a server that hangs is sent is never read, and an effect could only end as unknown.
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
import { hashJson } from '../../kernel/canonical.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/fault.ts'
import type { McpDefinition } from './mcp.ts'
import { listTools } from './mcp-list.shell.ts'

type Approved = Pick<McpDefinition, 'name' | 'hash' | 'raw'>

export interface Connection {
  /** What the server offers now. @throws NotSent when it cannot be reached. */
  definitions(): Promise<readonly McpDefinition[]>
  /**
   * Calls a tool as it was approved. @throws Changed when the server has another definition of it, or none; NotSent when the
   * call has certainly not begun. Whatever else is thrown leaves that open.
   */
  call(approved: Approved, input: object, signal: AbortSignal): Promise<object>
  close(): Promise<void>
}

const Answer = z.looseObject({})

/** The call has not begun: nothing was sent, or the server did not take it. */
export class NotSent extends Error {
  override readonly name = 'NotSent'
}

/** The tool is not the one that was approved. The message is for whoever runs it: which lines differ, not what they say. */
export class Changed extends Error {
  override readonly name = 'DefinitionChanged'
  readonly code: 'TOOL_CHANGED' | 'TOOL_GONE'

  constructor(approved: Approved, now: McpDefinition | undefined) {
    const names = new Set([...Object.keys(approved.raw), ...Object.keys(now?.raw ?? {})])
    const lines = [...names].filter((name) => hashJson(approved.raw[name] ?? null) !== hashJson(now?.raw[name] ?? null))
    const what = now ? `another ${lines.join(', ')} for it than was approved` : 'no such tool any more'
    super(
      `The server has ${what}. Run \`plimsoll mcp list --approved FILE\`, read what is new, and approve it or leave it out.`,
    )
    this.code = now ? 'TOOL_CHANGED' : 'TOOL_GONE'
  }
}

/** A server that is not there after this time is started again later. */
const CONNECT_MS = 30_000
/** The gateway ends a call; this only keeps the library from ending it before. */
const NEVER_MS = 24 * 3_600_000
/** A server that is only busy with one call answers this in a moment, and a call that waits for it still has most of its time. */
const PING_MS = 2_000
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
  /** Under way while it is not known whether the server is still there; never rejects. */
  asking: Promise<void> | null
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
    while (current?.asking) await current.asking
    if (current) return current
    opening ??= open().finally(() => (opening = null))
    return opening
  }

  async function open(): Promise<Live> {
    if (isClosed || clock.monotonic() < notBefore) throw new NotSent('The server was not there a moment ago.')
    const client = new Client({ name: 'plimsoll', version: '1' }, { capabilities: {} })
    const mine: Live = { client, tools: null, calls: 0, asking: null, isLeft: false }
    clients.add(client)
    client.onclose = () => {
      clients.delete(client)
      leave(mine)
    }
    client.setNotificationHandler('notifications/tools/list_changed', () => void (mine.tools = null))
    try {
      await client.connect(makeTransport(), { timeout: CONNECT_MS })
      if (mine.isLeft || isClosed) throw new Error('It went at once.')
      current = mine
      return mine
    } catch (error) {
      waitLonger()
      await client.close().catch(() => {})
      clients.delete(client)
      throw new NotSent('The server cannot be reached.', { cause: error })
    }
  }

  function waitLonger(): void {
    notBefore = clock.monotonic() + Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures)
    failures += 1
  }

  function leave(mine: Live): void {
    mine.isLeft = true
    if (current === mine) current = null
    if (mine.calls === 0) void mine.client.close().catch(() => {})
  }

  /** Who asks while another is asking waits for the same list, so that no call passes on an old one. */
  function toolsOf(mine: Live): Promise<readonly McpDefinition[]> {
    mine.tools ??= list(mine)
    return mine.tools
  }

  async function list(mine: Live): Promise<readonly McpDefinition[]> {
    try {
      const tools = await listTools(mine.client, CONNECT_MS)
      failures = 0
      return tools
    } catch (error) {
      mine.tools = null
      leave(mine)
      waitLonger()
      throw new NotSent('The server does not tell its tools.', { cause: error })
    }
  }

  /** Who does not answer in time is left, and its other calls may still end. */
  function ask(mine: Live): void {
    mine.asking ??= isThere(mine.client, clock).then((is) => {
      mine.asking = null
      if (!is) leave(mine)
    })
  }

  return {
    definitions: async () => toolsOf(await connected()),
    async call(approved, input, signal) {
      const { name, hash } = approved
      const mine = await connected()
      const now = (await toolsOf(mine)).find((t) => t.name === name)
      if (now?.hash !== hash) throw new Changed(approved, now)
      signal.throwIfAborted()
      mine.calls += 1
      try {
        const params = { name, arguments: { ...input } }
        return await mine.client.request({ method: 'tools/call', params }, Answer, { signal, timeout: NEVER_MS })
      } catch (error) {
        // a server that was restarted knows no old session, and a broken pipe stays broken
        if (signal.aborted) ask(mine)
        else if (!(error instanceof ProtocolError)) mine.isLeft = true
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

/** Any answer is one, also that there is no such method. */
async function isThere(client: Client, clock: Clock): Promise<boolean> {
  const over = new AbortController()
  const cancel = clock.after(PING_MS, () => over.abort())
  try {
    await client.ping({ signal: over.signal, timeout: NEVER_MS })
    return true
  } catch (error) {
    return error instanceof ProtocolError
  } finally {
    cancel()
  }
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
