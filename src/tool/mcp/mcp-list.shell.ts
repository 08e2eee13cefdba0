/** What a server offers, read page by page: of each page only the definitions are kept, and the list as a whole is bounded. */
import type { Client } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { Fault } from '../../kernel/fault.ts'
import { type McpDefinition, readDefinition } from './mcp.ts'

/** Read by us and not by the library, which takes a list only as a whole: one odd tool would be the end of all. */
const Page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() })
/** A list that goes on is not a list. */
const MOST_PAGES = 64
/**
 * Of all pages together: two thousand tools whose descriptions are as long as a model reads them. Every process that uses the
 * server holds its list, beside the approved one.
 */
const MOST_BYTES = 8 * 1024 * 1024
/** What is no text takes some room as well: an empty map is more in memory than its two letters. */
const BYTES_OF_A_VALUE = 8

/** `pageMs` is for one page. @throws Fault `mcp_list_too_large`; whatever the library throws. */
export async function listTools(client: Pick<Client, 'request'>, pageMs: number): Promise<readonly McpDefinition[]> {
  const found: McpDefinition[] = []
  let left = MOST_BYTES
  let cursor: string | undefined
  for (let page = 0; page < MOST_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor }
    const got = await client.request({ method: 'tools/list', params }, Page, { timeout: pageMs })
    left -= weightOf(got, left)
    if (left < 0) break
    found.push(...got.tools.flatMap((tool) => readDefinition(tool) ?? []))
    if (got.nextCursor === undefined) return found
    cursor = got.nextCursor
  }
  throw new Fault('mcp_list_too_large')
}

/** About the bytes of a value, counted until they are more than `most`. Not by recursion: a stranger says how deep it is. */
function weightOf(value: unknown, most: number): number {
  const left = [value]
  let bytes = 0
  while (left.length > 0 && bytes <= most) {
    const one = left.pop()
    bytes += BYTES_OF_A_VALUE
    if (typeof one === 'string') bytes += one.length
    if (typeof one !== 'object' || one === null) continue
    if (!Array.isArray(one)) for (const name of Object.keys(one)) bytes += name.length
    for (const inner of Object.values(one)) left.push(inner)
  }
  return bytes
}
