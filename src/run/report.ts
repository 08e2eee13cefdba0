/**
 * What the world reports to the machine. Clock and ids enter here as fields, so that the machine stays a function.
 */
import type { ModelAnswer, Usage } from '../model/port.ts'
import type { AnsweredEffect, Plan, ToolOutcome } from '../tool/contract.ts'
import type { Spent } from './budget.ts'
import type { CancelCause, EndReason } from './reasons.ts'
import type { Call } from './state.ts'

export interface PlannedCall {
  readonly position: number
  readonly plan: Plan
  /** The version of the resource that the plan was made on; null when the tool has no reader. */
  readonly resourceVersion: string | null
  readonly repeats: string | null
  /** What it undoes, for whoever confirms it. */
  readonly answers: AnsweredEffect | null
  readonly confirmation: string
  readonly nonce: string
  readonly openMs: number
}

export type Report =
  /** A worker took the run, and the row says so already. */
  | { readonly kind: 'claimed' }
  /** Money for the next model call, when none is held: at the start of a recovery or after a wait. */
  | { readonly kind: 'reserved' }
  /** `calls` carry the verdict of the gate; a refused one has its outcome already. */
  | {
      readonly kind: 'model_answered'
      readonly answer: ModelAnswer
      readonly calls: readonly Call[]
      readonly finalValid: boolean
      /** Memory could not be read, and the agent answers without it (F7). */
      readonly withoutMemory?: true
      /** What was in the request that nobody we trust has written: words of a hook, or a picture, document or sound (I9). */
      readonly untrusted?: 'hook' | 'media'
      /** What failed attempts before this answer cost. */
      readonly dropped?: Spent
    }
  | {
      readonly kind: 'model_failed'
      readonly reason: EndReason
      readonly usage: Usage
      readonly partial: string
      readonly sent: boolean
      readonly dropped?: Spent
    }
  | {
      readonly kind: 'calls_planned'
      readonly plans: readonly PlannedCall[]
      readonly failed: readonly Settlement[]
      readonly confirmers: readonly string[]
    }
  /** `waiting`: calls that the other side has taken, and will tell of later. */
  | {
      readonly kind: 'calls_settled'
      readonly calls: readonly Settlement[]
      readonly waiting?: readonly Waiting[]
    }
  /** COMMIT S has committed it: the row says so already. */
  | { readonly kind: 'effect_started'; readonly position: number }
  | { readonly kind: 'effect_unknown'; readonly position: number }
  /** A restart is due later: what a provider without a key may still be doing must have ended before it is asked. */
  | { readonly kind: 'probe_later'; readonly ms: number }
  | { readonly kind: 'parked' }
  | { readonly kind: 'confirmation_decided'; readonly position: number; readonly approved: boolean }
  /** The resource is not what it was when the plan was made: nobody can agree to this plan any more (J12). */
  | { readonly kind: 'plan_stale'; readonly position: number }
  | { readonly kind: 'unknown_resolved'; readonly position: number; readonly outcome: ToolOutcome }
  /** An operator wants it sent once more under its key, or gives up finding out. */
  | { readonly kind: 'unknown_retried'; readonly position: number }
  | { readonly kind: 'unknown_left'; readonly position: number }
  | { readonly kind: 'cancel_requested'; readonly cause: CancelCause }
  | { readonly kind: 'lease_lost' }
  /** The worker stops politely. `asked`: a request to the model may have left, and nobody heard its end. */
  | { readonly kind: 'handed_back'; readonly asked: boolean }
  /** Nobody follows the run, and its agent parks it then (K2). `leftMs`: of its own time. */
  | { readonly kind: 'left_alone'; readonly asked: boolean; readonly leftMs: number }
  | { readonly kind: 'ended'; readonly reason: EndReason }

export interface Waiting {
  readonly position: number
  readonly signal: string | null
  /** From now. */
  readonly ms: number
  /** What was told has been heard, and is to be heard again after the time: not at once. */
  readonly again?: true
}

export interface Settlement {
  readonly position: number
  readonly outcome: ToolOutcome
}
