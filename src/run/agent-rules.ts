/** The consistency rules of an agent's release, one per entry: when it is broken, and the line that mends it. */
import type { ContextSpec } from '../context/limits.ts'
import type { SummarySpec } from '../context/summary.ts'
import type { ExtractSpec } from '../memory/extract.ts'
import { MEDIA_KINDS, type MediaKind } from '../kernel/media.ts'
import { isPrice } from '../model/price.ts'
import { PROCEDURE_NAME } from '../memory/procedure.ts'
import { type Problem, problem } from '../tool/problem.ts'
import type { AgentSpec, BudgetSpec } from './agent-spec.ts'
import { HOOKS } from './hooks.ts'

type Rule = readonly [broken: boolean, code: string, path: string, cause: string, fix: string]

const NAME = /^[a-z][a-z0-9_-]{0,62}$/
/** A month: what waits longer belongs into a new run. */
const MOST_SECONDS = 30 * 24 * 3600
/** In micro-cents still a safe integer, with room for sums. */
const MOST_CENTS = 1e9

/** A reconnect takes seconds; after an hour nobody comes back to an answer in progress. */
const SHORTEST_ABSENCE_MS = 1_000
const LONGEST_ABSENCE_MS = 3_600_000

const LINES: Readonly<Record<keyof AgentSpec, true>> = {
  model: true,
  instructions: true,
  tools: true,
  accepts: true,
  procedures: true,
  budget: true,
  onMessage: true,
  onReject: true,
  final: true,
  degrade: true,
  onDisconnect: true,
  attempts: true,
  modelSeconds: true,
  context: true,
  extract: true,
  summary: true,
  hooks: true,
  countTokens: true,
  memory: true,
  onMemoryFailure: true,
}
const CONTEXT_LINES: Readonly<Record<keyof ContextSpec, true>> = {
  tokens: true,
  memory: true,
  summary: true,
  evidence: true,
  recent: true,
}
const SUMMARY_LINES: Readonly<Record<keyof SummarySpec, true>> = {
  model: true,
  costCents: true,
  above: true,
  keep: true,
  recheck: true,
}
const EXTRACT_LINES: Readonly<Record<keyof ExtractSpec, true>> = { model: true, costCents: true }
const BUDGET_LINES: Readonly<Record<keyof BudgetSpec, true>> = {
  steps: true,
  toolCalls: true,
  tokens: true,
  costCents: true,
  seconds: true,
}
const BUDGET = '`budget: { steps: 8, toolCalls: 4, tokens: 20_000, costCents: 25, seconds: 120 }`.'

const isWhole = (value: unknown, least: number): boolean => Number.isSafeInteger(value) && (value as number) >= least
const isBetween = (value: unknown, above: number, most: number): boolean =>
  typeof value === 'number' && value > above && value <= most
const oneOf = (value: unknown, ...values: readonly string[]): boolean =>
  value === undefined || values.includes(value as string)

const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '' && value.length <= 4_000
const isAbsence = (value: AgentSpec['onDisconnect']): boolean =>
  value === undefined ||
  value === 'detach' ||
  value === 'cancel_tools' ||
  (typeof value === 'object' &&
    isWhole((value as { cancelAfterMs?: unknown } | null)?.cancelAfterMs, SHORTEST_ABSENCE_MS) &&
    value.cancelAfterMs <= LONGEST_ABSENCE_MS)

const isRegistry = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && typeof (value as { find?: unknown }).find === 'function'

/** Each is at the beginning of every request. */
const MOST_PROCEDURES = 20
const areProcedures = (value: unknown): boolean =>
  value === undefined ||
  (Array.isArray(value) &&
    value.length <= MOST_PROCEDURES &&
    value.every((name) => typeof name === 'string' && PROCEDURE_NAME.test(name)) &&
    new Set(value).size === value.length)

