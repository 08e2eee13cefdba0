/**
 * The contract of a tool: what it promises, before anybody calls it.
 *
 * I1  name, version, schema, timeout, idempotency, permission, effect level, approval, error taxonomy, limits
 * I2  the registry says what exists; the gateway says whether this actor may, now
 * J4  every effect above `read` can be asked what happened (`probe`), or says `unknown: 'manual'`
 */
import type { Arrived } from './later.ts'
import type { Actor } from '../kernel/scope.ts'
import type { FaultKind, FieldError, Reaction } from '../kernel/fault.ts'
import type { Json, JsonObject } from '../kernel/json.ts'
import type { ArtifactRef } from './result/artifact.ts'
import type { Folder } from './sandbox/sandbox.ts'

export type { Json, JsonObject } from '../kernel/json.ts'

/** `read` changes nothing; `write` can be undone; `irreversible` cannot. Confirmation is the default above `read`. */
export type EffectLevel = 'read' | 'write' | 'irreversible'

/** How an argument is used, for grounding and for the approval card. */
export type ParameterRole = 'identity' | 'amount' | 'content' | 'selector'

/** What a tool is given besides its arguments. Never a credential of the model's choosing. */
export interface ToolContext {
  readonly actor: Actor
  readonly runId: string
  readonly step: number
  readonly position: number
  /** The server's idempotency key of this effect: the same on every repeat, never chosen by the model (J3). */
  readonly effectKey: string
  /** The effect that this call undoes, found by the server; null when the contract does not say `compensates`. */
  readonly answers: AnsweredEffect | null
  /** Aborts when the run is canceled or the call's time is over. */
  readonly signal: AbortSignal
  /** A `fetch` that reaches the `hosts` of the contract and nothing else, and ends with `signal` (I10). */
  readonly fetch: typeof globalThis.fetch
  /**
   * A credential of this tenant or user, fetched for this call; it never reaches the model, a row or a log.
   * @throws Fault `invalid_definition` when the contract does not declare it in `credentials`
   */
  credential(capability: string): string
  /**
   * The folder of the conversation, made when it is first asked for, with the files that were kept.
   * @throws Fault `invalid_definition` when the contract does not say `folder: true`; `folder_unavailable`
   */
  folder(): Promise<Folder>
}

/** An effect that happened, and that a compensation answers (J7). */
export interface AnsweredEffect {
  /** Its idempotency key: what its provider knows it by. */
  readonly key: string
  readonly tool: string
  readonly version: number
  readonly input: JsonObject
  /** As the model has read it: shortened when it was large. */
  readonly result: Json
}

/** What a caller of the gateway says about a call; the gateway adds what the contract declares. */
export type CallContext = Omit<ToolContext, 'fetch' | 'credential' | 'folder' | 'answers'>

/** What will be confirmed: the sentence, the state before, and the version of the resource it was made on. */
export interface Plan {
  readonly summary: string
  readonly before?: Json
  readonly after?: Json
  readonly resource?: string
  readonly resourceVersion?: string
}

/** The answer to "did it happen?" for an effect whose outcome is unknown. */
export type ProbeOutcome =
  | { readonly happened: true; readonly result: unknown }
  | { readonly happened: false }
  | { readonly happened: 'unknown' }

export interface BreakerLimits {
  /** The n-th identical call ends the run as `repeated_action`; default 3. */
  readonly identicalCalls: number
  /** The n-th identical error ends the run as `repeated_error`; default 3. */
  readonly identicalErrors: number
  /** Whether A/B/A/B counts as repetition; default true. */
  readonly alternation: boolean
  /** Argument fields that do not count, such as a time stamp. */
  readonly ignore: readonly string[]
}

/** At most `calls` starts in any `perMs` milliseconds, per tenant and environment, over all workers. */
export interface Rate {
  readonly calls: number
  readonly perMs: number
}

export interface ErrorClass {
  readonly kind: FaultKind
  readonly reaction: Reaction
}

export interface Waiver {
  readonly parameters: readonly string[]
  readonly reason: string
  /** The last day on which it holds, `YYYY-MM-DD`. */
  readonly until: string
}

