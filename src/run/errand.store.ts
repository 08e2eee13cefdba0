/** Errands as statements; the list of what is due crosses tenants and holds no content. */
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import type { RunId, SessionId } from '../kernel/ids.ts'
import type { Scope } from '../kernel/scope.ts'
import type { Attempt, ErrandId, ErrandSource } from './errand.ts'
import {
  clearErrand,
  closeErrand,
  dropWorkSession,
  dueErrands,
  endAttempt,
  errandReport,
  errandRun,
  errandsToClear,
  errandsUnderWay,
  failErrand,
  leaveErrands,
  openErrand,
  restErrand,
  takeErrand,
  wakeErrand,
} from './errand.sql.ts'
import type { EndReason } from './reasons.ts'

export type Walls = Pick<Scope, 'tenant' | 'environment'>
export type Errand = ErrandSource & Attempt

/** What became of errands of one kind, of conversations with one agent. */
export interface ErrandCount {
  readonly agent: string
  readonly kind: string
  /** A word of the closed list of its kind. */
  readonly outcome: string
  readonly errands: number
  /** Runs that it took. */
  readonly attempts: number
}

export interface ErrandStore {
  /** False when the same is under way. */
  open(scope: Walls, source: ErrandSource, delayMs: number): Promise<boolean>
  isUnderWay(scope: Walls, session: SessionId, kind: string): Promise<boolean>
  due(limit: number): Promise<readonly (Walls & { readonly id: ErrandId })[]>
  /** Null when somebody else has it. `next`: the names of an attempt that begins now. */
  take(
    scope: Walls,
    id: ErrandId,
    next: { readonly workSession: SessionId; readonly run: RunId; readonly holdMs: number },
  ): Promise<Errand | null>
  /** Nobody could even take it: it is looked at again later. Needs no key of its tenant. */
  failed(scope: Walls, id: ErrandId): Promise<void>
  /** The run of an errand has moved: look now. */
  wake(scope: Walls, run: RunId): Promise<void>
  /** False when this attempt is under way no more. */
  rest(scope: Walls, of: { readonly id: ErrandId; readonly run: RunId }, ms: number): Promise<boolean>
  /** `outcome` null: there will be another attempt. */
  end(scope: Walls, of: { readonly id: ErrandId; readonly run: RunId; readonly outcome: string | null }): Promise<void>
  /** Takes away what the attempt was told; `active` is above 0 while its run has not ended. */
  clear(
    scope: Walls,
    workSession: SessionId,
    blank: { readonly arguments: string; readonly plan: string },
  ): Promise<{ readonly removed: number; readonly active: number }>
  /** Takes away the conversation of an attempt. */
  drop(scope: Walls, workSession: SessionId): Promise<void>
  close(scope: Walls, id: ErrandId, delayMs: number): Promise<void>
  /** Null when there is no such run yet. */
  run(scope: Walls, run: RunId): Promise<{ readonly status: string; readonly end: EndReason | null } | null>
  /** Ends the errands about these runs and conversations. */
  leave(scope: Walls, of: { readonly runs: readonly string[]; readonly sessions: readonly string[] }): Promise<number>
  report(scope: Walls): Promise<readonly ErrandCount[]>
  toClear(
    scope: Walls,
  ): Promise<readonly { readonly id: ErrandId; readonly workSession: SessionId | null; readonly run: RunId | null }[]>
}

const walls = ({ tenant, environment }: Walls): Walls => ({ tenant, environment })

export function errandStore(db: Db, keys: ContentKeys): ErrandStore {
  const seal = (tenant: string, text: string): Uint8Array => keys.seal(tenant, Buffer.from(text))
  return {
    async open(scope, source, delay) {
      return (await db.write(scope, openErrand, { ...source, ...walls(scope), delayMs: delay })).length > 0
    },
    async isUnderWay(scope, session, kind) {
      return (await db.read(scope, errandsUnderWay, { tenant: scope.tenant, session, kind })).length > 0
    },
    due: async (limit) => (await db.call(dueErrands, { limit })) as readonly (Walls & { id: ErrandId })[],
    async take(scope, id, next) {
      const [row] = await db.write(scope, takeErrand, { ...walls(scope), id, ...next })
      return row ? (row as Errand) : null
    },
    failed: async ({ tenant, environment }, id) =>
      void (await db.call(failErrand, { ofTenant: tenant, ofEnvironment: environment, id })),
    wake: async (scope, run) => void (await db.write(scope, wakeErrand, { tenant: scope.tenant, run })),
    rest: async (scope, { id, run }, ms) =>
      (await db.write(scope, restErrand, { tenant: scope.tenant, id, run, ms })).length > 0,
    end: async (scope, { id, run, outcome }) =>
      void (await db.write(scope, endAttempt, { tenant: scope.tenant, id, run, outcome })),
    async clear(scope, session, blank) {
      const blanks = { blank: seal(scope.tenant, blank.arguments), blankPlan: seal(scope.tenant, blank.plan) }
      const [done] = await db.call(clearErrand, { ...walls(scope), session, ...blanks })
      return done ?? { removed: 0, active: 0 }
    },
    drop: async (scope, session) => void (await db.call(dropWorkSession, { ...walls(scope), session })),
    report: (scope) => db.read(scope, errandReport, walls(scope)),
    close: async (scope, id, delay) =>
      void (await db.write(scope, closeErrand, { tenant: scope.tenant, id, delayMs: delay })),
    async run(scope, run) {
      const [row] = await db.read(scope, errandRun, { tenant: scope.tenant, run })
      return row ? { status: row.status, end: row.end as EndReason | null } : null
    },
    leave: async (scope, of) => (await db.write(scope, leaveErrands, { ...walls(scope), ...of })).length,
    toClear: async (scope) =>
      (await db.read(scope, errandsToClear, walls(scope))) as readonly {
        id: ErrandId
        workSession: SessionId | null
        run: RunId | null
      }[],
  }
}
