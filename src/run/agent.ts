/**
 * An agent's release: everything that decides how a run behaves, frozen and hashed at load. A run keeps the release it
 * was made with (Q5).
 */
import { hashJson } from '../kernel/canonical.ts'
import type { Json } from '../kernel/json.ts'
import type { Model } from '../model/port.ts'
import { UNKNOWN_PRICE } from '../model/price.ts'
import { tokensOf } from './said.ts'
import { type Registry, registry } from '../tool/registry.ts'
import type { Contract } from '../tool/contract.ts'
import { type CompiledSchema, } from '../tool/schema.ts'
import { definitionFault, type Problem, problem } from '../tool/problem.ts'
import type { Limits, Rules } from './state.ts'

/** Limits of one run, as a product writes them. Each is a wall: there is no last step beyond it (B1). */
export interface BudgetSpec {
  /** Model calls. */
  readonly steps: number
  readonly toolCalls: number
  readonly tokens: number
  readonly costCents: number
  /** From the message to the end, waiting included. */
  readonly seconds: number
}

export interface AgentSpec {
  readonly model: Model
  /** Rules for the model; never cut from the context. */
  readonly instructions?: string
  readonly tools?: readonly Contract[]
  readonly budget: BudgetSpec
  /** What a new message does to a run that is still active in its conversation; default `queue`. */
  readonly onMessage?: 'queue' | 'replace' | 'reject'
  /** What a rejected confirmation does; default `observe`: the model is told and goes on. */
  readonly onReject?: 'observe' | 'end'
  /** A JSON Schema, or a Standard Schema, that the final answer must match as JSON. */
  readonly final?: CompiledSchema
  /** How often a run may lose its worker without progress before it ends; default 5. */
  readonly attempts?: number
}

export interface Agent {
  readonly name: string
  readonly release: string
  readonly model: Model
  readonly instructions: string
  readonly tools: Registry
  readonly limits: Limits
  readonly seconds: number
  readonly rules: Rules
  readonly onMessage: 'queue' | 'replace' | 'reject'
  readonly final: CompiledSchema | null
  /** Estimated tokens of rules and tool descriptions: in every request. */
  readonly fixedTokens: number
}

const MICROCENTS = 1_000_000
const NAME = /^[a-z][a-z0-9_-]{0,62}$/
const MOST_SECONDS = 30 * 24 * 3600

/** Loads an agent. @throws Fault `invalid_definition` with the code, the cause and the line that mends it. */
export function agent(name: string, spec: AgentSpec): Agent {
  const problems = [...budgetProblems(spec.budget)]
  if (!NAME.test(name)) problems.push(problem('PL1301', 'name', 'an agent is named in lower case, digits, `-` and `_`', `agent('support', { … })`))
  if (!spec.model?.id) problems.push(problem('PL1302', 'model', 'an agent needs a model', `model: scripted('refund-demo')`))
  if (problems.length > 0) throw definitionFault(`agent "${name}"`, problems)
  const tools = registry(spec.tools ?? [])
  const instructions = spec.instructions ?? ''
  const limits: Limits = {
    steps: spec.budget.steps,
    toolCalls: spec.budget.toolCalls,
    tokens: spec.budget.tokens,
    cost: Math.round(spec.budget.costCents * MICROCENTS),
    attempts: spec.attempts ?? 5,
  }
  const rules: Rules = {
    maxOutputTokens: spec.model.maxOutputTokens,
    contextTokens: spec.model.contextTokens,
    price: spec.model.price ?? UNKNOWN_PRICE,
    onReject: spec.onReject ?? 'observe',
  }
  const onMessage = spec.onMessage ?? 'queue'
  const described: Json = {
    name,
    model: spec.model.id,
    instructions,
    tools: tools.contracts.map((t) => ({ name: t.name, version: t.version, hash: t.hash })),
    limits: { ...limits },
    seconds: spec.budget.seconds,
    onMessage,
    onReject: rules.onReject,
    final: spec.final?.schema ?? null,
  }
  return Object.freeze({
    name,
    release: hashJson(described),
    model: spec.model,
    instructions,
    tools,
    limits: Object.freeze(limits),
    seconds: spec.budget.seconds,
    rules: Object.freeze(rules),
    onMessage,
    final: spec.final ?? null,
    fixedTokens: tokensOf(instructions) + tools.contracts.reduce((sum, t) => sum + tokensOf(t.exposedName + t.description + JSON.stringify(t.inputSchema)), 0),
  })
}

function* budgetProblems(budget: BudgetSpec | undefined): Generator<Problem> {
  if (!budget) {
    yield problem('PL1310', 'budget', 'an agent without a budget has no end', 'budget: { steps: 8, toolCalls: 4, tokens: 20_000, costCents: 25, seconds: 120 }')
    return
  }
  const whole = (value: unknown, least: number): boolean => Number.isSafeInteger(value) && (value as number) >= least
  if (!whole(budget.steps, 1)) yield problem('PL1311', 'budget.steps', 'at least one model call', 'steps: 8')
  if (!whole(budget.toolCalls, 0)) yield problem('PL1312', 'budget.toolCalls', 'a whole number, 0 or more', 'toolCalls: 4')
  if (!whole(budget.tokens, 1)) yield problem('PL1313', 'budget.tokens', 'a whole number above 0', 'tokens: 20_000')
  if (!(typeof budget.costCents === 'number' && budget.costCents >= 0 && budget.costCents <= 1e9))
    yield problem('PL1314', 'budget.costCents', 'a number from 0 to 10^9', 'costCents: 25')
  if (!(typeof budget.seconds === 'number' && budget.seconds > 0 && budget.seconds <= MOST_SECONDS))
    yield problem('PL1315', 'budget.seconds', 'seconds, above 0 and at most 30 days', 'seconds: 120')
}
