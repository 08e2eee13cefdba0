/**
 * A run as the machine sees it: one frozen value. Everything in it is in columns and rows of the store; nothing else is
 * remembered (L3, L6).
 *
 * A1  one of six statuses; a wait carries its reason
 * A3  every write is a compare-and-swap on `version`
 */
import type { Confidentiality, Integrity } from '../kernel/labels.ts'
import type { RunId, SessionId } from '../kernel/ids.ts'
import type { Context } from '../context/assemble.ts'
import type { Approval } from '../gate/decide.ts'
import type { Price } from '../model/port.ts'
import type { Arrived } from '../tool/later.ts'
import type { BreakerLimits, EffectLevel, ToolOutcome } from '../tool/contract.ts'
import type { CancelCause, EndReason, FinalStatus } from './reasons.ts'

export type Status = 'queued' | 'running' | 'waiting_confirmation' | FinalStatus
export type WaitReason = 'confirmation' | 'unknown_effect' | 'question' | 'timer' | 'external' | 'follower'
export type Phase = 'planning' | 'tool_running' | 'awaiting_observation' | 'finalizing'

/** Which run, behind which walls. */
export interface RunKey {
  readonly tenant: string
  readonly environment: string
  readonly run: RunId
}

/** Limits of a run. Cost in micro-cents: 1 cent = 1 000 000. */
export interface Limits {
  readonly steps: number
  readonly toolCalls: number
  readonly tokens: number
  readonly cost: number
  readonly attempts: number
}

export interface Used {
  readonly toolCalls: number
  readonly tokens: number
  readonly cost: number
}

export interface Amount {
  readonly tokens: number
  readonly cost: number
}

export type ConfirmationStatus = 'pending' | 'approved' | 'rejected' | 'expired' | 'superseded' | 'consumed'

/** The confirmation of a call, as far as the machine needs it. Times are milliseconds from now. */
export interface CallConfirmation {
  readonly id: string
  readonly status: ConfirmationStatus
  readonly leftMs: number
  readonly resourceVersion: string | null
}

/**
 * What a call waits for outside, with nobody at work on it (T3). `signal` null: only time. `arrived`: somebody has told.
 */
export interface CallWait {
  readonly signal: string | null
  /** Until nobody waits any more, in milliseconds from now. */
  readonly leftMs: number
  /** How often this call has gone to wait. */
  readonly count: number
  readonly arrived: Arrived | null
}

/** A call of the open step. Its identity is (run, step, position); `callId` is the provider's label. */
export interface Call {
  readonly position: number
  readonly callId: string
  readonly tool: string
  readonly toolVersion: number
  readonly exposedName: string
  readonly level: EffectLevel
  readonly approval: Approval
  /** The raw text of the model; what runs is `canonical`. */
  readonly raw: string
  /** RFC 8785 text; the raw text where the call was refused. */
  readonly canonical: string
  readonly argumentsHash: string
  readonly fingerprint: string
  readonly key: string
  readonly ends: EndReason | null
  /** Error codes that the contract declares to end the run. */
  readonly stops: readonly string[]
  readonly breaker: BreakerLimits
  readonly retryByKey: boolean
  /** The key of the effect that this one undoes, and the tool that it is of (J7). */
  readonly compensates: { readonly key: string; readonly tool: string } | null
  /** `waiting`: taken by the other side, which will tell later. */
  readonly status: 'intended' | 'started' | 'waiting' | 'settled' | 'unknown'
  readonly attempt: number
  /** A person wants it sent once more, under its key. */
  readonly again: boolean
  readonly startedMs: number | null
  readonly confirmation: CallConfirmation | null
  readonly wait: CallWait | null
  readonly outcome: ToolOutcome | null
}

/** Where an effect above `read` stands: what the end of a run lists (B4). */
export interface Place {
  readonly step: number
  readonly position: number
  readonly tool: string
}

/** What a run remembers of its calls, in order, those of the open step included. */
export interface PastCall {
  readonly fingerprint: string
  /** Hash of the stored error; null when the call succeeded or is open. */
  readonly error: string | null
  readonly outcome: ToolOutcome | null
  /** Null for a read. */
  readonly effect: Place | null
}

/** What the agent's release says and the machine obeys. */
export interface Rules {
  readonly maxOutputTokens: number
  readonly contextTokens: number
  /** An unknown price is replaced by a high one before it comes here. */
  readonly price: Price
  /** What a rejection does: the model is told and goes on, or the run ends. */
  readonly onReject: 'observe' | 'end'
  /** What the run says, and ends as handed over, when the model cannot be reached (N3). */
  readonly handOver: string | null
}

export interface Run {
  readonly key: RunKey
  readonly session: SessionId
  readonly branch: string
  readonly generation: number
  readonly user: string
  readonly subject: string
  readonly permissions: readonly string[]
  readonly agent: string
  readonly release: string
  readonly status: Status
  readonly wait: WaitReason | null
  readonly phase: Phase
  readonly step: number
  readonly version: number
  readonly commits: number
  readonly eventSeq: number
  readonly messageSeq: number
  readonly epoch: number
  /** How often a worker was lost since the last progress; at `limits.attempts` nobody tries again. */
  readonly attempts: number
  /** The worker before was lost and may have called the model; its reservation is not ours to spend. */
  readonly lost: boolean
  readonly limits: Limits
  readonly used: Used
  readonly reserved: Amount
  readonly cancel: CancelCause | null
  readonly integrity: Integrity
  readonly confidentiality: Confidentiality
  readonly watermarkFrom: string | null
  /** Calls of the open step in the order of the model; empty when the next thing is a model call. */
  readonly calls: readonly Call[]
  readonly past: readonly PastCall[]
  /** What the next model request is assembled from, and its estimated tokens. */
  readonly context: Context
  readonly promptTokens: number
  readonly end: EndReason | null
  readonly rules: Rules
}

export const isFinal = (status: Status): status is FinalStatus =>
  status === 'succeeded' || status === 'failed' || status === 'canceled'

/** An effect that has left the house, and whose outcome is still open: no end of the run may leave it behind. */
export const isOpenEffect = (c: Call): boolean =>
  c.status === 'started' || c.status === 'unknown' || (c.status === 'waiting' && c.level !== 'read')

/** A12: the state of a session, from the statuses and phases of its runs. */
export type SessionState = 'idle' | 'planning' | 'tool_running' | 'waiting_user' | 'terminated'

export function sessionState(
  closed: boolean,
  runs: readonly { readonly status: Status; readonly phase: Phase }[],
): SessionState {
  if (closed) return 'terminated'
  const active = runs.filter((r) => !isFinal(r.status))
  if (active.some((r) => r.status === 'running' && r.phase === 'tool_running')) return 'tool_running'
  if (active.some((r) => r.status === 'running' || r.status === 'queued')) return 'planning'
  return active.length > 0 ? 'waiting_user' : 'idle'
}