/** Everything that is wrong with an agent. JavaScript has no compiler, so the lines are looked at too. */
export function agentProblems(name: string, spec: AgentSpec): readonly Problem[] {
  const unknown = [
    ...unknownLines(spec, LINES, ''),
    ...unknownLines(spec.budget, BUDGET_LINES, '/budget'),
    ...unknownLines(spec.context, CONTEXT_LINES, '/context'),
    ...unknownLines(spec.summary, SUMMARY_LINES, '/summary'),
    ...unknownLines(spec.extract, EXTRACT_LINES, '/extract'),
    ...unknownLines(spec.hooks, HOOKS, '/hooks'),
  ]
  const rules = [
    ...agentRules(name, spec),
    ...modelRules(spec),
    ...budgetRules(spec.budget),
    ...acceptsRules(spec),
    ...contextRules(spec),
    ...summaryRules(spec),
    ...extractRules(spec),
  ]
  return [...unknown, ...rules.filter(([isBroken]) => isBroken).map(([, ...rest]) => problem(...rest))]
}

function unknownLines(given: object | undefined, lines: object, path: string): Problem[] {
  return (
    Object.keys(given ?? {})
      // `fallback` has a sentence of its own
      .filter((line) => !Object.hasOwn(lines, line) && line !== 'fallback')
      .map((line) =>
        problem(
          'line_unknown',
          `${path}/${line}`,
          'There is no such line.',
          `remove \`${line}\` or correct its spelling.`,
        ),
      )
  )
}

// biome-ignore format: a table is read by its rows
const agentRules = (name: string, s: AgentSpec): Rule[] => [
  [!NAME.test(name), 'name_illegal', '/name', 'A name is lower-case letters, digits, `-` and `_`, and begins with a letter.', "`agent('support', { … })`."],
  [s.instructions !== undefined && typeof s.instructions !== 'string', 'instructions_illegal', '/instructions', 'The rules for the model are one text.', "`instructions: 'Answer in one sentence.'`."],
  [s.tools !== undefined && !Array.isArray(s.tools), 'tools_illegal', '/tools', 'The tools are a list of contracts.', '`tools: [refund]`.'],
  [!areProcedures(s.procedures), 'procedures_illegal', '/procedures', 'The procedures are at most 20 names, each once: lower-case letters, digits, `-` and `_`.', "`procedures: ['refund_steps']`."],
  [!oneOf(s.onMessage, 'queue', 'replace', 'reject'), 'on_message_illegal', '/onMessage', 'What a new message does is one of three.', "`onMessage: 'queue'`, `'replace'` or `'reject'`."],
  [!oneOf(s.onReject, 'observe', 'end'), 'on_reject_illegal', '/onReject', 'What a rejection does is one of two.', "`onReject: 'observe'` or `'end'`."],
  ['fallback' in s, 'fallback_without_gate', '/fallback', "A fallback model must have passed the agent's evaluation, and there is no such gate yet.", "remove `fallback`; `degrade: { handOver: '…' }` is there."],
  [s.degrade !== undefined && !isText((s.degrade as { handOver?: unknown } | null)?.handOver), 'degrade_illegal', '/degrade', 'What is said when the model is away is a text of 1 to 4000 characters.', "`degrade: { handOver: 'A colleague will answer you.' }`."],
  [!isAbsence(s.onDisconnect), 'on_disconnect_illegal', '/onDisconnect', 'A run goes on without its reader, parks, or ends 1 second to 1 hour after he left.', "`onDisconnect: 'detach'`, `'cancel_tools'` or `{ cancelAfterMs: 30_000 }`."],
  [s.modelSeconds !== undefined && !isBetween(s.modelSeconds, 0, MOST_SECONDS), 'model_seconds_illegal', '/modelSeconds', 'The time of a model call is not a number of seconds, above 0 and at most 30 days.', '`modelSeconds: 300`.'],
  [s.countTokens !== undefined && typeof s.countTokens !== 'function', 'count_tokens_illegal', '/countTokens', 'A counter of tokens is a function from a text to a whole number.', '`countTokens: (text) => encode(text).length`.'],
  [s.memory !== undefined && !isRegistry(s.memory), 'memory_illegal', '/memory', 'What may be remembered is a registry of keys.', "`memory: memory({ answer_language: { kind: 'preference', value: z.enum(['en', 'zh-CN']) } })`."],
  [!oneOf(s.onMemoryFailure, 'answer', 'end'), 'on_memory_failure_illegal', '/onMemoryFailure', 'What a failing memory does is one of two.', "`onMemoryFailure: 'answer'` or `'end'`."],
  [Object.values(s.hooks ?? {}).some((hook) => typeof hook !== 'function'), 'hooks_illegal', '/hooks', 'A hook is a function that returns at once.', '`hooks: { beforeModel: (view) => ({ tools: view.tools }) }`.'],
  [s.attempts !== undefined && !isWhole(s.attempts, 1), 'attempts_illegal', '/attempts', 'A run is tried at least once.', '`attempts: 5`.'],
]

