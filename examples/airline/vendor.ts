/** The product's client of the airline: what the contracts call. One attempt each; no answer is an error, never a guess. */
import type { Json, JsonObject } from '../../src/kernel/json.ts'

export interface Vendor {
  call(request: {
    readonly conversation: string
    readonly tool: string
    readonly args: JsonObject
    readonly key?: string
    readonly signal: AbortSignal
  }): Promise<Json>
  /** The kept answer of a write; null when no write with this key came. */
  findByKey(conversation: string, key: string, signal: AbortSignal): Promise<{ readonly result: Json } | null>
  /** Null when there is no such record. */
  reservation(conversation: string, id: string, signal: AbortSignal): Promise<JsonObject | null>
  user(conversation: string, id: string, signal: AbortSignal): Promise<JsonObject | null>
}

/** `url`: of the provider, without a path. */
export function vendorAt(url: string): Vendor {
  const at = (conversation: string, path: string) => `${url}/worlds/${encodeURIComponent(conversation)}/${path}`

  async function record(conversation: string, path: string, signal: AbortSignal): Promise<JsonObject | null> {
    const reply = await fetch(at(conversation, path), { signal })
    if (reply.status === 404) return null
    return (await bodyOf(reply)) as JsonObject
  }

  return {
    call: async ({ conversation, tool, args, key, signal }) => {
      const headers = { 'Content-Type': 'application/json', ...(key !== undefined && { 'Idempotency-Key': key }) }
      const body = JSON.stringify(args)
      const reply = await fetch(at(conversation, `tools/${tool}`), { method: 'POST', headers, body, signal })
      return ((await bodyOf(reply)) as { result: Json }).result
    },
    findByKey: async (conversation, key, signal) => {
      const reply = await fetch(at(conversation, `effects?key=${encodeURIComponent(key)}`), { signal })
      const found = (await bodyOf(reply)) as { found: boolean; result: Json }
      return found.found ? { result: found.result } : null
    },
    reservation: (conversation, id, signal) => record(conversation, `reservations/${encodeURIComponent(id)}`, signal),
    user: (conversation, id, signal) => record(conversation, `users/${encodeURIComponent(id)}`, signal),
  }
}

async function bodyOf(reply: Response): Promise<unknown> {
  if (reply.ok) return reply.json()
  await reply.body?.cancel()
  throw new Error(`the airline answered with status ${reply.status}`)
}
