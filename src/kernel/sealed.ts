import { Fault } from './fault.ts'
import type { Json } from './json.ts'

/** A sealed value. @throws Fault `content_damaged`, without a word of what it holds · `content_destroyed` */
export function openJson(
  keys: { readonly open: (tenant: string, sealed: Uint8Array) => Uint8Array },
  tenant: string,
  sealed: Uint8Array,
): Json {
  const text = Buffer.from(keys.open(tenant, sealed)).toString()
  try {
    return JSON.parse(text) as Json
  } catch {
    // the parser would tell what it has read
    throw new Fault('content_damaged', 'Sealed content is no JSON.')
  }
}