// biome-ignore format: a table is read by its rows
function modelRules({ model }: AgentSpec): Rule[] {
  if (!model?.id || typeof model.stream !== 'function')
    return [[true, 'model_missing', '/model', 'An agent needs a model.', "`model: scripted('refund-demo')`."]]
  return [
    [!isWhole(model.contextTokens, 1), 'model_window_illegal', '/model/contextTokens', 'The window of the model is not a whole number of tokens.', '`contextTokens: 128_000`.'],
    [!isWhole(model.maxOutputTokens, 1), 'model_output_illegal', '/model/maxOutputTokens', 'The longest answer is not a whole number of tokens.', '`maxOutputTokens: 4_096`.'],
    [model.price !== null && !isPrice(model.price), 'model_price_illegal', '/model/price', 'A price is two numbers of cents per million tokens, or null when it is unknown.', '`price: { inputCentsPerMillion: 15, outputCentsPerMillion: 60 }`.'],
  ]
}

// biome-ignore format: a table is read by its rows
function acceptsRules({ accepts, model }: AgentSpec): Rule[] {
  if (accepts === undefined) return []
  const kinds: readonly MediaKind[] = Array.isArray(accepts) ? accepts : []
  const isList = Array.isArray(accepts) && kinds.every((k) => MEDIA_KINDS.includes(k)) && new Set(kinds).size === kinds.length
  return [
    [!isList, 'accepts_illegal', '/accepts', 'What a message may carry is a list of `image`, `pdf` and `audio`.', "`accepts: ['image', 'pdf']`."],
    [isList && !kinds.every((k) => model?.input?.includes(k)), 'accepts_beyond_model', '/accepts', 'The model does not say that it reads all of this.', "give the model `input: ['image', 'pdf']`, if it does; else remove the kind."],
  ]
}

// biome-ignore format: a table is read by its rows
function budgetRules(budget: BudgetSpec | undefined): Rule[] {
  if (typeof budget !== 'object' || budget === null)
    return [[true, 'budget_missing', '/budget', 'An agent without a budget has no end.', BUDGET]]
  return [
    [!isWhole(budget.steps, 1), 'steps_illegal', '/budget/steps', 'The number of model calls is not a whole number from 1.', '`steps: 8`.'],
    [!isWhole(budget.toolCalls, 0), 'tool_calls_illegal', '/budget/toolCalls', 'The number of tool calls is not a whole number from 0.', '`toolCalls: 4`.'],
    [!isWhole(budget.tokens, 1), 'tokens_illegal', '/budget/tokens', 'The number of tokens is not a whole number from 1.', '`tokens: 20_000`.'],
    [budget.costCents !== 0 && !isBetween(budget.costCents, 0, MOST_CENTS), 'cost_illegal', '/budget/costCents', 'The cost is not a number of cents from 0 to a billion.', '`costCents: 25`.'],
    [!isBetween(budget.seconds, 0, MOST_SECONDS), 'seconds_illegal', '/budget/seconds', 'The time is not a number of seconds, above 0 and at most 30 days.', '`seconds: 120`.'],
  ]
}

