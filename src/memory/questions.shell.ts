/**
 * What waits for a word before it is remembered: shown to whom it is about, and where several would read it to whoever brought
 * it up; operators answer for places of many.
 *
 * E6  the word is bound to exactly what was shown   G7  an operator sees a value with a reason only
 */
import { Fault } from '../kernel/fault.ts'
import type { SessionId } from '../kernel/ids.ts'
import type { Actor } from '../kernel/scope.ts'
import { accept } from './accept.shell.ts'
import type { Asked, CandidateStore, Question } from './candidate.store.ts'
import type { CandidateId } from './entry.ts'
import { type Page, pageOf, type PageWanted } from './page.ts'
import type { Occasion, Outcome } from './remember.shell.ts'
import type { StewardParts } from './steward.shell.ts'

type At = { readonly id: CandidateId; readonly version: number }

/** The first four by the person's own token; the others by an operator, about places that several read. */
export interface Questions {
  questions(actor: Actor, page: PageWanted): Promise<Page<Question>>
  question(actor: Actor, id: CandidateId): Promise<Question>
  /**
   * Lets exactly the value be remembered that `hash` says was shown.
   * @throws Fault `already_decided`, `confirmation_expired`, `precondition_failed`, `params_hash_differs`
   */
  accept(actor: Actor, at: At & { readonly hash: string }): Promise<Outcome>
  /** @throws Fault `already_decided`, `confirmation_expired`, `precondition_failed` */
  decline(actor: Actor, at: At): Promise<Question>
  /** Without content. */
  sharedQuestions(actor: Actor, page: PageWanted): Promise<Page<Question>>
  /** One with its content, and the reason in the audit. */
  revealQuestion(actor: Actor, id: CandidateId, reason: string): Promise<Question>
  /** As `accept`. */
  acceptShared(actor: Actor, at: At & { readonly hash: string }): Promise<Outcome>
  /** As `decline`. */
  declineShared(actor: Actor, at: At): Promise<Question>
}

export interface QuestionParts extends StewardParts {
  readonly candidates: CandidateStore
}

export function questionsOf(parts: QuestionParts): Questions {
  const { memories, candidates, ids } = parts
  const by = (actor: Actor) => ({ audit: ids.next('aud'), actorKind: actor.kind, actor: actor.user })
  /** R6: what is remembered is shown to the person, by the person's own token. */
  const own = (actor: Actor): Asked => {
    if (actor.kind !== 'end_user') throw new Fault('permission_denied', "This needs an end user's token.")
    return { subject: actor.subject, user: actor.user }
  }
  const shared = (actor: Actor): Asked => {
    if (actor.kind !== 'operator') throw new Fault('permission_denied', 'Only an operator key may do this.')
    return { subject: '', user: '' }
  }
  async function one(actor: Actor, asked: Asked, id: CandidateId): Promise<Question> {
    const found = await candidates.get(parts.scopeOf(actor), asked, id)
    if (!found) throw new Fault('not_found')
    return found
  }
  async function pageFor(actor: Actor, asked: Asked, page: PageWanted): Promise<Page<Question>> {
    const rows = await candidates.list(parts.scopeOf(actor), asked, { ...page, limit: page.limit + 1 })
    return pageOf(rows, page.limit, (row) => row.id)
  }
  const occasion = (actor: Actor, seen: Question, placeId: string): Occasion => ({
    actor,
    scope: parts.scopeOf(actor),
    keys: parts.registry,
    zone: parts.zoneOf(actor),
    session: seen.session as SessionId | null,
    run: seen.run,
    call: null,
    placeId,
  })
  async function accepted(actor: Actor, asked: Asked, { id, version, hash }: At & { hash: string }): Promise<Outcome> {
    const seen = await one(actor, asked, id)
    if (seen.status !== 'pending' || !seen.entry || seen.version !== version) throw undecided(seen)
    if (seen.hash !== hash) throw new Fault('params_hash_differs')
    return accept(parts.remembering, occasion(actor, seen, seen.entry.place.id), { id, version, entry: seen.entry })
  }
  async function declined(actor: Actor, asked: Asked, at: At): Promise<Question> {
    const seen = await one(actor, asked, at.id)
    if (await candidates.decline(parts.scopeOf(actor), at, by(actor))) return one(actor, asked, at.id)
    throw undecided(seen.status === 'pending' ? await one(actor, asked, at.id) : seen)
  }

  return {
    questions: async (actor, page) => pageFor(actor, own(actor), page),
    question: async (actor, id) => one(actor, own(actor), id),
    accept: async (actor, at) => accepted(actor, own(actor), at),
    decline: async (actor, at) => declined(actor, own(actor), at),
    async sharedQuestions(actor, page) {
      const found = await pageFor(actor, shared(actor), page)
      return { ...found, items: found.items.map((question) => ({ ...question, entry: null, hash: '' })) }
    },
    async revealQuestion(actor, id, reason) {
      const found = await one(actor, shared(actor), id)
      await memories.note(parts.scopeOf(actor), { ...by(actor), action: 'memory.reveal', target: id, reason })
      return found
    },
    acceptShared: async (actor, at) => accepted(parts.about(actor, actor.user), shared(actor), at),
    declineShared: async (actor, at) => declined(actor, shared(actor), at),
  }
}

/** Why a word was not taken. */
function undecided(now: Question): Fault {
  if (now.status === 'expired') return new Fault('confirmation_expired')
  if (now.status === 'pending')
    return new Fault('precondition_failed', undefined, { facts: { currentVersion: now.version } })
  return new Fault('already_decided', undefined, { facts: { outcome: now.status } })
}
