/**
 * Named places where a process may die. Outside tests each is a no-op; a test installs a hook that throws, stops or
 * kills at the n-th pass. A test walks these lists, so a place that is passed nowhere fails the build.
 *
 * The messages of a step have no places of their own: they are in the commit of its answer or of its results.
 */

/** Of a worker, in the order of a run. */
export const WORKER_POINTS = [
  'claim.before',
  'claim.after',
  'context.built',
  // the request is on its way, or was never sent: nobody can tell
  'model.sent',
  'model.firstDelta',
  'model.end',
  // COMMIT A
  'step.beforeIntent',
  'step.afterIntent',
  // the plans of calls and the questions to people
  'plan.before',
  'plan.after',
  // what is looked at before COMMIT S, and its commit
  'preflight.before',
  'preflight.after',
  'ext.before',
  // passed by the tools of tests: the provider has done it, and its reply has not been read
  'ext.committedNoReply',
  'ext.replied',
  // COMMIT B
  'result.before',
  'result.after',
  // the reservation that replaces the one of a lost attempt
  'ledger.before',
  'ledger.after',
  // the run lies down: for a person, or until a provider must have ended
  'park.before',
  'park.after',
  'final.before',
  'final.after',
  // a commit is made, and nobody in this process has been told
  'notify',
] as const

/** Of the relay: an event goes out, and is marked as sent. */
export const RELAY_POINTS = ['outbox.beforePublish', 'outbox.afterPublish'] as const

/** Of an errand: the model has answered, and nothing of it is kept yet. */
export const ERRAND_POINTS = ['errand.answered'] as const

/** Of a process that serves callers, around the one commit of a request. */
export const CALLER_POINTS = [
  'submit.before',
  'submit.after',
  'decide.before',
  'decide.after',
  'cancel.before',
  'cancel.after',
  'resolve.before',
  'resolve.after',
] as const

export const FAULT_POINTS = [...WORKER_POINTS, ...RELAY_POINTS, ...ERRAND_POINTS, ...CALLER_POINTS] as const
export type FaultPoint = (typeof FAULT_POINTS)[number]

/** Awaited by the loop at each place. */
export type FaultHook = (point: FaultPoint) => void | Promise<void>

export const noFaults: FaultHook = () => {}
