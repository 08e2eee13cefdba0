/**
 * `mcp('files', { command: 'files-server', approved, tools })`: the tools of a server, behind our gateway (I8).
 *
 * The approved definitions are a file of the product, so that an agent loads, and has its release, whether the server is
 * there or not. Each call compares what the server has now with what was approved.
 */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Clock } from '../../kernel/clock.ts'
import { Fault } from '../../kernel/fault.ts'
import type { Json, JsonObject } from '../../kernel/json.ts'
import { checkJson, RESULT_LIMITS } from '../../kernel/plain.ts'
import { systemClock } from '../../kernel/system.shell.ts'
import type { Contract, ToolContext } from '../contract.ts'
import { openEgress } from '../egress/egress.shell.ts'
import { contractsOf, type McpDefinition, type McpTool, type McpToolSpec, readDefinition } from './mcp.ts'
import { Changed, type Connection, NotSent, openConnection } from './mcp-connection.shell.ts'
import { type ProcessSpec, processTransport } from './mcp-process.shell.ts'
import { type McpAnswer, readAnswer } from './mcp-result.ts'
import { definitionFault, problem } from '../problem.ts'
import { withFiles } from '../result/raw.ts'
import { toolError } from '../toolerror.ts'

/** A server behind an address, over streamable HTTP. */
export interface AddressSpec {
  /** `https:`, or `http:` on this machine. */
  readonly url: string
  readonly headers?: { readonly [name: string]: string }
  /** Default: one that reaches this host on the public internet, or on this machine. A server inside a network needs another. */
  readonly fetch?: typeof globalThis.fetch
}

export type McpSpec = (ProcessSpec | AddressSpec) & {
  /** The definitions that somebody has read and approved: what `plimsoll mcp list --json` prints. */
  readonly approved: readonly object[]
  /** What each tool may do, by the name that the server gives it. */
  readonly tools?: { readonly [tool: string]: McpToolSpec }
}

/** One tool, and how it stands with the server now. */
export interface McpStanding extends McpTool {
  /** `changed`: the server has another definition than the approved one; `gone`: none. Both are refused at the call. */
  readonly standing: 'ready' | 'refused' | 'changed' | 'gone' | 'unreachable'
}

export interface McpServer {
  readonly name: string
  /** For `agent(…, { tools: [...files.contracts] })`. */
  readonly contracts: readonly Contract[]
  /** Every approved definition, with the reasons why one is refused. */
  readonly tools: readonly McpTool[]
  /** Asks the server how each stands; a tool that the server has and nobody approved is not among them. */
  check(): Promise<readonly McpStanding[]>
  close(): Promise<void>
}

const NAME = /^[a-z][a-z0-9_-]{0,31}$/
const LOCAL = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Contacts nobody: the first call does. @throws Fault `invalid_definition` */
export function mcp(name: string, spec: McpSpec, { clock = systemClock }: { readonly clock?: Clock } = {}): McpServer {
  const approved = spec.approved.map((given) => readDefinition(given))
  const problems = [
    ...(NAME.test(name)
      ? []
      : [problem('name_illegal', '/name', 'A server has a short name in lower case.', "`mcp('files', …)`.")]),
    ...('url' in spec && !isAllowed(spec.url)
      ? [problem('url_illegal', '/url', 'The address is not https, nor http on this machine.', "`url: 'https://…'`.")]
      : []),
    ...approved.flatMap((d, i) =>
      d
        ? []
        : [
            problem(
              'definition_illegal',
              `/approved/${i}`,
              'This is no definition of a tool.',
              'write the list with `plimsoll mcp list --json`.',
            ),
          ],
    ),
    ...Object.keys(spec.tools ?? {}).flatMap((tool) =>
      approved.some((d) => d?.name === tool)
        ? []
        : [
            problem(
              'tool_not_approved',
              `/tools/${tool}`,
              'No approved definition has this name.',
              'approve it, or remove the line.',
            ),
          ],
    ),
  ]
  if (problems.length > 0) throw definitionFault(`mcp ${JSON.stringify(name)}`, problems)
  const definitions = approved.filter((d) => d !== null)
  const connection = connectionTo(spec, clock)
  const { contracts, tools } = contractsOf(name, definitions, spec.tools ?? {}, callsOf(connection, definitions))
  return {
    name,
    contracts,
    tools,
    async check() {
      const now = await connection.definitions().catch(() => null)
      return tools.map((t) => ({
        ...t,
        standing: standing(
          t,
          definitions.find((d) => d.name === t.tool),
          now,
        ),
      }))
    },
    close: () => connection.close(),
  }
}

