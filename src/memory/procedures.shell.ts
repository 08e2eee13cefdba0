/**
 * The way of a rule: proposed by an operator from what was experienced, evaluated by code of the product, approved by the hash of
 * what was read, and retired. No run, no end user and no service has a part in it.
 *
 * E1  one success is never a rule   E16 text written by a run never becomes an instruction
 */
import type { Clock } from '../kernel/clock.ts'
import { Fault } from '../kernel/fault.ts'
import type { Ids } from '../kernel/ids.ts'
import type { Actor, Scope } from '../kernel/scope.ts'
import { type Page, pageOf } from './page.ts'
import { scan } from './detect/scan.ts'
import type { Inspection, Candidate } from './candidate.ts'
import {
  classesOf,
  LEAST_OCCASIONS,
  type Procedure,
  type ProcedureFacts,
  type ProcedureId,
  proposalErrors,
  type Proposal,
} from './procedure.ts'
import type { NotProposed, Operator, ProcedureStore } from './procedure.store.ts'

/**
 * Tries one version of a procedure, and says how good it is and whether that is enough: code of the product, which runs its
 * agent on its own cases. It is asked outside of every transaction.
 */
export type Evaluator = (
  procedure: { readonly name: string; readonly version: number; readonly text: string; readonly hash: string },
  signal: AbortSignal,
) => Promise<{ readonly score: number; readonly passed: boolean }>

/** By the name of the evaluation. */
export type Evaluators = Readonly<Record<string, Evaluator>>

/** For operators alone: everybody else gets `permission_denied`. */
export interface Procedures {
  /** @throws Fault `invalid_request`, `memory_refused`, `conflict` */
  propose(actor: Actor, proposal: Proposal): Promise<Procedure>
  list(
    actor: Actor,
    filter: { readonly name: string; readonly after: string; readonly limit: number },
  ): Promise<Page<ProcedureFacts>>
  get(actor: Actor, id: ProcedureId): Promise<Procedure>
  /** Once for each version. @throws Fault `invalid_request`, `refused_transition`, `unavailable` when there was no verdict */
  evaluate(actor: Actor, id: ProcedureId, evaluation: string): Promise<Procedure>
  /** `hash` is that of the text which the operator has read. @throws Fault `params_hash_differs`, `refused_transition`, `conflict` */
  approve(
    actor: Actor,
    at: { readonly id: ProcedureId; readonly hash: string; readonly reason: string },
  ): Promise<Procedure>
  decline(actor: Actor, id: ProcedureId, reason: string): Promise<Procedure>
  /** Runs that are made from now on are without it. */
  retire(actor: Actor, id: ProcedureId, reason: string): Promise<Procedure>
}

export interface ProcedureParts {
  readonly store: ProcedureStore
  readonly evaluators: Evaluators
  readonly inspect: (candidate: Pick<Candidate, 'key' | 'value' | 'evidence'>) => Promise<Inspection>
  readonly ids: Ids
  readonly clock: Clock
  readonly scopeOf: (actor: Actor) => Scope
}

/** An evaluation runs an agent over many cases; who waits for longer than this has lost the request long ago. */
const EVALUATION_MS = 300_000

const wrong = (path: string, message: string): Fault =>
  new Fault('invalid_request', undefined, { errors: [{ path, message }] })

const NOT_PROPOSED: Readonly<Record<NotProposed, Fault>> = {
  sources: wrong('/sources', 'names what is no memory of the kind `experience`, or is not used any more'),
  occasions: wrong('/sources', `come from fewer than ${LEAST_OCCASIONS} occasions: one success is no rule`),
  raced: new Fault('conflict', 'Another version of the procedure was proposed at this moment.'),
}

