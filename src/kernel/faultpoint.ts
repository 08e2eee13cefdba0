/**
 * Named places where a process may die. Outside tests each is a no-op; a test installs a hook that throws, stops or
 * kills at the n-th pass. A test walks this list, so a place that is passed nowhere fails the build.
 */
export const FAULT_POINTS = [
  'claim.before',
  'claim.after',
  'context.built',
  'model.sent',
  'model.firstDelta',
  'model.end',
  'step.beforeIntent',
  'step.afterIntent',
  'preflight.before',
  'preflight.after',
  'ext.before',
  'ext.replied',
  'result.before',
  'result.after',
  'final.before',
  'final.after',
] as const
export type FaultPoint = (typeof FAULT_POINTS)[number]

/** Awaited by the loop at each place. */
export type FaultHook = (point: FaultPoint) => void | Promise<void>

export const noFaults: FaultHook = () => {}
