/**
 * What waits for a word before it is remembered: shown to whom it is about, and where several would read it to whoever brought
 * it up; operators answer for places of many.
 *
 * E6  the word is bound to exactly what was shown   G7  an operator sees a value with a reason only
 */
import { Fault } from '../kernel/fault.ts'
import type { SessionId } from '../kernel/ids.ts'
import type { Actor, Scope } from '../kernel/scope.ts'
import { accept } from './accept.shell.ts'
import type { Asked, CandidateStore, Question } from './candidate.store.ts'
import type { CandidateId } from './entry.ts'
import { type Page, pageOf, type PageWanted } from './page.ts'
import type { Occasion, Outcome } from './remember.shell.ts'
import type { StewardParts } from './steward.shell.ts'

/** Of a person about themselves; of an operator about places that several read, there without content until it is revealed. */
export interface Questions {
  questions(actor: Actor, page: PageWanted): Promise<Page<Question>>
  question(actor: Actor, id: CandidateId): Promise<Question>
  /** For operators: one with its content, and the reason in the audit. */
  revealQuestion(actor: Actor, id: CandidateId, reason: string): Promise<Question>
  /**
   * Lets exactly the value be remembered that `hash` says was shown.
   * @throws Fault `already_decided`, `confirmation_expired`, `precondition_failed`, `params_hash_differs`
   */
  accept(
    actor: Actor,
    at: { readonly id: CandidateId; readonly version: number; readonly hash: string },
  ): Promise<Outcome>
  /** @throws Fault `already_decided`, `confirmation_expired`, `precondition_failed` */
  decline(actor: Actor, at: { readonly id: CandidateId; readonly version: number }): Promise<Question>
}

export interface QuestionParts extends StewardParts {
  readonly candidates: CandidateStore
}

export function questionsOf(parts: QuestionParts): Questions {
  const { memories, candidates, ids } = parts
  const by = (actor: Actor) => ({ audit: ids.next('aud'), actorKind: actor.kind, actor: actor.user })
  /** R6: what is remembered is shown to the person, by the person's own token. */
  const answering = (actor: Actor): Scope => {
    if (actor.kind !== 'end_user' && actor.kind !== 'operator')
      throw new Fault('permission_denied', "This needs an end user's token.")
    return parts.scopeOf(actor)
  }
  const askedOf = ({ kind, subject, user }: Actor): Asked =>
    kind === 'operator' ? { subject: '', user: '' } : { subject, user }
  const blank = (actor: Actor, question: Question): Question =>
    actor.kind === 'operator' ? { ...question, entry: null, hash: '' } : question
  async function whole(actor: Actor, id: CandidateId): Promise<Question> {
    const found = await candidates.get(answering(actor), askedOf(actor), id)
    if (!found) throw new Fault('not_found')
    return found
  }
  const occasion = (actor: Actor, seen: Question, placeId: string): Occasion => ({
    actor: actor.kind === 'operator' ? parts.about(actor, actor.user) : actor,
    scope: answering(actor),
    keys: parts.registry,
    zone: parts.zoneOf(actor),
    session: seen.session as SessionId | null,
    run: seen.run,
    call: null,
    placeId,
  })

  return {
    async questions(actor, page) {
      const rows = await candidates.list(answering(actor), askedOf(actor), { ...page, limit: page.limit + 1 })
      return pageOf(
        rows.map((row) => blank(actor, row)),
        page.limit,
        (row) => row.id,
      )
    },
    question: async (actor, id) => blank(actor, await whole(actor, id)),
    async revealQuestion(actor, id, reason) {
      if (actor.kind !== 'operator') throw new Fault('permission_denied', 'Only an operator key may do this.')
      const found = await whole(actor, id)
      await memories.note(answering(actor), { ...by(actor), action: 'memory.reveal', target: id, reason })
      return found
    },
    async accept(actor, { id, version, hash }) {
      const seen = await whole(actor, id)
      if (seen.status !== 'pending' || !seen.entry || seen.version !== version) throw undecided(seen)
      if (seen.hash !== hash) throw new Fault('params_hash_differs')
      return accept(parts.remembering, occasion(actor, seen, seen.entry.place.id), { id, version, entry: seen.entry })
    },
    async decline(actor, at) {
      const seen = await whole(actor, at.id)
      if (await candidates.decline(answering(actor), at, by(actor))) return blank(actor, await whole(actor, at.id))
      throw undecided(seen.status === 'pending' ? await whole(actor, at.id) : seen)
    },
  }
}

/** Why a word was not taken. */
function undecided(now: Question): Fault {
  if (now.status === 'expired') return new Fault('confirmation_expired')
  if (now.status === 'pending')
    return new Fault('precondition_failed', undefined, { facts: { currentVersion: now.version } })
  return new Fault('already_decided', undefined, { facts: { outcome: now.status } })
}
