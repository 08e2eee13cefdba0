/**
 * An agent's release: everything that decides how a run behaves, frozen and hashed at load. A run keeps the release it
 * was made with (Q5).
 */
import { Fault } from '../kernel/fault.ts'
import { hashJson } from '../kernel/canonical.ts'
import type { Json } from '../kernel/json.ts'
import { type ContextLimits, contextLimits } from '../context/limits.ts'
import type { SummaryLimits, SummarySpec } from '../context/summary.ts'
import { INSTRUCTIONS, PROMPT_VERSION, SCHEMA } from '../context/summary-prompt.ts'
import { tokensOf } from '../context/tokens.ts'
import type { Model } from '../model/port.ts'
import { MICROCENTS_PER_CENT, UNKNOWN_PRICE } from '../model/price.ts'
import {
  EXTRACT_INSTRUCTIONS,
  EXTRACT_SCHEMA,
  EXTRACT_VERSION,
  extractable,
  extractPrompt,
  type ExtractSpec,
} from '../memory/extract.ts'
import type { MemoryKeys } from '../memory/key.ts'
import type { Contract } from '../tool/contract.ts'
import { type Registry, registry } from '../tool/registry.ts'
import { defined, definitionFault } from '../tool/problem.ts'
import { compileArguments, type CompiledSchema } from '../tool/schema/schema.ts'
import { agentProblems } from './agent-rules.ts'
import type { AgentSpec } from './agent-spec.ts'
import { leastOutput } from './budget.ts'
import { errandAgent } from './errand.ts'
import { HOOK_TOKENS, type Hooks } from './hooks.ts'
import type { Limits, Rules } from './state.ts'

export type { AgentSpec, BudgetSpec } from './agent-spec.ts'

/** How long a run goes on alone, and whether it parks then or ends (K2). */
export interface Absence {
  readonly ms: number
  readonly parks: boolean
}

export interface Agent {
  readonly name: string
  readonly release: string
  readonly model: Model
  readonly instructions: string
  readonly tools: Registry
  /** Names of what was learned, in the order in which it is told. */
  readonly procedures: readonly string[]
  readonly limits: Limits
  readonly seconds: number
  /** The longest time of a model call, its repeats included. */
  readonly modelMs: number
  /** The longest that a worker may take from one commit of a run to the next (L8). */
  readonly progressMs: number
  readonly rules: Rules
  readonly onMessage: 'queue' | 'replace' | 'reject'
  /** Null: a run goes on when nobody follows it. */
  readonly absence: Absence | null
  readonly final: CompiledSchema | null
  /** What the sections of a context may take. */
  readonly context: ContextLimits
  /** Null: it remembers nothing, and reads nothing. */
  readonly memory: { readonly keys: MemoryKeys; readonly endsWithout: boolean } | null
  /** Estimated tokens of rules and tool descriptions: in every request. */
  readonly fixedTokens: number
  readonly hooks: Hooks | null
  /** Null: nothing is summarised. */
  readonly summary: { readonly limits: SummaryLimits; readonly agent: Agent } | null
  /** Null: no memories are extracted. `most`: tokens of what one extraction reads. */
  readonly extract: { readonly most: number; readonly agent: Agent } | null
}

/** Loads an agent. @throws Fault `invalid_definition` with the code, the cause and the line that mends it. */
export const agent = (name: string, spec: AgentSpec): Agent =>
  defined(`agent ${JSON.stringify(name)}`, () => load(name, spec))

