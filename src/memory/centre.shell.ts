/**
 * What people do with what is remembered of them: see it, ask why, answer questions, withdraw consent, take it along, have
 * it forgotten. An end user sees what is their own and what their groups share; what they may not see does not exist for them.
 *
 * G1  what, why, from where, with which scope and until when   G6  exports hold nothing of others, are rare and audited
 * G7  operators see values with a reason only, and it stands in the audit
 */
import { Fault } from '../kernel/fault.ts'
import type { ArtifactId, RunId, SessionId } from '../kernel/ids.ts'
import type { Json } from '../kernel/json.ts'
import { holds } from '../kernel/permission.ts'
import type { Actor, Scope } from '../kernel/scope.ts'
import type { Taken } from '../tool/rate.store.ts'
import type { CandidateStore } from './candidate.store.ts'
import { type Consents, consentsOf } from './consent.shell.ts'
import type { Forgetting } from './derivatives.shell.ts'
import type { MemoryId, MemoryScope, MemoryView } from './entry.ts'
import { receiptOf, reconcile, type Receipt, type Residue, startForgetting } from './forget.shell.ts'
import type { Deletion, DeletionId } from './forget.store.ts'
import type { Listing, MemoryFacts, MemoryVersion, SourceView, Use, Viewer } from './memory.store.ts'
import { type Page, pageOf, type PageWanted } from './page.ts'
import { type Questions, questionsOf } from './questions.shell.ts'
import { keyNamed, stewardshipOf, type StewardParts, type Stewardship } from './steward.shell.ts'
import { type Occasion, type Outcome, quoteOf, remember } from './remember.shell.ts'

/** Where a memory comes from, and which runs were given it or not. */
export interface Why {
  readonly memory: MemoryView
  readonly sources: readonly SourceView[]
  readonly uses: readonly (Omit<Use, 'memory'> & { readonly run: string; readonly at: number })[]
}

/** A value in a scope. `placeId` names the group or project of a shared one. */
export interface Wanted {
  readonly key: string
  readonly value: Json
  readonly scope?: MemoryScope
  readonly placeId?: string
  readonly session?: SessionId
  readonly expiresAt?: string
}

export interface ExportedMemory {
  readonly memory: MemoryView
  readonly sources: readonly SourceView[]
}

/** Every method tells what is not there and what may not be seen in the same words: `not_found`. */
export interface Centre extends Stewardship, Questions, Consents {
  list(actor: Actor, listing: Listing): Promise<Page<MemoryView>>
  get(actor: Actor, id: MemoryId): Promise<MemoryView>
  why(actor: Actor, id: MemoryId): Promise<Why>
  versions(actor: Actor, id: MemoryId): Promise<readonly MemoryVersion[]>
  /** What a run of the caller was given or not, and why: best first. */
  usesOfRun(actor: Actor, run: RunId): Promise<readonly Use[]>
  /** The caller's own words, written by the caller: nobody has to be asked. @throws Fault `invalid_request` without a known key */
  remember(actor: Actor, want: Wanted): Promise<Outcome>
  /** Another value for a memory of the caller. @throws Fault `precondition_failed`, `invalid_request` */
  correct(actor: Actor, at: { readonly id: MemoryId; readonly version: number; readonly value: Json }): Promise<Outcome>
  /** Everything of the caller. @throws Fault `rate_limited` */
  export(actor: Actor): Promise<readonly ExportedMemory[]>
  forget(actor: Actor, id: MemoryId): Promise<Receipt>
  /** One message, `run.seq`, of a conversation of the caller. Its place in the conversation stays. */
  forgetMessage(actor: Actor, message: string): Promise<Receipt>
  /** A conversation with all that its runs were told, asked and returned. Runs that are active are canceled. */
  forgetConversation(actor: Actor, session: SessionId, reason?: string): Promise<Receipt>
  /** What a call has returned and nobody read whole: its row says so at once, and its object goes. */
  forgetArtifact(actor: Actor, artifact: ArtifactId): Promise<Receipt>
  /** Everything of a subject: by the person, or by an operator whom the person has asked, who says so in `reason`. */
  forgetSubject(actor: Actor, subject: string, reason?: string): Promise<Receipt>
  deletions(actor: Actor, page: PageWanted): Promise<Page<Deletion>>
  deletion(actor: Actor, id: DeletionId): Promise<Receipt>

  /** For operators: everything but values. */
  facts(actor: Actor, subject: string, page: PageWanted): Promise<Page<MemoryFacts>>
  reveal(actor: Actor, id: MemoryId, reason: string): Promise<Json>
  reconcile(actor: Actor): Promise<readonly Residue[]>

  /** For those who hold `members.manage`. A place is `group:…` or `project:…`. */
  join(actor: Actor, place: string, user: string): Promise<void>
  leave(actor: Actor, place: string, user: string): Promise<void>
  members(actor: Actor, place: string): Promise<readonly { readonly user: string; readonly joinedAt: number }[]>
}

