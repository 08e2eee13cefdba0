/** What one transition records besides the run row. Data only: the store seals and sends it. */
import type { EventType } from '../kernel/events.ts'
import type { Confidentiality, Integrity, Origin } from '../kernel/labels.ts'
import type { Json } from '../tool/contract.ts'
import type { MessageBody } from '../context/message.ts'
import type { AnsweredEffect, Plan, ToolOutcome } from '../tool/contract.ts'
import type { Waiting } from './report.ts'
import type { Call, ConfirmationStatus, Run } from './state.ts'

export interface NewMessage {
  readonly seq: number
  readonly step: number
  readonly position: number | null
  readonly body: MessageBody
  readonly visibility: 'user' | 'model' | 'internal'
  readonly integrity: Integrity
  readonly confidentiality: Confidentiality
  readonly origin: Origin
  readonly partial: boolean
  readonly tokens: number
}

export interface SettledCall {
  readonly position: number
  /** `started`: to be sent again. */
  readonly status: 'settled' | 'unknown' | 'started'
  readonly outcome: ToolOutcome | null
}

export interface NewConfirmation {
  readonly id: string
  readonly position: number
  readonly call: Call
  readonly plan: Plan
  readonly resourceVersion: string | null
  /** The key of an earlier effect with equal tool and arguments, which the card must name (J10). */
  readonly repeats: string | null
  /** The effect that it undoes, which the card must show (J7). */
  readonly answers: AnsweredEffect | null
  readonly level: 'confirm' | 'strong_confirm'
  readonly confirmers: readonly string[]
  readonly nonce: string
  readonly openMs: number
}

export interface LedgerEntry {
  readonly kind: 'model' | 'tools' | 'recovery' | 'close'
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cost: number
  readonly known: boolean
  readonly suspect: boolean
  readonly toolCalls: number
  readonly reserved: { readonly tokens: number; readonly cost: number }
  readonly released: { readonly tokens: number; readonly cost: number }
}

export interface NewEvent {
  readonly seq: number
  readonly type: EventType
  readonly body: Readonly<Record<string, Json>>
}

export interface Writes {
  readonly ledger: LedgerEntry | null
  readonly messages: readonly NewMessage[]
  readonly intents: readonly Call[]
  readonly settled: readonly SettledCall[]
  readonly waiting: readonly Waiting[]
  readonly confirmations: readonly NewConfirmation[]
  readonly closed: readonly { readonly id: string; readonly status: ConfirmationStatus }[]
  readonly events: readonly NewEvent[]
  /** When somebody must look again, in milliseconds from now; null: only when called for. */
  readonly dueMs: number | null
}

/** The next state and what is recorded with it. */
export interface Moved {
  readonly run: Run
  readonly writes: Writes
}

export const NOTHING: Writes = {
  ledger: null,
  messages: [],
  intents: [],
  settled: [],
  waiting: [],
  confirmations: [],
  closed: [],
  events: [],
  dueMs: null,
}
