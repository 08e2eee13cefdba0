/**
 * How long what a finished run has left is kept, by class.
 *
 * L9  audit, ledger and the rows of the journal stay; what goes is content, and what was only on the way
 */

/** What a class takes away, for people. */
export const RETENTION_CLASSES = {
  delta: 'pieces of streamed text of ended runs',
  event: 'the event log of ended runs, when all of it is sent',
  message: 'what was said in ended runs',
  value: 'arguments, results and plans of ended runs; who did what and when stays',
  attempt: 'attempts to deliver webhooks',
  idempotency: 'stored answers to requests whose key has expired',
  artifact: 'what calls of ended runs returned and is kept as an object, when no run of the conversation is alive',
  signal: 'what was told to runs, when no living run can wait for it',
  rate: 'when tools with a rate were started, once no rate counts it',
} as const
export type RetentionClass = keyof typeof RETENTION_CLASSES

export const isRetentionClass = (text: string): text is RetentionClass => Object.hasOwn(RETENTION_CLASSES, text)

/** A hundred years: longer is for ever, which is null. */
export const MOST_DAYS = 36_500

/** What a batch did, or with a dry run would do. */
export interface Swept {
  readonly runs: number
  /** Left alone: held, not sent, or not known. */
  readonly kept: number
  /** Rows that were deleted or emptied. */
  readonly changed: number
  readonly done: boolean
}

export const together = (a: Swept, b: Swept): Swept => ({
  runs: a.runs + b.runs,
  kept: a.kept + b.kept,
  changed: a.changed + b.changed,
  done: b.done,
})

/** What stands for arguments that are no more, and for the plan that was shown. */
export const BLANK = '{}'
export const BLANK_PLAN = JSON.stringify({
  canonical: BLANK,
  summary: 'Removed by retention.',
  before: null,
  after: null,
  repeats: null,
  compensates: null,
})
