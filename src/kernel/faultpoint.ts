/**
 * Named places where a process may die. Outside tests each is a no-op; a test installs a hook that throws, stops or
 * kills at the n-th pass. A test walks this list, so a place that is passed nowhere fails the build.
 */
export const FAULT_POINTS = [
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
  // an event goes out, and is marked as sent
  'outbox.beforePublish',
  'outbox.afterPublish',
] as const
export type FaultPoint = (typeof FAULT_POINTS)[number]

/** Awaited by the loop at each place. */
export type FaultHook = (point: FaultPoint) => void | Promise<void>

export const noFaults: FaultHook = () => {}
