/**
 * From what a tool returned to what is stored and what the model reads.
 *
 * B6  errors are a small stable envelope   I6  a result is plain JSON, bounded, with an explicit mark of what is missing
 */
import { FAULTS, type FaultCode } from '../kernel/fault.ts'
import type { Json } from '../kernel/json.ts'
import { checkJson, RESULT_LIMITS } from '../kernel/plain.ts'
import type { Contract, ErrorEnvelope, ToolOutcome } from './contract.ts'
import { NO_SCRUB, type Scrub, scrubJson } from './result/scrub.ts'
import { resultBytes, shortened } from './result/shorten.ts'
import { declaredError, ERROR_MESSAGES } from './toolerror.ts'

type Bounds = Pick<Contract, 'maxResultBytes' | 'checkResult'>

/** The envelope of a row of the fault table. A row that is for operators says no more than that the tool failed. */
export function envelope(code: FaultCode, hint?: string): ErrorEnvelope {
  const row = FAULTS[code]
  if (row.audience === 'operator') return envelope('tool_failed')
  return { code, message: row.cause, retryable: row.reaction === 'retry', hint: hint ?? row.next }
}

/** The envelope of whatever a tool threw. */
export function errorEnvelope(
  contract: Pick<Contract, 'errors'>,
  thrown: unknown,
  scrub: Scrub = NO_SCRUB,
): ErrorEnvelope {
  const declared = declaredError(contract, thrown)
  if (!declared) return envelope('tool_failed')
  const { code, hint } = declared
  const retryable = declared.class.reaction === 'retry'
  return { code, message: ERROR_MESSAGES[declared.class.kind], retryable, hint: scrub.text(hint) }
}

export type CheckedResult =
  | { readonly ok: true; readonly value: Json; readonly mended: boolean }
  | { readonly ok: false; readonly error: ErrorEnvelope }

/** A plain copy that fits the contract, without the credentials of the call. A tool that returns nothing has the result null. */
export function checkedResult(contract: Bounds, value: unknown, scrub: Scrub = NO_SCRUB): CheckedResult {
  const checked = checkJson(value ?? null, { ...RESULT_LIMITS, text: 'mend' })
  if (!checked.ok) return { ok: false, error: envelope('result_not_serialisable') }
  if (contract.checkResult(checked.value).length > 0) return { ok: false, error: envelope('result_invalid') }
  return { ok: true, value: scrubJson(checked.value, scrub), mended: checked.mended }
}

/** The outcome of a read whose result nobody keeps. */
export function boundResult(contract: Bounds, value: unknown): ToolOutcome {
  const checked = checkedResult(contract, value)
  if (!checked.ok) return checked
  return { ok: true, ...shortened(checked.value, contract.maxResultBytes), mended: checked.mended }
}

/** The outcome of an effect that happened. */
export const boundEffect = (contract: Bounds, value: unknown): ToolOutcome => happened(boundResult(contract, value))

/**
 * A result that cannot be kept does not undo an effect: an error here would ask for a repetition, so the outcome is a
 * success that says what is missing.
 */
export function happened(outcome: ToolOutcome): ToolOutcome {
  if (outcome.ok) return outcome
  const result = { happened: true, missing: outcome.error.code }
  return { ok: true, result, bytes: resultBytes(result), truncated: true, mended: false }
}

/** The text of the tool message. A text is passed as it is, so that what was recorded is what is read. */
export function messageText(outcome: ToolOutcome): string {
  if (!outcome.ok) return JSON.stringify(outcome.error)
  return typeof outcome.result === 'string' ? outcome.result : JSON.stringify(outcome.result)
}
