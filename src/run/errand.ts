/**
 * Errands: work that a conversation leaves behind for a model. Each attempt is an ordinary run of an internal agent, so that
 * money, leases, recovery and failures are those of every run; nothing of it is seen or felt in the conversation.
 *
 * D4  an errand that fails leaves everything as it was   B7  each of its loops has an end
 */
import type { Id, RunId, SessionId } from '../kernel/ids.ts'
import type { EndReason } from './reasons.ts'

export type ErrandId = Id<'ern'>

/** What an errand is about: whole runs of one conversation, up to its message `upto`. */
export interface ErrandSource {
  readonly id: ErrandId
  readonly kind: string
  /** Of the conversation. */
  readonly agent: string
  readonly session: SessionId
  readonly user: string
  readonly subject: string
  readonly from: number
  readonly to: number
  readonly upto: string
}

/** What came of an attempt: the whole answer of the model, or why there is none. */
export type ErrandFinal = { readonly text: string } | { readonly end: EndReason }

/**
 * One kind of errand. Both may be called again for the same errand, and do the same then. What they return as `outcome` is
 * a word of a closed list, kept in the row; content never is.
 */
export interface ErrandKind<Walls> {
  /** Whether this program does such errands for conversations with the agent. */
  knows(agent: string): boolean
  /** What the internal agent is asked, or the outcome when nobody has to be asked. */
  request(scope: Walls, source: ErrandSource): Promise<{ readonly text: string } | { readonly outcome: string }>
  /** Judges the answer and keeps what is worth it. With an `end`: every attempt has failed. */
  handle(scope: Walls, source: ErrandSource, final: ErrandFinal): Promise<string>
}

export interface Attempt {
  readonly state: 'due' | 'running' | 'clearing' | 'done'
  readonly workSession: SessionId
  readonly run: RunId
  readonly outcome: string | null
  readonly attempts: number
  /** How often it was taken since its last step came to an end. */
  readonly tries: number
}

/** A provider that is away comes back within minutes; what fails three times fails for a reason. */
export const MOST_ATTEMPTS = 3
/** Times that one step may throw, each after twice the time: a service of keys that is away for an hour is waited for. */
export const MOST_TRIES = 8
const FIRST_DELAY_MS = 5_000

/** How long after a failed attempt the next one begins: 5 s, 30 s. */
export const delayMs = (attempts: number): number => FIRST_DELAY_MS * 6 ** Math.max(0, attempts - 1)

/** Agents that do errands are named after the agent they work for. No agent of a product has such a name. */
export const errandAgent = (agent: string, kind: string): string => `${agent}/${kind}`
export const isErrandAgent = (name: string): boolean => name.includes('/')
