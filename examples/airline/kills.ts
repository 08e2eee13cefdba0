/** Where worker processes are killed: at least every second one between the start of an effect and its stored result. */
import type { FaultPoint } from '../../src/kernel/faultpoint.ts'

export type KillPlan = {
  readonly point: FaultPoint
  /** The process is killed when it comes there for the n-th time. */
  readonly pass: number
}

/** The start is committed; the airline has not been asked, or has answered and nobody has stored it. */
const INSIDE_EFFECT: readonly FaultPoint[] = ['ext.before', 'ext.replied', 'preflight.after']
const ELSEWHERE: readonly FaultPoint[] = [
  'model.end',
  'plan.after',
  'step.afterIntent',
  'model.firstDelta',
  'result.before',
  'context.built',
  'result.after',
  'step.beforeIntent',
  'final.before',
]

/**
 * Spread over the whole replay: a share of what the replay passes is spent on each, half of it, so that the last one
 * comes before the end. `writes` and `steps`: what the recording holds.
 */
export function planKills(count: number, writes: number, steps: number): readonly KillPlan[] {
  const within = (passes: number, at: number) => 1 + ((at * 7) % Math.max(1, Math.floor(passes / (2 * count))))
  return Array.from({ length: count }, (_, at) => {
    const isInside = at % 2 === 0
    const points = isInside ? INSIDE_EFFECT : ELSEWHERE
    const point = points[Math.floor(at / 2) % points.length] ?? 'ext.before'
    return { point, pass: within(isInside ? writes : steps, at) }
  })
}
