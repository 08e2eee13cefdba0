/** Episodes that have ripened, and what they say. */
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import { openJson } from '../kernel/sealed.ts'
import type { Scope } from '../kernel/scope.ts'
import { episodes, ripe } from './consolidate.sql.ts'
import type { Episode } from './consolidate.ts'
import type { MemoryId, Place } from './entry.ts'

type Walls = Pick<Scope, 'tenant' | 'environment'>

/** From which key to which. */
export interface Growth {
  readonly key: string
  readonly from: string
}

export interface RipePlace {
  readonly place: Place
  readonly subject: string
  /** Where the next page begins. */
  readonly after: { readonly afterPlace: string; readonly afterSubject: string }
}

export interface ConsolidateStore {
  /** Places where at least so many runs say something that nothing is drawn from yet, in order. */
  ripe(
    scope: Walls,
    of: Growth & { readonly atLeast: number },
    after: RipePlace['after'],
    limit: number,
  ): Promise<readonly RipePlace[]>
  /** What memories of `from` say at one place, the latest first. */
  episodes(scope: Walls, of: Growth, at: RipePlace, limit: number): Promise<readonly Episode[]>
}

export function consolidateStore(db: Db, keys: ContentKeys): ConsolidateStore {
  const walls = ({ tenant, environment }: Walls) => ({ tenant, environment })
  return {
    async ripe(scope, of, after, limit) {
      const rows = await db.read(scope, ripe, { ...walls(scope), ...of, ...after, limit })
      return rows.map(({ scope: named, scopeId: id, place, subject }) => ({
        place: { scope: named, id } as Place,
        subject,
        after: { afterPlace: place, afterSubject: subject },
      }))
    },
    async episodes(scope, of, { subject, after: { afterPlace: place } }, limit) {
      const rows = await db.read(scope, episodes, { ...walls(scope), ...of, place, subject, limit })
      return rows.map(({ memory, value, ...row }) => ({
        ...row,
        memory: memory as MemoryId,
        value: openJson(keys, scope.tenant, value),
      }))
    },
  }
}
