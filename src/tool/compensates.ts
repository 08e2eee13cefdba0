/**
 * A tool that undoes what another has done (J7): what its definition must say, and which effect one call of it answers.
 * The model never names an effect: it gives arguments, and the contract compares them with what was done.
 */
import type { FaultCode } from '../kernel/fault.ts'
import type { JsonObject } from '../kernel/json.ts'
import type { AnsweredEffect, Contract } from './contract.ts'
import { type Problem, problem } from './problem.ts'

interface Lines {
  readonly effect: string
  readonly compensates?: string
  readonly which?: unknown
}

/** What one definition can say wrong by itself. */
export function compensationProblems(name: string, { effect, compensates, which }: Lines): Problem[] {
  if (compensates === undefined)
    return which === undefined
      ? []
      : [of('which_unused', '/which', 'It compares with effects of no tool.', "`compensates: 'orders.charge'`.")]
  if (effect === 'read')
    return [of('read_compensates', '/compensates', 'A read changes nothing back.', "`effect: 'irreversible'`.")]
  if (compensates === name)
    return [
      of('compensates_itself', '/compensates', 'A tool does not undo itself.', 'name the tool whose effect it undoes.'),
    ]
  return []
}

const of = (code: string, path: string, cause: string, fix: string): Problem => problem(code, path, cause, fix)

/**
 * What only all contracts together show. Who undoes what was undone does something new, which is planned and confirmed as
 * such: a compensation is not compensated.
 */
export function answeredProblems(contracts: readonly Contract[]): Problem[] {
  const byName = new Map(contracts.map((c) => [c.name, c]))
  return contracts.flatMap(({ name, compensates }) => {
    if (compensates === null) return []
    const path = `/${name}/compensates`
    const answered = byName.get(compensates)
    if (!answered)
      return [of('compensates_unknown', path, `There is no tool ${compensates}.`, 'give the agent that tool too.')]
    if (answered.effect === 'read')
      return [of('compensates_read', path, `${compensates} is a read: there is nothing to undo.`, 'remove the line.')]
    if (answered.compensates !== null)
      return [
        of(
          'compensates_chain',
          path,
          `${compensates} is itself a compensation.`,
          'remove the line: it is an effect of its own.',
        ),
      ]
    return []
  })
}

/** An effect of the tool in this conversation; `done` is null when it is not, or not surely, done. */
export interface Candidate {
  readonly key: string
  /** `open`: started, waiting or unknown. `failed`: it surely had no effect. */
  readonly state: 'done' | 'open' | 'failed'
  /** Something undoes it, has undone it, or may have. */
  readonly isAnswered: boolean
  readonly effect: AnsweredEffect
}

export type Answer = { readonly key: string } | { readonly refused: FaultCode }

/** The one effect that is meant, or why there is none. */
export function answerOf(contract: Contract, input: JsonObject, candidates: readonly Candidate[]): Answer {
  const meant = candidates.filter((c) => isMeant(contract, input, c))
  const done = meant.filter((c) => c.state === 'done')
  const free = done.filter((c) => !c.isAnswered)
  const [one] = free
  if (free.length > 1) return { refused: 'compensation_ambiguous' }
  if (one) return { key: one.key }
  if (done.length > 0) return { refused: 'already_compensated' }
  return { refused: meant.some((c) => c.state === 'open') ? 'effect_unsettled' : 'nothing_to_compensate' }
}

/** A comparison with a result that is not there says nothing: what is open may be meant, and nothing else is. */
function isMeant(contract: Contract, input: JsonObject, { state, effect }: Candidate): boolean {
  const { which } = contract.implementation
  if (!which) return true
  try {
    const said: unknown = which(input, effect)
    return said === true
  } catch {
    return state === 'open'
  }
}
