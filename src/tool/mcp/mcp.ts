/**
 * The tools of a Model Context Protocol server, as contracts behind the same gateway (I8).
 *
 * What the server says of a tool is a stranger's word: the operator approves the definition as it is, and says what the
 * tool may do. A hint of the server raises the level, and none lowers it. One odd tool is refused with its reasons; the
 * others stay.
 */
import { hashBytes, hashJson } from '../../kernel/canonical.ts'
import { Fault } from '../../kernel/fault.ts'
import { cutText } from '../../kernel/grapheme.ts'
import type { Json, JsonObject } from '../../kernel/json.ts'
import { checkJson } from '../../kernel/plain.ts'
import type { Contract, EffectLevel, ProbeOutcome, ToolContext } from '../contract.ts'
import { tool } from '../define.ts'
import { type ForeignSchema, fromDraft07, fromJsonSchema } from '../schema/foreign.ts'
import { isLegalName, lookAlikes } from '../names.ts'
import type { ToolSpec } from '../spec.ts'

/** Asks a tool of the same server: for a probe that looks an effect up. */
export type Ask = (tool: string, input: JsonObject) => Promise<Json>

type Shared = Pick<
  ToolSpec<ForeignSchema>,
  | 'approval'
  | 'permission'
  | 'params'
  | 'timeoutMs'
  | 'maxResultBytes'
  | 'rate'
  | 'breaker'
  | 'waiver'
  | 'acknowledge'
  | 'authorize'
>

/** What the operator says of one tool. A tool that is not named is irreversible and waits for a person. */
export interface McpToolSpec extends Shared {
  readonly effect: EffectLevel
  /** The argument that takes the server's idempotency key, so that doubles are removed. The model does not see it. */
  readonly key?: string
  /** Looks the effect of `cx.effectKey` up. Without it and without `key`, an unknown outcome waits for an operator. */
  readonly probe?: (cx: ToolContext, input: JsonObject, ask: Ask) => ProbeOutcome | Promise<ProbeOutcome>
  /** `refused`: an answer that is marked as an error means that nothing happened. By default that is unknown. */
  readonly errorMeans?: 'refused'
}

/** A definition as `tools/list` gives it. */
export interface McpDefinition {
  readonly name: string
  readonly description: string
  readonly inputSchema: Json
  readonly outputSchema: Json | undefined
  readonly hints: JsonObject
  /** Of all that the server says of the tool and the model or a person reads: what was approved is this. */
  readonly hash: string
  /** As it came: what is written down when it is approved. */
  readonly raw: JsonObject
}

export interface McpTool {
  /** As the server calls it. */
  readonly tool: string
  /** Null when the tool is refused. */
  readonly contract: string | null
  readonly effect: EffectLevel | null
  /** The hint that raised the level above what the operator said. */
  readonly raisedBy: string | null
  /** Why it is refused: code, place and the line that mends it. */
  readonly problems: readonly string[]
}

/** What a contract needs of the connection. */
export interface McpCalls {
  read(definition: McpDefinition, input: JsonObject, cx: ToolContext): Promise<unknown>
  /** Throws what leaves open whether the effect happened, unless it is certain that it did not. */
  commit(
    definition: McpDefinition,
    input: JsonObject,
    how: { cx: ToolContext; errorMeans: 'refused' | 'unknown' },
  ): Promise<unknown>
  ask(tool: string, input: JsonObject, cx: ToolContext): Promise<Json>
}

