/** `plimsoll keys`: over the server's API with an operator key, or straight into a PostgreSQL that has none yet. */
import { createRuntime, openStore } from '../index.ts'
import { reach, type Reach } from './client.ts'
import type { Output } from './output.ts'
import { visible } from './visible.ts'

export interface CreateOptions extends Reach {
  readonly kind: 'service' | 'operator'
  readonly user: string
  readonly permission: readonly string[]
  /** With it the key is written into this PostgreSQL: whoever can do that needs no key first. */
  readonly db?: string
  readonly tenant: string
  readonly environment: string
}

export async function createKey(options: CreateOptions, out: Output): Promise<void> {
  const { kind, user, permission: permissions } = options
  const made =
    options.db === undefined
      ? await (await reach(options, 'operator')).post('/v1/credentials', { body: { kind, user, permissions } })
      : await inStore(options.db, options)
  out.show(String(made['key']))
  out.note(`${visible(String(made['id']))}: a ${kind} key, shown this once.`)
  out.result(made)
}

async function inStore(url: string, { kind, user, permission: permissions, tenant, environment }: CreateOptions) {
  const db = await openStore(url, { connections: 1 })
  try {
    return { ...(await createRuntime({ db, agents: [] }).createKey({ tenant, environment, kind, user, permissions })) }
  } finally {
    await db.close()
  }
}

export async function revokeKey(id: string, options: Reach, out: Output): Promise<void> {
  await (await reach(options, 'operator')).delete(`/v1/credentials/${encodeURIComponent(id)}`)
  out.show(`${visible(id)}: revoked, and with it every token that it minted.`)
  out.result({ id, revoked: true })
}
