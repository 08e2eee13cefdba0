/**
 * Who asks for memories, from where, and which of them they are content with.
 *
 * F2  what is missing lets nothing through   H3  a question in a group sees nothing personal   BR-088 an unknown field is refused
 */
import { z } from 'zod'
import { Fault } from '../../kernel/fault.ts'
import type { Integrity } from '../../kernel/labels.ts'
import type { Actor, Scope } from '../../kernel/scope.ts'
import type { Sensitivity } from '../entry.ts'

const KINDS = ['preference', 'fact', 'task', 'experience'] as const
const LAYERS = ['session', 'episodic', 'semantic', 'procedural'] as const
const SENSITIVITIES: readonly Sensitivity[] = ['none', 'personal', 'special']
/** From what anybody may have written to what the product itself says. */
const INTEGRITIES: readonly Integrity[] = ['untrusted', 'user', 'trusted']
/** Rows of one answer; a prompt holds fewer. */
const MAX_ROWS = 200

const FILTER = z.strictObject({
  purposes: z.array(z.string().min(1).max(300)).min(1),
  kinds: z.array(z.enum(KINDS)).min(1).optional(),
  layers: z.array(z.enum(LAYERS)).min(1).optional(),
  confidence: z.number().min(0).max(1).default(0),
  sensitivity: z.enum(['none', 'personal', 'special']).default('personal'),
  integrity: z.enum(['untrusted', 'user', 'trusted']).default('user'),
})

/** `confidence` and `integrity` are floors, `sensitivity` is a ceiling. */
export type Filter = z.infer<typeof FILTER>

/** @throws Fault `invalid_request` for a field that is missing, unknown or of another type; no value is in its text. */
export function filterOf(value: unknown): Filter {
  const read = FILTER.safeParse(value)
  if (read.success) return read.data
  const fields = read.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys : [issue.path.join('.')],
  )
  throw new Fault(
    'invalid_request',
    `The filter of memories has fields that it cannot have: ${fields.join(', ').slice(0, 200)}.`,
  )
}

/** A conversation as the server knows it. `group` is the group that it belongs to, `projects` what its owner works on. */
export interface Conversation {
  readonly session?: string
  readonly group?: string
  readonly projects?: readonly string[]
}

/**
 * The places that a question may look into. In a group everybody reads the answer, so only what the group shares is there:
 * nothing of a person, and no project that others of the group may not be in. Membership is asked again by the statement.
 */
export function placesOf(actor: Pick<Actor, 'subject'>, conversation: Conversation): readonly string[] {
  const { session, group, projects = [] } = conversation
  const own =
    group === undefined ? [`user:${actor.subject}`, ...projects.map((id) => `project:${id}`)] : [`group:${group}`]
  return [...own, ...(session === undefined ? [] : [`conversation:${session}`]), 'tenant:']
}

/** A question, with everything that decides what it may find. */
export interface Asking {
  readonly text: string
  /** The keys that the application asks for by name. */
  readonly keys?: readonly string[]
  /** From `placesOf`. */
  readonly places: readonly string[]
  /** What the caller may see, as the server has computed it. */
  readonly scopes: readonly string[]
  readonly filter: Filter
  /** Milliseconds since the epoch. */
  readonly now: number
  /** The day of the person who asks, for "yesterday". */
  readonly today?: string
  /** Rows wanted, 1 to 200. */
  readonly k: number
}

/** The filter as the statement takes it. @throws Fault `invalid_request` when something that decides is missing. */
export function boundsOf(scope: Scope, asking: Omit<Asking, 'text'>) {
  const { places, scopes, filter, now, k } = asking
  if (!scope.tenant || !scope.environment || !scope.subject || !scope.user)
    throw new Fault('invalid_request', 'Memories are asked for by somebody: the scope is incomplete.')
  if (places.length === 0) throw new Fault('invalid_request', 'A question for memories names the places to look into.')
  if (!Number.isInteger(k) || k < 1 || k > MAX_ROWS)
    throw new Fault('invalid_request', `A question for memories takes 1 to ${MAX_ROWS} rows.`)
  return {
    tenant: scope.tenant,
    environment: scope.environment,
    subject: scope.subject,
    user: scope.user,
    places,
    scopes,
    purposes: filter.purposes,
    now,
    confidence: filter.confidence,
    sensitivities: SENSITIVITIES.slice(0, SENSITIVITIES.indexOf(filter.sensitivity) + 1),
    integrities: INTEGRITIES.slice(INTEGRITIES.indexOf(filter.integrity)),
    kinds: filter.kinds ?? null,
    layers: filter.layers ?? null,
    k,
  }
}
