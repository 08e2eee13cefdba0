/**
 * J7: which effect a compensation answers. The server finds it among those of the conversation, by what the contract
 * compares; the commit of the intent looks at it again.
 */
import type { FaultCode } from '../kernel/fault.ts'
import { actorOfRun, scopeOf } from '../request/actor.ts'
import { answerOf, type Candidate } from '../tool/compensates.ts'
import type { ActParts } from './acting.ts'
import { inputOf } from './calls.shell.ts'
import type { Report } from './report.ts'
import { refused } from './said.ts'
import type { Call, Run } from './state.ts'

type Parts = Pick<ActParts, 'agent' | 'effects'>

/** The calls with what they answer. One that answers nothing is refused, and the model is told why. */
export async function linked({ agent, effects }: Parts, run: Run, calls: readonly Call[]): Promise<readonly Call[]> {
  const found = new Map<string, Promise<readonly Candidate[]>>()
  const taken = new Set<string>()
  const linkedCalls: Call[] = []
  for (const call of calls) {
    const contract = agent.tools.named(call.tool)
    const tool = call.status === 'intended' ? (contract?.compensates ?? null) : null
    if (!contract || tool === null) {
      linkedCalls.push(call)
      continue
    }
    const of = { session: run.session, user: run.user, tool }
    const asked = found.get(tool) ?? effects.candidates(scopeOf(actorOfRun(run)), of)
    found.set(tool, asked)
    // of two calls of one step that answer the same, the first has it
    const candidates = (await asked).map((c) => (taken.has(c.key) ? { ...c, isAnswered: true } : c))
    const answer = answerOf(contract, inputOf(call), candidates)
    if ('key' in answer) taken.add(answer.key)
    linkedCalls.push(
      'key' in answer ? { ...call, compensates: { key: answer.key, tool } } : unanswered(call, answer.refused),
    )
  }
  return linkedCalls
}

const unanswered = (call: Call, code: FaultCode): Call => ({
  ...call,
  level: 'read',
  approval: 'refused',
  compensates: null,
  status: 'settled',
  outcome: refused(code),
})

/** The same answer of the model, after its commit was refused: another may have been quicker. */
export async function linkedAnew(parts: Parts, run: Run, report: Report): Promise<Report> {
  if (report.kind !== 'model_answered' || !report.calls.some((c) => c.compensates)) return report
  return { ...report, calls: await linked(parts, run, report.calls) }
}
