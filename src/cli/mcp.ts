/** `plimsoll mcp`: what a server of tools offers, and what of it has been approved. */
import { readFileSync } from 'node:fs'
import { EXIT } from '../kernel/fault.ts'
import { definitionsOf, mcp, type McpSpec, type McpStanding } from '../mcp.ts'
import { type Output, table, usage } from './output.ts'
import { visible } from './visible.ts'

export interface McpListOptions {
  readonly url?: string
  readonly header: readonly string[]
  readonly env: readonly string[]
  readonly cwd?: string
  /** A file with the `definitions` that this command printed before. */
  readonly approved?: string
}

/** Exit 1 when the server and the approved file differ. */
export async function listTools(command: readonly string[], options: McpListOptions, out: Output): Promise<number> {
  const server = serverOf(command, options)
  const offered = await definitionsOf(server)
  const approved = options.approved === undefined ? offered : readApproved(options.approved)
  const isFirst = options.approved === undefined
  const standings = await standingsOf({ ...server, approved }, isFirst)
  const names = new Set(standings.map((s) => s.tool))
  const unseen = offered.map(nameOf).filter((name) => !names.has(name))
  const rows = standings.map((s) => [s.standing, visible(s.tool), s.contract ?? '', s.problems.map(visible).join(' ')])
  out.show(
    ...table(
      ['', 'tool', 'contract', 'finding'],
      [...rows, ...unseen.map((name) => ['new', visible(name), '', 'not approved'])],
    ),
  )
  if (isFirst)
    out.note('Nothing is approved yet: read the descriptions, and keep the output of --json as the approved file.')
  out.result({ definitions: offered, tools: standings, new: unseen })
  const isSame = unseen.length === 0 && standings.every((s) => s.standing === 'ready' || s.standing === 'refused')
  return isSame || isFirst ? EXIT.ok : EXIT.failure
}

/** What is the server's own list stands as it is; another one is compared. */
async function standingsOf(spec: McpSpec, isOwn: boolean): Promise<readonly McpStanding[]> {
  const server = mcp('server', spec)
  try {
    if (!isOwn) return await server.check()
    return server.tools.map((t) => ({ ...t, standing: t.contract === null ? 'refused' : 'ready' }))
  } finally {
    await server.close()
  }
}

function serverOf([command, ...args]: readonly string[], { url, header, env, cwd }: McpListOptions) {
  if ((url === undefined) === (command === undefined))
    throw usage('A server is an address or a command.', 'Give --url, or `-- <command> [arguments]`.')
  if (url !== undefined) return { url, headers: pairs(header, ':') }
  const place = cwd === undefined ? {} : { cwd }
  return { command: command ?? '', args, env: pairs(env, '='), ...place, stderr: 'inherit' as const }
}

const pairs = (given: readonly string[], mark: ':' | '='): Record<string, string> =>
  Object.fromEntries(
    given.map((text) => {
      const at = text.indexOf(mark)
      if (at < 1) throw usage(`A value is missing after ${JSON.stringify(text)}.`, `Write NAME${mark}VALUE.`)
      return [text.slice(0, at), text.slice(at + 1).trim()]
    }),
  )

function readApproved(file: string): readonly object[] {
  try {
    const read: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof read === 'object' && read !== null && 'definitions' in read && Array.isArray(read.definitions))
      return read.definitions as readonly object[]
  } catch {
    // told below
  }
  throw usage(`${visible(file)} holds no definitions.`, 'Write it with `plimsoll mcp list --json`.')
}

const nameOf = (definition: object): string => ('name' in definition ? String(definition.name) : '')
