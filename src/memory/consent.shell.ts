/**
 * What a person says about purposes.
 *
 * G8  a withdrawn consent bars what it covers from this moment on, and takes it away
 */
import { Fault } from '../kernel/fault.ts'
import type { Actor, Scope } from '../kernel/scope.ts'
import type { CandidateStore, Consent } from './candidate.store.ts'
import type { Forgetting } from './derivatives.shell.ts'
import { type Receipt, startForgetting } from './forget.shell.ts'
import type { StewardParts } from './steward.shell.ts'

export interface Consents {
  /** Of the keys of this program: what a word can be said about, besides `*` for all. */
  readonly purposes: readonly string[]
  consents(actor: Actor): Promise<readonly Consent[]>
  /**
   * Withdrawn, what it covers is used no more from this moment on and forgotten: the receipt says how far that is.
   * @throws Fault `invalid_request` for a purpose that no key, no memory and no earlier word of the person has: it would cover nothing
   */
  setConsent(actor: Actor, said: Pick<Consent, 'purpose' | 'state'>): Promise<Receipt | null>
}

export interface ConsentParts extends StewardParts {
  readonly candidates: CandidateStore
  readonly forgetting: Forgetting
}

export function consentsOf(parts: ConsentParts): Consents {
  const { candidates, registry } = parts
  const purposes = [...new Set(registry.keys.map((key) => key.purpose))].sort()

  const own = (actor: Actor): Scope => {
    if (actor.kind !== 'end_user') throw new Fault('permission_denied', "This needs an end user's token.")
    return parts.scopeOf(actor)
  }
  /** Keys that this program has no more may have left memories, and words. */
  const isLeft = async (scope: Scope, subject: string, purpose: string): Promise<boolean> =>
    (await candidates.consents(scope, subject)).some((said) => said.purpose === purpose) ||
    (await candidates.affected(scope, subject, purpose)).length > 0

  return {
    purposes,
    consents: async (actor) => candidates.consents(own(actor), actor.subject),
    async setConsent(actor, { purpose, state }) {
      const scope = own(actor)
      const { subject } = actor
      const isKnown = purpose === '*' || purposes.includes(purpose) || (await isLeft(scope, subject, purpose))
      if (!isKnown) throw unknown(purposes)
      const by = { audit: parts.ids.next('aud'), actorKind: actor.kind, actor: actor.user }
      await candidates.setConsent(scope, subject, { purpose, state, basis: 'said' }, by)
      if (state === 'granted') return null
      const barred = registry.keys.filter((key) => purpose === '*' || key.purpose === purpose)
      await candidates.close(
        scope,
        subject,
        barred.map((key) => key.name),
      )
      const memories = await candidates.affected(scope, subject, purpose)
      const wanted = { kind: 'purpose', target: purpose, subject, memories, messages: [], sessions: [] } as const
      return startForgetting(parts.forgetting, scope, actor, wanted)
    },
  }
}

/** What was asked for is the caller's own text, and stays out of the answer. */
const unknown = (purposes: readonly string[]): Fault => {
  const known = ['*', ...purposes].map((purpose) => JSON.stringify(purpose)).join(', ')
  return new Fault('invalid_request', undefined, { errors: [{ path: '/purpose', message: `is none of ${known}` }] })
}