export interface CentreParts extends StewardParts {
  readonly candidates: CandidateStore
  readonly forgetting: Forgetting
  /** Whom a conversation is about. @throws Fault `not_found` for one that the caller may not see */
  readonly subjectOf: (actor: Actor, session: SessionId) => Promise<string>
  /** @throws Fault `not_found` for a run that the caller may not see */
  readonly mustSeeRun: (actor: Actor, run: RunId) => Promise<unknown>
  /** Counts one export, unless there were enough. */
  readonly mayExport: (scope: Scope, subject: string) => Promise<Taken>
}

/** Enough to explain, and not a second log of all runs. */
const MOST_USES = 50
const MOST_EXPORTED = 10_000
const PAGE = 200

/** What bars a memory stands in the words that it cites as well. */
const shown = ({ status }: MemoryView, sources: readonly SourceView[]): readonly SourceView[] =>
  status === 'barred' ? sources.map((source) => ({ ...source, quote: null })) : sources

const PLACE = /^(group|project):[A-Za-z0-9_.:@-]{1,128}$/

/** What the caller's credential gives it to see with; made here and nowhere else (F2). */
export const viewerOf = (actor: Actor): Viewer => ({
  subject: actor.subject,
  user: actor.user,
  scopes: ['owner', 'member', ...actor.permissions],
})

