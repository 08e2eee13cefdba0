/**
 * The model, as the loop sees it: one request, one stream, no loop and no retry of its own (B5).
 */
import type { Json, JsonObject } from '../kernel/json.ts'
import type { MediaFacts, MediaKind } from '../kernel/media.ts'

/** A call as the model asked for it: `arguments` is the raw text, judged by the gate and never repaired. */
export interface ModelCall {
  /** The provider's label. Not an identity: it may repeat (J3). */
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** A picture, document or sound that goes with a message. `mediaType` is what its bytes are; `name` is made by us. */
export interface ModelMedia {
  readonly kind: MediaKind
  readonly mediaType: MediaFacts['mediaType']
  readonly name: string
  readonly data: Uint8Array
}

export type ModelMessage =
  | { readonly role: 'system'; readonly text: string }
  | { readonly role: 'user'; readonly text: string; readonly media?: readonly ModelMedia[] }
  | {
      readonly role: 'assistant'
      readonly text: string
      readonly calls: readonly ModelCall[]
      /** What `ModelAnswer.reasoning` held, unread: only the adapter that made it understands it. */
      readonly reasoning?: Json
    }
  | {
      readonly role: 'tool'
      readonly callId: string
      readonly name: string
      readonly text: string
      readonly media?: readonly ModelMedia[]
    }

export interface OfferedTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
}

export interface ModelRequest {
  readonly messages: readonly ModelMessage[]
  readonly tools: readonly OfferedTool[]
  readonly maxOutputTokens: number
}

/** Tokens as the provider reports them. A missing field is unknown, never 0; the last report of a field wins. */
export interface Usage {
  readonly input?: number
  readonly output?: number
  readonly cached?: number
  readonly reasoning?: number
  /** Set by the assembly, never by an adapter: a reported value was no possible count of tokens and was dropped. */
  readonly suspect?: true
}

export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'error' | 'other'

/**
 * What an adapter lets out, in order. `key` is the adapter's own label of one call inside one stream, so that a
 * provider's repeated id or index never merges two calls. What cannot be attributed with certainty is `damaged`.
 */
export type ModelPart =
  | { readonly kind: 'response'; readonly model?: string; readonly id?: string }
  | { readonly kind: 'text'; readonly delta: string }
  | { readonly kind: 'reasoning'; readonly delta: string }
  | { readonly kind: 'reasoning_state'; readonly value: Json }
  | { readonly kind: 'call_open'; readonly key: string; readonly id: string; readonly name: string }
  | { readonly kind: 'call_delta'; readonly key: string; readonly delta: string }
  /** The whole call; it replaces what was streamed under the same key. */
  | { readonly kind: 'call'; readonly key: string; readonly call: ModelCall }
  | { readonly kind: 'usage'; readonly usage: Usage }
  | { readonly kind: 'finish'; readonly reason: FinishReason }
  | { readonly kind: 'damaged'; readonly detail: string }

/** Cents of the budget's currency per million tokens; fractions are allowed. */
export interface Price {
  readonly inputCentsPerMillion: number
  readonly outputCentsPerMillion: number
}

export interface Model {
  readonly id: string
  readonly contextTokens: number
  readonly maxOutputTokens: number
  /** `null` is unknown, and unknown is settled high (`price.ts`). */
  readonly price: Price | null
  /** Kinds besides text that it reads; none by default. */
  readonly input?: readonly MediaKind[]
  /** Tokens that a part of a message costs, where that is known better than by the estimate. Pure, and asked often. */
  readonly countMedia?: (media: MediaFacts) => number
  /**
   * Exactly one request to the provider. Throws a `Fault` with a `model_…` code (and `retryAfterMs` when the provider
   * named a time), or the signal's reason once `signal` aborts, which also closes the connection.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelPart>
}

interface AnswerBase {
  readonly text: string
  readonly usage: Usage
  /** The revision that the provider says it used. */
  readonly model: string | null
}

/** The whole answer of one attempt, after assembly and validation of its form. Only `final` can become success (B3). */
export type ModelAnswer =
  | (AnswerBase & { readonly kind: 'final'; readonly reasoning: Json | null })
  /** `text` beside calls is kept; it is not a final answer. */
  | (AnswerBase & { readonly kind: 'calls'; readonly calls: readonly ModelCall[]; readonly reasoning: Json | null })
  /** `detail` is for the operator and holds no values. */
  | (AnswerBase & { readonly kind: 'bad'; readonly reason: BadAnswer; readonly detail: string })

/** B3: what is never success. */
export type BadAnswer = 'empty_final' | 'truncated' | 'content_filtered' | 'protocol_error'
