/** A confirmation: a server-side, single-use resource bound to exact bytes. Nothing of it can be held by a model (J1, J2). */
import type { ConfirmationId, RunId } from '../kernel/ids.ts'
import type { Json } from '../kernel/json.ts'
import type { AnsweredEffect } from '../tool/contract.ts'

export interface ConfirmationView {
  readonly id: ConfirmationId
  readonly run: RunId
  readonly session: string
  /** Whose run it is. */
  readonly user: string
  readonly step: number
  readonly position: number
  readonly tool: string
  readonly toolVersion: number
  readonly status: 'pending' | 'approved' | 'rejected' | 'expired' | 'superseded' | 'consumed'
  readonly level: 'confirm' | 'strong_confirm'
  readonly version: number
  readonly paramsHash: string
  /** RFC 8785 text: exactly what will be sent. */
  readonly params: string
  readonly summary: string
  readonly before: Json
  readonly after: Json
  readonly resource: string | null
  readonly resourceVersion: string | null
  /** Other open plans on this resource, by whomever: of them all one can be carried out as it was shown (J12). */
  readonly others: number
  /** The key of an earlier effect with equal tool and arguments, if there is one (J10). */
  readonly repeats: string | null
  /** The effect that it undoes: what was sent then (J7). */
  readonly compensates: Omit<AnsweredEffect, 'result'> | null
  readonly confirmers: readonly string[]
  readonly decidedBy: string | null
  readonly createdAt: number
  readonly expiresAt: number
}

/** What `decide` can answer, in the order in which it is judged. */
export type DecideOutcome =
  | 'decided'
  | 'not_found'
  | 'not_permitted'
  | 'already_decided'
  | 'superseded'
  | 'expired'
  | 'version'
  | 'hash'
  | 'run_closed'