export function centreOf(parts: CentreParts): Centre {
  const { memories, candidates, forgetting, ids, scopeOf } = parts
  const by = (actor: Actor) => ({ audit: ids.next('aud'), actorKind: actor.kind, actor: actor.user })

  /** R6: what is remembered is shown to the person, by the person's own token. */
  const own = (actor: Actor): Scope => {
    if (actor.kind !== 'end_user') throw new Fault('permission_denied', "This needs an end user's token.")
    return scopeOf(actor)
  }
  const ops = (actor: Actor): Scope => {
    if (actor.kind !== 'operator') throw new Fault('permission_denied', 'Only an operator key may do this.')
    return scopeOf(actor)
  }
  const managing = (actor: Actor, place: string): Scope => {
    if (actor.kind === 'end_user' || !holds(actor.permissions, 'members.manage'))
      throw new Fault('permission_denied', 'This needs the permission `members.manage`.')
    if (!PLACE.test(place))
      throw new Fault('invalid_request', undefined, {
        errors: [{ path: '/place', message: 'is not `group:` or `project:` and a name' }],
      })
    return scopeOf(actor)
  }
  async function get(actor: Actor, id: MemoryId): Promise<MemoryView> {
    const found = await memories.get(own(actor), viewerOf(actor), id)
    if (!found) throw new Fault('not_found')
    return found
  }
  const target = { memories: [], messages: [], sessions: [] } as const

  const occasion = (actor: Actor, more: Partial<Occasion> = {}): Occasion => ({
    actor,
    scope: own(actor),
    keys: parts.registry,
    zone: parts.zoneOf(actor),
    session: null,
    run: null,
    call: null,
    placeId: null,
    ...more,
  })
  /** By the person, of their own value: the registry and the detectors judge it like any other. */
  function write(on: Occasion, key: string, value: Json, more: Pick<Wanted, 'scope' | 'expiresAt'>): Promise<Outcome> {
    const { kind, scopes } = keyNamed(parts.registry, key)
    const evidence = { kind: 'message', message: 'direct', quote: quoteOf(value) } as const
    const scope = more.scope ?? scopes[0] ?? 'user'
    const candidate = { kind, key, value, scope, evidence, lasting: true }
    const end = more.expiresAt === undefined ? {} : { expiresAt: more.expiresAt }
    return remember(parts.remembering, on, { ...candidate, ...end }, { at: parts.remembering.clock.now() })
  }

  return {
    ...stewardshipOf(parts),
    ...consentsOf(parts),
    ...questionsOf(parts),
    get,
    async list(actor, listing) {
      const rows = await memories.list(own(actor), viewerOf(actor), { ...listing, limit: listing.limit + 1 })
      return pageOf(rows, listing.limit, (row) => row.id)
    },
    async why(actor, id) {
      const memory = await get(actor, id)
      const scope = own(actor)
      const [sources, uses] = await Promise.all([
        memories.sources(scope, id),
        memories.uses(scope, { id, subject: actor.subject }, MOST_USES),
      ])
      return { memory, sources: shown(memory, sources).filter((s) => s.role === 'evidence'), uses }
    },
    async versions(actor, id) {
      const memory = await get(actor, id)
      return memory.status === 'barred' ? [] : memories.versions(own(actor), id)
    },
    async usesOfRun(actor, run) {
      const scope = own(actor)
      await parts.mustSeeRun(actor, run)
      return memories.usesOfRun(scope, run)
    },
    async remember(actor, { key, value, session, placeId, ...more }) {
      // before anything is looked up: a key of a service has no words of its own
      own(actor)
      const on = occasion(actor, { session: session ?? null, placeId: placeId ?? null })
      if (session !== undefined) await parts.subjectOf(actor, session)
      return write(on, key, value, more)
    },
    async correct(actor, { id, version, value }) {
      const found = await get(actor, id)
      if (found.subject !== actor.subject) throw new Fault('permission_denied', 'What is shared has another owner.')
      if (found.version !== version)
        throw new Fault('precondition_failed', undefined, { facts: { currentVersion: found.version } })
      const session = found.place.scope === 'conversation' ? (found.place.id as SessionId) : null
      return write(occasion(actor, { session, corrects: { id, version } }), found.key, value, {
        scope: found.place.scope,
      })
    },
    async export(actor) {
      const scope = own(actor)
      const counted = await parts.mayExport(scope, actor.subject)
      if (!counted.taken)
        throw new Fault('rate_limited', 'There were enough exports for now.', { retryAfterMs: counted.waitMs })
      await memories.note(scope, { ...by(actor), action: 'memory.export', target: actor.subject })
      const all: ExportedMemory[] = []
      for (let after = ''; all.length < MOST_EXPORTED; ) {
        const rows = await memories.list(scope, viewerOf(actor), { after, limit: PAGE })
        // what a group shares belongs to the group
        const mine = rows.filter((row) => row.subject === actor.subject)
        for (const memory of mine)
          all.push({ memory, sources: shown(memory, await memories.sources(scope, memory.id)) })
        after = rows.at(-1)?.id ?? ''
        if (rows.length < PAGE) break
      }
      return all
    },
    async forget(actor, id) {
      const found = await get(actor, id)
      // shared knowledge is not one member's to take away (E15)
      if (found.subject !== actor.subject) throw new Fault('permission_denied', 'What is shared has another owner.')
      const wanted = { ...target, subject: actor.subject, kind: 'memory', target: id, memories: [id] } as const
      return startForgetting(forgetting, own(actor), actor, wanted)
    },
    async forgetMessage(actor, message) {
      const scope = own(actor)
      const [found] = await forgetting.store.messagesAt(scope, [message])
      if (!found || found.user !== actor.user || found.subject !== actor.subject) throw new Fault('not_found')
      const wanted = {
        ...target,
        subject: actor.subject,
        kind: 'message',
        target: message,
        messages: [message],
      } as const
      return startForgetting(forgetting, scope, actor, wanted)
    },
    async forgetConversation(actor, session, reason) {
      const scope = actor.kind === 'operator' ? ops(actor) : own(actor)
      const subject = await parts.subjectOf(actor, session)
      const memories = await forgetting.store.memoriesAbout(scope, { subject, session })
      const wanted = {
        ...target,
        subject,
        kind: 'conversation',
        target: session,
        memories,
        sessions: [session],
        reason,
      } as const
      return startForgetting(forgetting, scope, actor, wanted)
    },
    async forgetArtifact(actor, artifact) {
      const scope = own(actor)
      const found = await forgetting.store.artifactOwner(scope, artifact)
      if (!found || found.user !== actor.user) throw new Fault('not_found')
      const wanted = { ...target, subject: found.subject, kind: 'artifact', target: artifact } as const
      return startForgetting(forgetting, scope, actor, wanted)
    },
    async forgetSubject(actor, subject, reason) {
      const scope = actor.kind === 'operator' ? ops(actor) : own(actor)
      if (actor.kind !== 'operator' && subject !== actor.subject) throw new Fault('not_found')
      const [memories, sessions] = await Promise.all([
        forgetting.store.memoriesAbout(scope, { subject, session: '' }),
        forgetting.store.sessionsOf(scope, subject),
      ])
      const wanted = { ...target, subject, kind: 'subject', target: subject, memories, sessions, reason } as const
      return startForgetting(forgetting, scope, actor, wanted)
    },
    async deletions(actor, page) {
      const subject = actor.kind === 'operator' ? '' : actor.subject
      const scope = actor.kind === 'operator' ? ops(actor) : own(actor)
      const rows = await forgetting.store.list(scope, { subject, ...page, limit: page.limit + 1 })
      return pageOf(rows, page.limit, (row) => row.id)
    },
    async deletion(actor, id) {
      const scope = actor.kind === 'operator' ? ops(actor) : own(actor)
      const receipt = await receiptOf(forgetting, scope, id)
      if (actor.kind !== 'operator' && receipt.subject !== actor.subject) throw new Fault('not_found')
      return receipt
    },
    async facts(actor, subject, page) {
      const rows = await memories.facts(ops(actor), { subject, ...page, limit: page.limit + 1 })
      return pageOf(rows, page.limit, (row) => row.id)
    },
    async reveal(actor, id, reason) {
      const [known] = await memories.facts(ops(actor), { subject: '', id, after: '', limit: 1 })
      if (!known) throw new Fault('not_found')
      const found = await memories.reveal(ops(actor), id, { audit: ids.next('aud'), actor: actor.user, reason })
      if (!found) throw new Fault('not_found')
      return found.value
    },
    reconcile: (actor) => reconcile(forgetting, ops(actor)),
    join: async (actor, place, user) => candidates.join(managing(actor, place), place, user, by(actor)),
    async leave(actor, place, user) {
      if (!(await candidates.leave(managing(actor, place), place, user, by(actor)))) throw new Fault('not_found')
    },
    members: async (actor, place) => candidates.members(managing(actor, place), place),
  }
}
