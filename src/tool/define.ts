/**
 * `tool('orders.refund@2', { … })`: the one place where a contract is made.
 *
 * I1  a definition that contradicts itself fails at load with a code, the cause and the line that mends it
 * J4  every effect above `read` says how an unknown outcome is resolved
 */
import { hashJson } from '../kernel/canonical.ts'
import type { Json, JsonObject } from '../kernel/json.ts'
import type { Arrived } from './later.ts'
import type { AnsweredEffect, BreakerLimits, Contract, Implementation, ToolContext } from './contract.ts'
import { compensationProblems } from './compensates.ts'
import { exposedName } from './names.ts'
import { pageProblems } from './result/page.ts'
import { defined, definitionFault, type Problem, problem } from './problem.ts'
import { lineProblems, ruleProblems } from './rules.ts'
import type { ToolSpec } from './spec.ts'
import { compileSource, type InputOf, type SchemaSource } from './schema/standard.ts'
import { readTaxonomy } from './taxonomy.ts'

export const TOOL_DEFAULTS = {
  timeoutMs: 10_000,
  confirmationMs: 300_000,
  maxResultBytes: 64 * 1024,
  concurrency: 16,
  /** A million rows of 250 bytes; a slow disk takes them within the time of a call. */
  maxRawBytes: 256 * 1024 * 1024,
  breaker: Object.freeze({
    identicalCalls: 3,
    identicalErrors: 3,
    alternation: true,
    ignore: Object.freeze([]),
  }) as BreakerLimits,
} as const

/** `nameAtVersion` is `group.verb@version`. Throws `invalid_definition` with every problem at once. */
export const tool = <const S extends SchemaSource>(nameAtVersion: string, spec: ToolSpec<S>): Contract =>
  defined(nameOf(nameAtVersion), () => made(nameAtVersion, spec))

const nameOf = (given: unknown): string => (typeof given === 'string' ? given : 'tool')

function made<const S extends SchemaSource>(nameAtVersion: string, spec: ToolSpec<S>): Contract {
  const { name, version } = splitVersion(nameAtVersion)
  const lines = lineProblems(spec)
  if (lines.length > 0) throw definitionFault(nameAtVersion, lines)
  const input = compileSource(spec.input ?? {}, 'arguments', '/input')
  const output = spec.output === undefined ? null : compileSource(spec.output, 'result', '/output')
  const taxonomy = readTaxonomy(spec.errors ?? {}, spec.effect)
  const problems: Problem[] = [
    ...(input.ok ? [] : input.problems),
    ...(output === null || output.ok ? [] : output.problems),
    ...taxonomy.problems,
    ...ruleProblems(name, version, spec, input.ok ? input.compiled.schema : {}),
    ...compensationProblems(name, spec),
    ...pageProblems(spec),
  ]
  if (problems.length > 0 || !input.ok || (output !== null && !output.ok))
    throw definitionFault(nameAtVersion, problems)

  const promised = {
    name,
    version,
    exposedName: exposedName(name),
    description: spec.description ?? '',
    inputSchema: input.compiled.schema,
    outputSchema: output?.compiled.schema ?? null,
    effect: spec.effect,
    approval: spec.approval ?? (spec.effect === 'read' ? ('auto' as const) : ('confirm' as const)),
    permission: spec.permission ?? name,
    hosts: Object.freeze([...new Set(spec.hosts)].sort()),
    timeoutMs: spec.timeoutMs ?? TOOL_DEFAULTS.timeoutMs,
    unknown: spec.unknown ?? (spec.probe ? ('probe' as const) : ('key' as const)),
    confirmationMs: spec.confirmationMs ?? TOOL_DEFAULTS.confirmationMs,
    page: spec.page ? Object.freeze({ items: spec.page.items, next: spec.page.next }) : null,
    maxResultBytes: spec.maxResultBytes ?? TOOL_DEFAULTS.maxResultBytes,
    concurrency: spec.concurrency ?? TOOL_DEFAULTS.concurrency,
    maxRawBytes: spec.maxRawBytes ?? Math.max(TOOL_DEFAULTS.maxRawBytes, spec.maxResultBytes ?? 0),
    credentials: Object.freeze([...(spec.credentials ?? [])]),
    folder: spec.folder ?? false,
    rate: spec.rate ? Object.freeze({ ...spec.rate }) : null,
    attempts: typeof spec.retry === 'object' ? spec.retry.attempts : 1,
    breaker: Object.freeze({ ...TOOL_DEFAULTS.breaker, ...spec.breaker }),
    params: Object.freeze({ ...spec.params }),
    errors: taxonomy.errors,
    ends: spec.ends ?? null,
    compensates: spec.compensates ?? null,
    waiver: spec.waiver ? Object.freeze({ ...spec.waiver }) : null,
  }
  return Object.freeze({
    ...promised,
    hash: hashJson(promised as unknown as Json),
    check: input.compiled.check,
    checkResult: output?.compiled.check ?? (() => []),
    implementation: implementationOf(spec),
  })
}

function splitVersion(nameAtVersion: string): { name: string; version: number } {
  const found = /^(.+)@([1-9]\d{0,5})$/s.exec(nameAtVersion)
  if (found?.[1] === undefined) {
    const fix = "`tool('group.verb@1', …)`."
    throw definitionFault(JSON.stringify(nameAtVersion), [
      problem('version_missing', '/name', 'A contract has a version.', fix),
    ])
  }
  return { name: found[1], version: Number(found[2]) }
}

/** The input was checked against the schema that gave the type, so the two agree. */
function implementationOf<S extends SchemaSource>({
  authorize,
  run,
  which,
  after,
  plan,
  resourceVersion,
  commit,
  probe,
  resume,
}: ToolSpec<S>): Implementation {
  const typed = (input: JsonObject) => input as InputOf<S>
  return Object.freeze({
    ...(authorize && { authorize: (input: JsonObject, cx: ToolContext) => authorize(typed(input), cx) }),
    ...(run && { run: (input: JsonObject, cx: ToolContext) => run(typed(input), cx) }),
    ...(after && { after }),
    ...(which && { which: (input: JsonObject, done: AnsweredEffect) => which(typed(input), done) }),
    ...(plan && { plan: (input: JsonObject, cx: ToolContext) => plan(typed(input), cx) }),
    ...(resourceVersion && {
      resourceVersion: (input: JsonObject, cx: ToolContext) => resourceVersion(typed(input), cx),
    }),
    ...(commit && { commit: (input: JsonObject, cx: ToolContext) => commit(typed(input), cx) }),
    ...(resume && {
      resume: (input: JsonObject, cx: ToolContext, arrived: Arrived | null) => resume(typed(input), cx, arrived),
    }),
    ...(probe && { probe: (input: JsonObject, cx: ToolContext) => probe(cx, typed(input)) }),
  })
}
