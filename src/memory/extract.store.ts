/** What an extraction reads: the runs that none has read, and the words of their user. */
import { createHash } from 'node:crypto'
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import { Fault } from '../kernel/fault.ts'
import type { Scope } from '../kernel/scope.ts'
import type { Unread, UnreadTurn } from './extract.ts'
import { extractSource, extractTurns } from './extract.sql.ts'

type Walls = Pick<Scope, 'tenant' | 'environment'>

export interface ExtractStore {
  /** Oldest first; `agent` is that of the conversation. */
  unread(scope: Walls, session: string): Promise<readonly (UnreadTurn & { readonly agent: string })[]>
  /** What the person has said in these runs, as it was said. @throws Fault `content_damaged` */
  said(
    scope: Walls,
    of: Omit<Unread, 'upto'> & { readonly session: string },
  ): Promise<readonly { readonly name: string; readonly text: string }[]>
}

export const extractStore = (db: Db, keys: ContentKeys): ExtractStore => ({
  unread: ({ tenant, environment }, session) => db.read({ tenant, environment }, extractTurns, { tenant, session }),
  async said({ tenant, environment }, { session, from, to, user, subject }) {
    const of = { tenant, session, from, to, user, subject }
    const rows = await db.read({ tenant, environment }, extractSource, of)
    return rows.map(({ run, seq, body, hash }) => {
      const plain = Buffer.from(keys.open(tenant, body))
      if (createHash('sha256').update(plain).digest('hex') !== keys.unveil(tenant, hash))
        throw new Fault('content_damaged', `A message of run ${run} does not match its hash.`)
      return { name: `${run}.${seq}`, text: (JSON.parse(plain.toString()) as { readonly text: string }).text }
    })
  },
})
