/**
 * Tokens after a model call.
 *
 * Q1  unknown or implausible usage settles at the conservative value
 */
import type { Usage } from './port.ts'

/** Below half of what we counted ourselves a report is not believed (BR-039). */
const PLAUSIBLE_SHARE = 0.5

/** One field as an adapter found it: absent stays absent; what is no number becomes NaN, which the assembly drops and flags. */
export const reportedTokens = (field: 'input' | 'output' | 'cached' | 'reasoning', value: unknown): Usage =>
  value === undefined || value === null ? {} : { [field]: typeof value === 'number' ? value : Number.NaN }

export interface Estimate {
  /** Our own count of the request. */
  readonly input: number
  /** Of the words of it alone: media are counted too coarsely to doubt anybody by them. Default: `input`. */
  readonly words?: number
  /** What was reserved for the output. */
  readonly output: number
  /** Our own count of what really arrived, if the answer is there. */
  readonly received?: number
}

export interface Settled {
  readonly input: number
  readonly output: number
  /** Both numbers were reported and believed. */
  readonly known: boolean
  /** Something reported was impossible or too small to be true: the `suspect` of the ledger. */
  readonly suspect: boolean
}

/** What a call has used. A missing report settles at the estimate; a report below half of our own count at that count. */
export function settle(reported: Usage, estimate: Estimate): Settled {
  const lowInput = isTooSmall(reported.input, estimate.words ?? estimate.input)
  const lowOutput = isTooSmall(reported.output, estimate.received)
  return {
    input: lowInput ? estimate.input : (reported.input ?? estimate.input),
    output: lowOutput ? (estimate.received ?? estimate.output) : (reported.output ?? estimate.output),
    known: reported.input !== undefined && reported.output !== undefined && !lowInput && !lowOutput,
    suspect: lowInput || lowOutput || reported.suspect === true,
  }
}

const isTooSmall = (reported: number | undefined, counted: number | undefined): boolean =>
  reported !== undefined && counted !== undefined && reported < counted * PLAUSIBLE_SHARE
