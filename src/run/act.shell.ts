/** Each action of the machine, done. What comes back is a report of what happened, never a decision. */
import type { Acted, ActParts, Work } from './acting.ts'
import { askModel } from './ask.shell.ts'
import { planCalls, runReads } from './calls.shell.ts'
import { recoverEffect, startEffect } from './effect.shell.ts'
import type { Action } from './next.ts'
import { resumeCall } from './resume.shell.ts'
import type { Report } from './report.ts'
import { refused } from './said.ts'
import type { Call } from './state.ts'

export async function act(parts: ActParts, work: Work, action: Exclude<Action, { do: 'rest' }>): Promise<Acted> {
  if (action.do === 'start') return startEffect(parts, work, action.call, { again: false })
  if (action.do === 'recover') return recoverEffect(parts, work, action.call)
  if (action.do === 'resume') return resumeCall(parts, work, action)
  return { run: work.run, report: await actSimply(parts, work, action) }
}

async function actSimply(
  parts: ActParts,
  work: Work,
  action: Exclude<Action, { do: 'rest' | 'start' | 'recover' | 'resume' }>,
): Promise<Report> {
  switch (action.do) {
    case 'end':
      return { kind: 'ended', reason: action.reason }
    case 'reserve':
      return { kind: 'reserved' }
    case 'call_model':
      return askModel(parts, work, action.reservation)
    case 'run_reads':
      return runReads(parts, work, action.calls)
    case 'plan':
      return planCalls(parts, work, action.calls)
    case 'refuse':
      return {
        kind: 'calls_settled',
        calls: action.calls.map((c: Call) => ({ position: c.position, outcome: refused(action.code) })),
      }
    case 'give_up':
      return { kind: 'effect_unknown', position: action.call.position }
    case 'park':
      return { kind: 'parked' }
    case 'finish_step':
      return { kind: 'calls_settled', calls: [] }
    default:
      return action satisfies never
  }
}
