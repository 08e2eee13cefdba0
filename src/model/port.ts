/**
 * The model, as the loop sees it: one request, one stream, no loop and no retry of its own (B5).
 */
import type { Json, JsonObject } from '../tool/contract.ts'

/** A call as the model asked for it: `arguments` is the raw text, judged by the gate and never repaired. */
export interface ModelCall {
  /** The provider's label. Not an identity: it may repeat (J3). */
  readonly id: string
  readonly name: string
  readonly arguments: string
}

export type ModelMessage =
  | { readonly role: 'system'; readonly text: string }
  | { readonly role: 'user'; readonly text: string }
  | {
      readonly role: 'assistant'
      readonly text: string
      readonly calls: readonly ModelCall[]
      readonly reasoning?: Json
    }
  | { readonly role: 'tool'; readonly callId: string; readonly name: string; readonly text: string }

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

/** Tokens as the provider reports them. A missing field is unknown, never 0. */
export interface Usage {
  readonly input?: number
  readonly output?: number
  readonly cached?: number
  readonly reasoning?: number
}

export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'error' | 'other'

/** What an adapter lets out, in order. A part that it cannot attribute with certainty is `damaged`. */
export type ModelPart =
  | { readonly kind: 'response'; readonly model?: string; readonly id?: string }
  | { readonly kind: 'text'; readonly delta: string }
  | { readonly kind: 'reasoning'; readonly delta: string }
  | { readonly kind: 'reasoning_state'; readonly value: Json }
  | { readonly kind: 'call_open'; readonly key: string; readonly id: string; readonly name: string }
  | { readonly kind: 'call_delta'; readonly key: string; readonly delta: string }
  | { readonly kind: 'call'; readonly call: ModelCall }
  | { readonly kind: 'usage'; readonly usage: Usage }
  | { readonly kind: 'finish'; readonly reason: FinishReason }
  | { readonly kind: 'damaged'; readonly detail: string }

/** Prices in micro-cents of the budget's currency per million tokens; absent means unknown, and unknown is estimated high. */
export interface Price {
  readonly inputCentsPerMillion: number
  readonly outputCentsPerMillion: number
}

export interface Model {
  readonly id: string
  readonly contextTokens: number
  readonly maxOutputTokens: number
  readonly price: Price | null
  /** Exactly one attempt. Throws a `Fault` with a `model_…` code; `signal` closes the connection. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelPart>
}

/** The whole answer of one attempt, after assembly and validation of its form. */
export type ModelAnswer =
  | {
      readonly kind: 'final'
      readonly text: string
      readonly reasoning: Json | null
      readonly usage: Usage
      readonly model: string | null
    }
  | {
      readonly kind: 'calls'
      readonly text: string
      readonly calls: readonly ModelCall[]
      readonly reasoning: Json | null
      readonly usage: Usage
      readonly model: string | null
    }
  | {
      readonly kind: 'bad'
      readonly reason: BadAnswer
      readonly text: string
      readonly usage: Usage
      readonly model: string | null
    }

/** B3: what is never success. */
export type BadAnswer = 'empty_final' | 'truncated' | 'content_filtered' | 'protocol_error'