function isAllowed(url: string): boolean {
  const parsed = URL.canParse(url) ? new URL(url) : null
  return parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && LOCAL.has(parsed.hostname))
}

function standing(
  { contract, tool }: McpTool,
  approved: McpDefinition | undefined,
  now: readonly McpDefinition[] | null,
): McpStanding['standing'] {
  if (contract === null) return 'refused'
  if (now === null) return 'unreachable'
  const found = now.find((d) => d.name === tool)
  if (!found) return 'gone'
  return found.hash === approved?.hash ? 'ready' : 'changed'
}

/** What a server offers now, before anybody has approved it. @throws Fault `mcp_unreachable`, `mcp_list_too_large` */
export async function definitionsOf(
  spec: ProcessSpec | AddressSpec,
  clock: Clock = systemClock,
): Promise<readonly object[]> {
  const connection = connectionTo(spec, clock)
  try {
    return (await connection.definitions()).map((d) => d.raw)
  } catch (error) {
    throw error instanceof NotSent && Fault.is(error.cause)
      ? error.cause
      : new Fault('mcp_unreachable', undefined, { cause: error })
  } finally {
    await connection.close()
  }
}

/** Of one answer; what comes out of it is bounded again, far lower. */
const MOST_BYTES = 64 * 1024 * 1024
/** A stream of events stays open as long as the server has something to say. */
const STREAM_MS = 24 * 3_600_000

function connectionTo(spec: ProcessSpec | AddressSpec, clock: Clock): Connection {
  if (!('url' in spec)) return openConnection(() => processTransport(spec, clock), clock)
  const { origin, host, protocol } = new URL(spec.url)
  const egress = openEgress({ clock, local: protocol === 'http:' ? [origin] : [] })
  const limits = { hosts: [host], maxBytes: MOST_BYTES, timeoutMs: STREAM_MS, redirects: 0 }
  const options = {
    requestInit: { headers: { ...spec.headers }, redirect: 'error' as const },
    fetch: spec.fetch ?? egress.fetch(limits),
  }
  const connection = openConnection(() => new StreamableHTTPClientTransport(new URL(spec.url), options), clock)
  return { ...connection, close: () => connection.close().finally(() => egress.close()) }
}

const CHANGED_HINT =
  'This tool is not available until an operator has approved it anew. Do not call it again; choose another way or tell the user.'

function callsOf(connection: Connection, approved: readonly McpDefinition[]): Parameters<typeof contractsOf>[3] {
  async function answerOf(definition: McpDefinition, input: JsonObject, cx: ToolContext) {
    try {
      const answer = await connection.call(definition, input, cx.signal)
      const plain = checkJson(answer, { ...RESULT_LIMITS, text: 'mend' })
      if (!plain.ok) throw new Error('The answer is no plain JSON.')
      return readAnswer(plain.value as JsonObject)
    } catch (error) {
      if (error instanceof Changed) throw toolError('definition_changed', CHANGED_HINT, { cause: error })
      throw error instanceof NotSent ? toolError('server_unavailable', '', { cause: error }) : error
    }
  }
  const refusal = (value: Json): Error => toolError('server_refused', typeof value === 'string' ? value : '')

  async function read(definition: McpDefinition, input: JsonObject, cx: ToolContext): Promise<McpAnswer> {
    const answer = await answerOf(definition, input, cx)
    if (answer.isError) throw refusal(answer.value)
    return answer
  }
  const shown = ({ value, files }: McpAnswer): unknown => (files.length > 0 ? withFiles(value, files) : value)
  return {
    read: async (definition, input, cx) => shown(await read(definition, input, cx)),
    async commit(definition, input, { cx, errorMeans }) {
      const answer = await answerOf(definition, input, cx)
      const { isError, value } = answer
      if (!isError) return shown(answer)
      throw errorMeans === 'refused' ? refusal(value) : new Error('The server answered with an error.')
    },
    async ask(tool, input, cx) {
      const definition = approved.find((d) => d.name === tool)
      if (!definition) throw new Error('A probe asks an approved tool of the same server.')
      return (await read(definition, input, cx)).value
    },
  }
}