/** A description is read by the model in every request; a page of it is not a description. */
const LONGEST_DESCRIPTION = 4_096
/** Tag characters, marks that turn the direction of what a person reads, and such as take no room. */
const HIDDEN = /[\u{e0000}-\u{e007f}\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u

export const MCP_ERRORS = {
  server_refused: { kind: 'business_rejected', reaction: 'replan' },
  server_unavailable: { kind: 'unavailable', reaction: 'replan' },
  definition_changed: { kind: 'conflict', reaction: 'replan' },
} as const

/** Reads one definition. Null when it is none: a tool has a name. */
export function readDefinition(given: unknown): McpDefinition | null {
  const checked = checkJson(given, { bytes: 1024 * 1024, depth: 64, keys: 5_000 })
  if (!checked.ok || !isMap(checked.value) || typeof checked.value.name !== 'string') return null
  const { name, title, description, inputSchema, outputSchema, annotations } = checked.value
  const said = { name, title, description, inputSchema, outputSchema, annotations }
  const raw = Object.fromEntries(Object.entries(said).filter((line): line is [string, Json] => line[1] !== undefined))
  return {
    name,
    description: typeof description === 'string' ? description : '',
    inputSchema: inputSchema ?? null,
    outputSchema,
    hints: isMap(annotations) ? annotations : {},
    hash: hashJson(raw),
    raw,
  }
}

export interface McpContracts {
  readonly contracts: readonly Contract[]
  readonly tools: readonly McpTool[]
}

/** The approved definitions of one server as contracts, each with its report; whatever is odd about one stays with it. */
export function contractsOf(
  server: string,
  approved: readonly McpDefinition[],
  specs: { readonly [tool: string]: McpToolSpec },
  calls: McpCalls,
): McpContracts {
  const contracts: Contract[] = []
  const tools = approved.map((definition): McpTool => {
    const spec = Object.hasOwn(specs, definition.name) ? specs[definition.name] : undefined
    const { effect, raisedBy } = levelOf(spec, definition.hints)
    const refused = (problems: readonly string[]): McpTool => ({
      tool: definition.name,
      contract: null,
      effect: null,
      raisedBy: null,
      problems,
    })
    const name = contractName(server, definition.name)
    if (name === null) return refused(['name_not_ascii at /name: a name is ASCII, since others look like it.'])
    const pair = lookAlikes([...contracts.map((c) => c.name), name])
    if (pair) return refused([`name_collision at /name: "${pair[0]}" and "${pair[1]}" are equal or look alike.`])
    if (HIDDEN.test(JSON.stringify([definition.description, definition.inputSchema])))
      return refused(['hidden_text at /description: it holds characters that a person does not see.'])
    try {
      const contract = tool(`${name}@1`, toolSpec(definition, { spec, effect, raisedBy, calls }))
      contracts.push(contract)
      return { tool: definition.name, contract: name, effect, raisedBy, problems: [] }
    } catch (error) {
      if (!Fault.is(error)) throw error
      return refused(error.errors.map((e) => e.message.replace(':', ` at ${e.path}:`)))
    }
  })
  return { contracts, tools }
}

/** A hint may say that a tool does more than the operator thinks, never that it does less. */
function levelOf(
  spec: McpToolSpec | undefined,
  { destructiveHint, readOnlyHint }: JsonObject,
): { readonly effect: EffectLevel; readonly raisedBy: string | null } {
  const effect = spec?.effect ?? 'irreversible'
  if (destructiveHint === true && effect !== 'irreversible')
    return { effect: 'irreversible', raisedBy: 'destructiveHint' }
  if (readOnlyHint === false && effect === 'read') return { effect: 'write', raisedBy: 'readOnlyHint' }
  return { effect, raisedBy: null }
}

const SLUG_LENGTH = 64

/** `server.tool`, or, when the tool's name is no legal one, what is legible of it and a hash of it. Null when it is not ASCII. */
function contractName(server: string, name: string): string | null {
  const plain = `${server}.${name}`
  if (isLegalName(plain)) return plain
  if (!/^[\x20-\x7e]+$/.test(name)) return null
  const slug = name
    .replaceAll(/[^A-Za-z0-9_-]+/g, '_')
    .replace(/^(?![A-Za-z])/, 't')
    .slice(0, SLUG_LENGTH)
  return `${server}.${slug}_${hashBytes(name).slice(0, 12)}`
}

interface Judged {
  readonly spec: McpToolSpec | undefined
  readonly effect: EffectLevel
  readonly raisedBy: string | null
  readonly calls: McpCalls
}

type Spec = ToolSpec<ForeignSchema>

function toolSpec(definition: McpDefinition, { spec, effect, raisedBy, calls }: Judged): Spec {
  const { key, probe, errorMeans = 'unknown', effect: _, approval, ...shared } = spec ?? { effect }
  const common = {
    ...shared,
    description: cutText(definition.description, LONGEST_DESCRIPTION),
    input: dialectOf(key === undefined ? definition.inputSchema : without(definition.inputSchema, key)),
    ...(definition.outputSchema !== undefined && { output: dialectOf(definition.outputSchema) }),
    errors: MCP_ERRORS,
    effect,
  }
  if (effect === 'read') return { ...common, run: (input, cx) => calls.read(definition, input, cx) }
  return {
    ...common,
    // a person who allowed a `write` has not allowed what the server calls more than that
    ...(approval !== undefined && raisedBy === null && { approval }),
    unknown: key !== undefined ? 'key' : probe ? 'probe' : 'manual',
    ...(probe && { probe: (cx, input) => probe(cx, input, (name, asked) => calls.ask(name, asked, cx)) }),
    plan: (input) => ({ summary: `Call ${definition.name} with these arguments`, after: input }),
    commit: (input, cx) =>
      calls.commit(definition, key === undefined ? input : { ...input, [key]: cx.effectKey }, { cx, errorMeans }),
  }
}

const DRAFT_07 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/

/** The dialect that the schema itself names; 2020-12 when it names none, as the protocol has it. */
const dialectOf = (schema: Json) =>
  isMap(schema) && typeof schema.$schema === 'string' && DRAFT_07.test(schema.$schema)
    ? fromDraft07(schema)
    : fromJsonSchema(schema)

function without(schema: Json, field: string): Json {
  if (!isMap(schema)) return schema
  const { properties, required, ...rest } = schema
  const kept = isMap(properties)
    ? Object.fromEntries(Object.entries(properties).filter(([name]) => name !== field))
    : properties
  return {
    ...rest,
    ...(kept !== undefined && { properties: kept }),
    ...(Array.isArray(required) && { required: (required as readonly Json[]).filter((name) => name !== field) }),
  }
}

const isMap = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