/** A loaded, frozen, consistent contract. Made by `tool()` or from YAML; never by hand. */
export interface Contract {
  /** `group.verb`, ASCII. */
  readonly name: string
  readonly version: number
  /** The name that the model sees: [A-Za-z0-9_-]{1,64}, unique in the registry. */
  readonly exposedName: string
  readonly description: string
  /** JSON Schema 2020-12. */
  readonly inputSchema: JsonObject
  readonly outputSchema: JsonObject | null
  /** What the schema says against an input; empty when it fits. Paths and rules, no values. */
  readonly check: (input: JsonObject) => readonly FieldError[]
  readonly checkResult: (result: Json) => readonly FieldError[]
  /** Hash of everything the model and the gate see of this contract; part of the release. */
  readonly hash: string
  readonly effect: EffectLevel
  readonly approval: 'auto' | 'confirm'
  readonly permission: string
  /** Where `cx.fetch` may go: `api.vendor.example`, `*.vendor.example`; none by default (I10). */
  readonly hosts: readonly string[]
  readonly timeoutMs: number
  /** `key`: the provider deduplicates by our key; `probe`: it can be asked; `manual`: an operator decides. */
  readonly unknown: 'key' | 'probe' | 'manual'
  /** How long a confirmation stays open, at most; default five minutes (J11). */
  readonly confirmationMs: number
  /** The members of the result that hold the items of a page and the cursor of the next page. */
  readonly page: { readonly items: string; readonly next: string } | null
  /** What the model reads of a result, at most. */
  readonly maxResultBytes: number
  /** Calls of this tool at once in one process; more wait, and beyond a bounded queue they are refused (N4). */
  readonly concurrency: number
  /** What is stored of a result that is larger, at most. */
  readonly maxRawBytes: number
  /** Capabilities whose credentials the tool is given at each call; without one of them it does not start. */
  readonly credentials: readonly string[]
  /** Whether the tool is given the folder of the conversation (A10). */
  readonly folder: boolean
  readonly rate: Rate | null
  /** How often a read is tried inside its own time when its provider fails for a moment; 1 is no repeat. */
  readonly attempts: number
  readonly breaker: BreakerLimits
  readonly params: { readonly [name: string]: ParameterRole }
  readonly errors: { readonly [code: string]: ErrorClass }
  /** The run succeeds with this reason when the call succeeds. */
  readonly ends: 'handed_over' | null
  /** The name of the tool whose effects this one undoes (J7). */
  readonly compensates: string | null
  /** An operator's dated leave for free shell, SQL or URL parameters (I4). */
  readonly waiver: Waiver | null
  readonly implementation: Implementation
}

/** The product's code behind a contract. `run` for reads, `commit` for effects. */
export interface Implementation {
  /** Whether this actor may do this with this object; asked before the plan or the start, and again before the commit. */
  readonly authorize?: (input: JsonObject, cx: ToolContext) => boolean | Promise<boolean>
  readonly run?: (input: JsonObject, cx: ToolContext) => unknown
  /** The cursor that continues right behind an item of a page. */
  readonly after?: (item: Json) => unknown
  /** Whether this call answers that effect. Without it each effect of the tool is meant. */
  readonly which?: (input: JsonObject, done: AnsweredEffect) => boolean
  readonly plan?: (input: JsonObject, cx: ToolContext) => Plan | Promise<Plan>
  /** The version of the resource now; compared with the plan's before the effect starts (J12). */
  readonly resourceVersion?: (input: JsonObject, cx: ToolContext) => string | Promise<string>
  readonly commit?: (input: JsonObject, cx: ToolContext) => unknown
  readonly probe?: (input: JsonObject, cx: ToolContext) => ProbeOutcome | Promise<ProbeOutcome>
  /** After `later`: the outcome, or `later` again. */
  readonly resume?: (input: JsonObject, cx: ToolContext, arrived: Arrived | null) => unknown
}

/**
 * The outcome of one call, as it is stored and as the model may read it. `bytes` is the size before truncation;
 * `mended` says that U+FFFD stands for characters that cannot be stored.
 */
export type ToolOutcome =
  | {
      readonly ok: true
      readonly result: Json
      readonly bytes: number
      readonly truncated: boolean
      readonly mended: boolean
      /** What was kept of the call: a result that is too large to be read, files of its folder. */
      readonly artifacts?: readonly ArtifactRef[]
    }
  | { readonly ok: false; readonly error: ErrorEnvelope }

/** B6: the small stable envelope of an error. Never a stack, SQL, host, path or credential. */
export interface ErrorEnvelope {
  readonly code: string
  readonly message: string
  readonly retryable: boolean
  readonly hint: string
}