/** `kind`: of the errands that it does for the agent of this name. */
function load(own: string, spec: AgentSpec, kind?: string): Agent {
  const name = kind === undefined ? own : errandAgent(own, kind)
  const problems = agentProblems(own, spec)
  if (problems.length > 0) throw definitionFault(`agent "${name}"`, problems)
  const tools = registry(spec.tools ?? [])
  const instructions = spec.instructions ?? ''
  const limits: Limits = {
    steps: spec.budget.steps,
    toolCalls: spec.budget.toolCalls,
    tokens: spec.budget.tokens,
    cost: Math.round(spec.budget.costCents * MICROCENTS_PER_CENT),
    attempts: spec.attempts ?? 5,
  }
  const rules: Rules = {
    maxOutputTokens: spec.model.maxOutputTokens,
    contextTokens: spec.model.contextTokens,
    price: spec.model.price ?? UNKNOWN_PRICE,
    onReject: spec.onReject ?? 'observe',
    handOver: spec.degrade?.handOver ?? null,
  }
  const absence = absenceOf(spec.onDisconnect)
  const onMessage = spec.onMessage ?? 'queue'
  const summary = spec.summary ? summaryOf(own, spec, spec.summary) : null
  const extract = spec.extract && spec.memory ? extractOf(own, spec, spec.extract, spec.memory) : null
  const { seconds } = spec.budget
  const modelSeconds = spec.modelSeconds ?? MODEL_SECONDS
  const described: Json = {
    name,
    model: spec.model.id,
    instructions,
    tools: tools.contracts.map((t) => ({ name: t.name, version: t.version, hash: t.hash })),
    limits: { ...limits },
    seconds,
    modelSeconds,
    onMessage,
    onReject: rules.onReject,
    handOver: rules.handOver,
    cancelAfterMs: absence?.parks ? null : (absence?.ms ?? null),
    ...(absence?.parks && { parksAfterMs: absence.ms }),
    final: spec.final?.schema ?? null,
    ...(spec.context && { context: { ...spec.context } }),
    ...(spec.countTokens && { countsTokens: true }),
    ...(spec.accepts && { accepts: [...spec.accepts].sort() }),
    // their versions are the run's: they stand beside the release, in its row
    ...(spec.procedures && { procedures: [...spec.procedures] }),
    ...(spec.memory && { memory: spec.memory.hash, onMemoryFailure: spec.onMemoryFailure ?? 'answer' }),
    // what they do is code, and code has no hash here: that there are some is said
    ...(spec.hooks && { hooks: Object.keys(spec.hooks).sort() }),
    ...(extract && { extract: { most: extract.most, prompt: EXTRACT_VERSION, release: extract.agent.release } }),
    ...(summary && { summary: { ...summary.limits, prompt: PROMPT_VERSION, release: summary.agent.release } }),
  }
  return Object.freeze({
    name,
    release: hashJson(described),
    model: spec.model,
    instructions,
    tools,
    procedures: Object.freeze([...(spec.procedures ?? [])]),
    limits: Object.freeze(limits),
    seconds,
    modelMs: Math.round(modelSeconds * 1000),
    progressMs: progressMs({ seconds, modelSeconds, calls: limits.toolCalls }, tools),
    rules: Object.freeze(rules),
    onMessage,
    absence,
    final: spec.final ?? null,
    context: Object.freeze(limitsOf(spec)),
    memory: spec.memory ? Object.freeze({ keys: spec.memory, endsWithout: spec.onMemoryFailure === 'end' }) : null,
    fixedTokens: fixedTokens(spec, tools) + (spec.hooks ? HOOK_TOKENS : 0),
    hooks: spec.hooks ? Object.freeze({ ...spec.hooks }) : null,
    summary,
    extract,
  })
}

/** An errand is one answer; a model that thinks for longer than this about it is not the one to ask. */
const ERRAND_SECONDS = 120
const ERRAND_CENTS = 10
const RECHECK = 0.05
/** The estimate of tokens has a margin of its own; this is for the short names of the messages. */
const ERRAND_ROOM = 0.8

function summaryOf(name: string, spec: AgentSpec, summary: SummarySpec): Agent['summary'] {
  const { model, costCents = ERRAND_CENTS, recheck = RECHECK } = summary
  const agent = doing('summary', name, { model, costCents, instructions: INSTRUCTIONS, schema: SCHEMA })
  const { most } = limitsOf(spec)
  const limits = {
    above: summary.above ?? Math.floor(most / 2),
    keep: Math.min(summary.keep ?? Math.floor(most / 4), summary.above ?? most),
    most: roomOf(agent),
    recheck,
  }
  return Object.freeze({ limits: Object.freeze(limits), agent })
}

/** What one message of a run holds, in any language; more is read by the next extraction. */
const MOST_READ = 15_000

function extractOf(name: string, spec: AgentSpec, extract: ExtractSpec, keys: MemoryKeys): Agent['extract'] {
  const { model = spec.model, costCents = ERRAND_CENTS } = extract
  const asked = { model, costCents, instructions: EXTRACT_INSTRUCTIONS, schema: EXTRACT_SCHEMA }
  const agent = doing('extract', name, asked)
  const told = tokensOf(extractPrompt(extractable(keys, new Set()), []), agent.context.count)
  return Object.freeze({ most: Math.max(1, Math.min(MOST_READ, roomOf(agent) - told)), agent })
}

