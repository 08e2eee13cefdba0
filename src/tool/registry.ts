/** What exists (I2). Frozen; whether this actor may call it now is the gate's answer, not the registry's. */
import { hashJson } from '../kernel/canonical.ts'
import { holds } from '../kernel/permission.ts'
import type { Actor } from '../kernel/scope.ts'
import { answeredProblems } from './compensates.ts'
import type { Contract } from './contract.ts'
import { lookAlikes } from './names.ts'
import { definitionFault, type Problem, problem } from './problem.ts'

export interface Registry {
  readonly contracts: readonly Contract[]
  /** Hash of all promises, whatever their order; part of the release. */
  readonly hash: string
  /** By the name that the model sees: exactly or not at all. */
  find(exposedName: string): Contract | undefined
  /** By the name of the contract, for stored effects. */
  named(name: string): Contract | undefined
  /** The smallest set for this actor: permitted, and one of `names` (page, flags) when they are given. */
  offered(actor: Pick<Actor, 'permissions'>, names?: readonly string[]): readonly Contract[]
}

export interface RegistryOptions {
  /** `YYYY-MM-DD`: waivers that ended before are refused. */
  readonly today?: string
}

/** Throws `invalid_definition` for names that collide or look alike and for waivers that are over, and for what compensates nothing. */
export function registry(contracts: readonly Contract[], { today }: RegistryOptions = {}): Registry {
  const strangers = contracts.flatMap((c: unknown, i) => (isContract(c) ? [] : [stranger(i)]))
  if (strangers.length > 0) throw definitionFault('tools', strangers)
  const problems = [
    ...collisions(contracts),
    ...contracts.flatMap((c) => overdue(c, today)),
    ...answeredProblems(contracts),
  ]
  if (problems.length > 0) throw definitionFault('tools', problems)
  const byExposed = new Map(contracts.map((c) => [c.exposedName, c]))
  const byName = new Map(contracts.map((c) => [c.name, c]))
  return Object.freeze({
    contracts: Object.freeze([...contracts]),
    hash: hashJson(contracts.map((c) => c.hash).sort()),
    find: (exposedName: string) => byExposed.get(exposedName),
    named: (name: string) => byName.get(name),
    offered: (actor: Pick<Actor, 'permissions'>, names?: readonly string[]) =>
      contracts.filter(
        (c) => holds(actor.permissions, c.permission) && (names === undefined || names.includes(c.name)),
      ),
  })
}

const isContract = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'exposedName' in value && 'implementation' in value && 'hash' in value

const stranger = (i: number): Problem =>
  problem('not_a_contract', `/tools/${i}`, 'This is no contract.', "`tools: [tool('group.verb@1', { … })]`.")

function collisions(contracts: readonly Contract[]): Problem[] {
  const pair = lookAlikes(contracts.map((c) => c.name)) ?? lookAlikes(contracts.map((c) => c.exposedName))
  if (!pair) return []
  const cause = pair[0] === pair[1] ? `"${pair[0]}" is registered twice.` : `"${pair[0]}" and "${pair[1]}" look alike.`
  return [problem('name_collision', '/tools', cause, 'rename one of them, or put it under the prefix of its server.')]
}

function overdue(contract: Contract, today: string | undefined): Problem[] {
  const { waiver } = contract
  if (!waiver || today === undefined || waiver.until >= today) return []
  const cause = `The waiver of ${contract.name} ended on ${waiver.until}.`
  return [
    problem('waiver_over', `/${contract.name}/waiver`, cause, 'narrow the parameters, or renew `until` with a reason.'),
  ]
}
