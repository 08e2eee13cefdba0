/** Which named places a commit lies between. */
import type { FaultPoint } from '../kernel/faultpoint.ts'
import type { Report } from './report.ts'
import { isFinal, type Run } from './state.ts'

type Place = 'final' | 'step' | 'plan' | 'ledger' | 'park' | 'result'

export function pointsOf(report: Report, run: Run): { readonly before: FaultPoint; readonly after: FaultPoint } {
  const place = placeOf(report, run)
  return place === 'step'
    ? { before: 'step.beforeIntent', after: 'step.afterIntent' }
    : { before: `${place}.before`, after: `${place}.after` }
}

function placeOf(report: Report, run: Run): Place {
  if (isFinal(run.status)) return 'final'
  switch (report.kind) {
    case 'model_answered':
      return 'step'
    case 'calls_planned':
      return 'plan'
    case 'reserved':
      return 'ledger'
    case 'parked':
    case 'handed_back':
    case 'left_alone':
    case 'effect_unknown':
    case 'probe_later':
      return 'park'
    default:
      return 'result'
  }
}