export function proceduresOf(parts: ProcedureParts): Procedures {
  const { store, ids, scopeOf } = parts
  const operating = (actor: Actor): Scope => {
    if (actor.kind !== 'operator') throw new Fault('permission_denied', 'Only an operator key may do this.')
    return scopeOf(actor)
  }
  const by = (actor: Actor): Operator => ({ audit: ids.next('aud'), actor: actor.user })

  async function get(actor: Actor, id: ProcedureId): Promise<Procedure> {
    const found = await store.get(operating(actor), id)
    if (!found) throw new Fault('not_found')
    return found
  }
  async function end(actor: Actor, at: Parameters<ProcedureStore['end']>[1], reason: string): Promise<Procedure> {
    const done = await store.end(operating(actor), at, { ...by(actor), reason })
    const now = await get(actor, at.id)
    if (!done) throw new Fault('refused_transition', `The procedure is ${now.status}.`)
    return now
  }

  return {
    get,
    async propose(actor, proposal) {
      const scope = operating(actor)
      const errors = proposalErrors(proposal)
      if (errors.length > 0) throw new Fault('invalid_request', undefined, { errors })
      await mustBeClean(parts, proposal)
      const id = ids.next('prc')
      const refused = await store.propose(scope, id, proposal, by(actor))
      if (refused) throw NOT_PROPOSED[refused]
      return get(actor, id)
    },
    async list(actor, filter) {
      const rows = await store.list(operating(actor), { ...filter, limit: filter.limit + 1 })
      return pageOf(rows, filter.limit, (row) => row.id)
    },
    async evaluate(actor, id, evaluation) {
      const scope = operating(actor)
      const evaluator = Object.hasOwn(parts.evaluators, evaluation) ? parts.evaluators[evaluation] : undefined
      if (!evaluator) throw wrong('/evaluation', 'is not registered')
      const seen = await get(actor, id)
      if (seen.status !== 'proposed' || seen.text === null)
        throw new Fault('refused_transition', `The procedure is ${seen.status}; each version is evaluated once.`)
      const { name, version, text, hash } = seen
      const verdict = await verdictOf(parts.clock, evaluator, { name, version, text, hash })
      const done = await store.evaluated(scope, { id, hash }, { evaluation, ...verdict }, by(actor))
      const now = await get(actor, id)
      if (!done) throw new Fault('refused_transition', `The procedure is ${now.status} meanwhile.`)
      return now
    },
    async approve(actor, { id, hash, reason }) {
      const done = await store.approve(operating(actor), { id, hash }, { ...by(actor), reason })
      const now = await get(actor, id)
      if (!done) throw notApproved(now, hash)
      return now
    },
    decline: (actor, id, reason) => end(actor, { id, standing: ['proposed', 'evaluated'] }, reason),
    retire: (actor, id, reason) => end(actor, { id, standing: ['approved'] }, reason),
  }
}

function notApproved(now: Procedure, hash: string): Fault {
  if (now.status !== 'proposed' && now.status !== 'evaluated')
    return new Fault('refused_transition', `The procedure is ${now.status}.`)
  if (now.hash !== hash) return new Fault('params_hash_differs', 'The hash is not that of the text to approve.')
  if (!now.evaluation?.passed)
    return new Fault('refused_transition', 'The version has no evaluation that it has passed.')
  return new Fault('conflict', 'A memory that the procedure comes from is another by now. Propose it anew.')
}

/** A secret, something about a person, or an order that is known for an attack is no rule, whoever has typed it in. */
async function mustBeClean({ inspect }: ProcedureParts, { name, text }: Proposal): Promise<void> {
  const read = await inspect({ key: name, value: text, evidence: { kind: 'operator', ref: '' } })
  const reasons = read.ok ? classesOf([...scan(text), ...read.findings]) : ['detector_failed']
  if (reasons.length > 0)
    throw new Fault('memory_refused', 'The text holds what no rule may say.', { facts: { reasons } })
}

/** What throws, is late or gives no verdict has said nothing, and may be asked again. */
async function verdictOf(
  clock: Clock,
  evaluator: Evaluator,
  procedure: Parameters<Evaluator>[0],
): Promise<{ readonly score: number; readonly passed: boolean }> {
  const late = new AbortController()
  const cancel = clock.after(EVALUATION_MS, () => late.abort())
  const gaveUp = new Promise<never>((_, reject) =>
    late.signal.addEventListener('abort', () => reject(new Fault('unavailable')), { once: true }),
  )
  try {
    const said: unknown = await Promise.race([evaluator(procedure, late.signal), gaveUp])
    const { score, passed } = (said ?? {}) as { readonly score?: unknown; readonly passed?: unknown }
    if (typeof score === 'number' && Number.isFinite(score) && typeof passed === 'boolean') return { score, passed }
  } catch {
    // its words may hold values
  } finally {
    cancel()
  }
  throw new Fault('unavailable', 'The evaluation gave no verdict: a number as `score`, and `passed`.')
}