/** Tokens of what it is asked. */
const roomOf = (agent: Agent): number => Math.max(1, Math.floor((agent.context.most - agent.fixedTokens) * ERRAND_ROOM))

/** The agent that does errands of this kind for the agent of this name: one answer, as JSON. */
function doing(
  kind: string,
  name: string,
  { model, costCents, instructions, schema }: { model: Model; costCents: number; instructions: string; schema: Json },
): Agent {
  const compiled = compileArguments(schema, `/${kind}`)
  if (!compiled.ok) throw definitionFault(`agent "${name}"`, compiled.problems)
  const budget = { steps: 1, toolCalls: 0, tokens: 2 * model.contextTokens, costCents, seconds: ERRAND_SECONDS }
  return load(name, { model, instructions, budget, final: compiled.compiled, onMessage: 'reject' }, kind)
}

const limitsOf = ({ model, context, countTokens, accepts }: AgentSpec): ContextLimits =>
  contextLimits(
    context,
    { window: model.contextTokens, maxOutput: model.maxOutputTokens, leastOutput: leastOutput(model) },
    {
      ...(countTokens && { count: countTokens }),
      ...(accepts && { accepts }),
      ...(model.countMedia && { countMedia: model.countMedia }),
    },
  )

/** The same agent with one tool more: what a program adds when it is put together is in the release by its keys already. */
export const withTool = (agent: Agent, contract: Contract): Agent => {
  const tools = registry([...agent.tools.contracts, contract])
  const spec = { instructions: agent.instructions, countTokens: agent.context.count } as AgentSpec
  return Object.freeze({ ...agent, tools, fixedTokens: fixedTokens(spec, tools) })
}

const fixedTokens = ({ instructions = '', countTokens }: AgentSpec, tools: Registry): number =>
  tools.contracts.reduce(
    (sum, t) => sum + tokensOf(t.exposedName + t.description + JSON.stringify(t.inputSchema), countTokens),
    tokensOf(instructions, countTokens),
  )

/** A reload of the page, or a change of network, takes seconds. */
const PARKS_AFTER_MS = 10_000

function absenceOf(onDisconnect: AgentSpec['onDisconnect']): Absence | null {
  if (onDisconnect === 'cancel_tools') return { ms: PARKS_AFTER_MS, parks: true }
  return typeof onDisconnect === 'object' ? { ms: onDisconnect.cancelAfterMs, parks: false } : null
}

/** Reasoning models think for minutes; none is known to think longer and to come back. */
const MODEL_SECONDS = 300
/** For commits, a pause of the process, a database that comes back; longer than a request may be on its way. */
const MARGIN_MS = 30_000
/** A call asks who may, what is planned and what has changed before it does anything: each takes the time of its tool. */
const WAITS_OF_CALL = 3

/** The longest wait that is legal: a model call, or all calls of a step one after the other; the run's own time ends both. */
function progressMs(most: { seconds: number; modelSeconds: number; calls: number }, tools: Registry): number {
  const toolMs = Math.max(0, ...tools.contracts.map((t) => t.timeoutMs * t.attempts))
  const waitMs = Math.max(most.modelSeconds * 1000, most.calls * WAITS_OF_CALL * toolMs)
  return Math.round(Math.min(most.seconds * 1000, waitMs) + toolMs + MARGIN_MS)
}

/**
 * Stands in for an agent that this program does not know: a run whose time is over can be ended by any worker (BR-018).
 * Its model is never asked, because a run is claimed for its agent as long as it has time left.
 */
export const unknownAgent = (name: string): Agent =>
  Object.freeze<Agent>({
    name,
    release: '',
    model: { id: 'unknown', contextTokens: 0, maxOutputTokens: 0, price: null, stream: refuseToAnswer },
    instructions: '',
    tools: registry([]),
    procedures: [],
    limits: { steps: 0, toolCalls: 0, tokens: 0, cost: 0, attempts: 0 },
    seconds: 0,
    modelMs: 0,
    progressMs: MARGIN_MS,
    rules: { maxOutputTokens: 0, contextTokens: 0, price: UNKNOWN_PRICE, onReject: 'observe', handOver: null },
    onMessage: 'queue',
    absence: null,
    final: null,
    context: contextLimits(undefined, { window: 0, maxOutput: 0, leastOutput: 0 }),
    memory: null,
    fixedTokens: 0,
    hooks: null,
    summary: null,
    extract: null,
  })

function refuseToAnswer(): never {
  throw new Fault('internal', 'A run was claimed whose agent this program does not know.')
}