// biome-ignore format: a table is read by its rows
function contextRules({ context, model }: AgentSpec): Rule[] {
  if (context === undefined) return []
  if (typeof context !== 'object' || context === null)
    return [[true, 'context_illegal', '/context', 'The shares of a context are numbers of tokens.', '`context: { tokens: 16_000 }`.']]
  const { tokens, memory, summary, evidence, recent } = context
  const most = tokens ?? model?.contextTokens ?? 0
  const shares = { memory, summary, evidence, recent }
  const together = Object.values(shares).reduce<number>((sum, share) => sum + (share ?? 0), 0)
  return [
    [tokens !== undefined && !(isWhole(tokens, 1) && tokens <= (model?.contextTokens ?? 0)), 'context_tokens_illegal', '/context/tokens', 'The tokens of a context are a whole number from 1 to the window of the model.', '`tokens: 16_000`.'],
    ...Object.entries(shares).map(([name, share]): Rule => [share !== undefined && !isWhole(share, 0), 'context_share_illegal', `/context/${name}`, 'A share of a context is a whole number of tokens from 0.', `\`${name}: 2_000\`.`]),
    [together > most, 'context_shares_too_large', '/context', 'The shares are together larger than the context.', 'make them smaller, or `tokens` larger.'],
  ]
}

// biome-ignore format: a table is read by its rows
function summaryRules({ summary, context, model }: AgentSpec): Rule[] {
  if (summary === undefined) return []
  if (typeof summary !== 'object' || summary === null || !summary.model?.id || typeof summary.model.stream !== 'function')
    return [[true, 'summary_illegal', '/summary', 'Summaries need a model.', "`summary: { model: openai({ model: 'gpt-4.1-mini' }) }`."]]
  const { costCents, above, keep, recheck } = summary
  const most = context?.tokens ?? model?.contextTokens ?? 0
  const tokens = (value: unknown): boolean => value === undefined || (isWhole(value, 0) && (value as number) <= most)
  return [
    [costCents !== undefined && !isBetween(costCents, 0, MOST_CENTS), 'summary_cost_illegal', '/summary/costCents', 'The cost of a summary is a number of cents, above 0 and at most a billion.', '`costCents: 10`.'],
    [!tokens(above), 'summary_above_illegal', '/summary/above', 'The mark is a whole number of tokens, at most those of the context.', '`above: 8_000`.'],
    [!tokens(keep) || (keep !== undefined && above !== undefined && keep > above), 'summary_keep_illegal', '/summary/keep', 'What stays is a whole number of tokens, at most those of the mark.', '`keep: 4_000`.'],
    [recheck !== undefined && recheck !== 0 && !isBetween(recheck, 0, 1), 'summary_recheck_illegal', '/summary/recheck', 'The share that is checked again is a number from 0 to 1.', '`recheck: 0.05`.'],
  ]
}

// biome-ignore format: a table is read by its rows
function extractRules({ extract, memory }: AgentSpec): Rule[] {
  if (extract === undefined) return []
  if (typeof extract !== 'object' || extract === null || (extract.model !== undefined && (!extract.model?.id || typeof extract.model.stream !== 'function')))
    return [[true, 'extract_illegal', '/extract', 'Extraction takes a model and its cost, or neither.', '`extract: {}`.']]
  const { costCents } = extract
  return [
    [memory === undefined, 'extract_without_memory', '/extract', 'Nothing can be extracted where nothing may be remembered.', '`memory: memory({ … })`.'],
    [costCents !== undefined && !isBetween(costCents, 0, MOST_CENTS), 'extract_cost_illegal', '/extract/costCents', 'The cost of an extraction is a number of cents, above 0 and at most a billion.', '`costCents: 10`.'],
  ]
}
