/** What waits for the subject's word, what the subject has said about purposes, and who belongs where. */
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import { openJson } from '../kernel/sealed.ts'
import type { Id } from '../kernel/ids.ts'
import { hashJson } from '../kernel/canonical.ts'
import type { ActorKind, Scope } from '../kernel/scope.ts'
import {
  affected,
  askAbout,
  candidates,
  type CandidatesRow,
  closeQuestions,
  consents,
  declineCandidate,
  expireQuestions,
  joinPlace,
  leavePlace,
  membersOf,
  setConsent,
} from './candidate.sql.ts'
import { type CandidateId, type Entry, type MemoryId, placeText } from './entry.ts'
import { valueHash, valueMark } from './memory.store.ts'

export interface Question {
  readonly id: CandidateId
  readonly subject: string
  readonly writer: string
  readonly session: string | null
  readonly run: string | null
  readonly key: string
  /** The entry as it will be written; null once it is answered. */
  readonly entry: Entry | null
  /** Of what is shown; empty once it is answered. */
  readonly hash: string
  readonly reasons: readonly string[]
  readonly status: 'pending' | 'accepted' | 'declined' | 'expired' | 'superseded'
  readonly version: number
  readonly memory: MemoryId | null
  readonly expiresAt: number
  readonly createdAt: number
}

export interface Asking {
  readonly id: CandidateId
  readonly writer: string
  readonly session: string | null
  readonly run: string | null
  readonly many: boolean
  readonly reasons: readonly string[]
  /** How long the question stays open. */
  readonly openMs: number
}

/** Who answers: a person what is about them, and what they brought up where several read; without a subject all of the latter. */
export interface Asked {
  readonly subject: string
  readonly user: string
}

export interface By {
  readonly audit: Id<'aud'>
  readonly actorKind: ActorKind
  readonly actor: string
}

export interface Consent {
  readonly purpose: string
  readonly state: 'granted' | 'withdrawn'
  readonly basis: string
  readonly decidedBy: string
  readonly decidedAt: number
}

export interface CandidateStore {
  /** The open question about exactly this value: a new one, or the one that was there. Null: it was declined since it was said, or may not be written. */
  ask(scope: Scope, entry: Entry, asking: Asking): Promise<CandidateId | null>
  /** Open ones, oldest first. */
  list(scope: Scope, asked: Asked, page: { after: string; limit: number }): Promise<readonly Question[]>
  get(scope: Scope, asked: Asked, id: CandidateId): Promise<Question | null>
  /** False when it was answered, or is at another version. */
  decline(scope: Scope, at: { readonly id: CandidateId; readonly version: number }, by: By): Promise<boolean>
  /** Of these keys, as the subject will not have them remembered. */
  close(scope: Scope, subject: string, keys: readonly string[]): Promise<void>
  consents(scope: Scope, subject: string): Promise<readonly Consent[]>
  setConsent(scope: Scope, subject: string, said: Pick<Consent, 'purpose' | 'state' | 'basis'>, by: By): Promise<void>
  /** What is remembered of the subject for this purpose; `*` is every purpose. */
  affected(scope: Scope, subject: string, purpose: string): Promise<readonly MemoryId[]>
  join(scope: Scope, place: string, user: string, by: By): Promise<void>
  /** False when they did not belong there. */
  leave(scope: Scope, place: string, user: string, by: By): Promise<boolean>
  members(scope: Scope, place: string): Promise<readonly { readonly user: string; readonly joinedAt: number }[]>
}

/** What is shown and what is accepted: value, key, place, purpose and end, in one hash (E6). */
const shownHash = ({ place, subject, key, value, purpose, expiresAt }: Entry): string =>
  hashJson(['memory.shown.v1', place.scope, place.id, subject, key, value, purpose, expiresAt])

export function candidateStore(db: Db, keys: ContentKeys): CandidateStore {
  const walls = ({ tenant, environment }: Scope) => ({ tenant, environment })
  const view = (tenant: string, row: CandidatesRow): Question => {
    const { body, place: _, valueHash: __, ...rest } = row
    const known = rest as unknown as Omit<Question, 'entry' | 'hash'>
    const isOpen = known.status === 'pending'
    const entry = isOpen ? (openJson(keys, tenant, body) as unknown as Entry) : null
    return { ...known, entry, hash: entry ? shownHash(entry) : '' }
  }
  const listed = async (scope: Scope, filter: Asked & { id: string; after: string; limit: number }) =>
    (await db.read(scope, candidates, { ...walls(scope), ...filter })).map((row) => view(scope.tenant, row))
  return {
    async ask(scope, entry, { id, writer, session, run, many, reasons, openMs }) {
      const row = {
        id,
        subject: entry.subject,
        writer,
        session,
        run,
        place: placeText(entry.place),
        key: entry.key,
        many,
        body: Buffer.from(keys.seal(scope.tenant, Buffer.from(JSON.stringify(entry)))).toString('base64'),
        value_hash: valueHash(keys, scope.tenant, entry.value),
        purpose: entry.purpose,
        forgotten: valueMark(keys, scope.tenant, entry),
        sources: entry.sources.flatMap((s) => (s.role === 'evidence' ? [`${s.kind} ${s.ref}`] : [])),
        said_at: entry.saidAt,
        reasons,
        open_ms: openMs,
      }
      const candidate = JSON.stringify(row)
      // one that has ended stands in the way of the same question
      await db.write(scope, expireQuestions, { ...walls(scope), place: row.place, key: row.key })
      const asked = async () => (await db.write(scope, askAbout, { ...walls(scope), candidate }))[0]
      // of two who ask at once, one sees neither its own row nor the other's yet
      for (let again = 0; again < 2; again++) {
        const made = await asked()
        if (made?.declined) return null
        if (made?.id) return made.id as CandidateId
      }
      return id
    },
    list: (scope, asked, page) => listed(scope, { ...page, ...asked, id: '' }),
    get: async (scope, asked, id) => (await listed(scope, { ...asked, id, after: '', limit: 1 }))[0] ?? null,
    decline: async (scope, at, by) =>
      (await db.write(scope, declineCandidate, { ...walls(scope), ...at, ...by })).length > 0,
    async close(scope, subject, ofKeys) {
      await db.write(scope, closeQuestions, { ...walls(scope), subject, keys: ofKeys })
    },
    async consents(scope, subject) {
      const rows = await db.read(scope, consents, { ...walls(scope), subject })
      return rows.map((row) => ({ ...row, state: row.state as Consent['state'] }))
    },
    async setConsent(scope, subject, said, by) {
      await db.write(scope, setConsent, { ...walls(scope), subject, ...said, ...by })
    },
    affected: async (scope, subject, purpose) =>
      (await db.read(scope, affected, { ...walls(scope), subject, purpose })).map((row) => row.id as MemoryId),
    async join(scope, place, user, by) {
      await db.write(scope, joinPlace, { ...walls(scope), place, user, ...by })
    },
    leave: async (scope, place, user, by) =>
      (await db.write(scope, leavePlace, { ...walls(scope), place, user, ...by })).length > 0,
    members: (scope, place) => db.read(scope, membersOf, { ...walls(scope), place }),
  }
}
