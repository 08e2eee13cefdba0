/**
 * Any model of the AI SDK (specification 3 or 4), asked directly: its own loop and its retries are not used (B5).
 *
 * The types are our own description of the part that we use, so that this package needs none of the SDK's.
 */
import { Fault } from '../kernel/fault.ts'
import { systemClock } from '../kernel/system.shell.ts'
import type { MediaFacts, MediaKind } from '../kernel/media.ts'
import type { JsonObject } from '../kernel/json.ts'
import { partReader } from './aisdk-parts.ts'
import { promptOf } from './aisdk-prompt.ts'
import { failureOfThrown } from './failure.ts'
import { isPrice } from './price.ts'
import type { Model, ModelPart, ModelRequest, Price } from './port.ts'

/** What `createOpenAICompatible(…)('model')`, `anthropic('model')` and their like return. */
export interface AiSdkModel {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  doStream(options: AiSdkCall): PromiseLike<{ stream: ReadableStream<{ readonly type: string }> }>
}

export interface AiSdkCall {
  prompt: readonly unknown[]
  maxOutputTokens?: number | undefined
  tools?: readonly unknown[] | undefined
  toolChoice?: unknown
  abortSignal?: AbortSignal | undefined
  providerOptions?: unknown
}

export interface AiSdkOptions {
  /** Default 32 000 tokens. */
  readonly contextTokens?: number
  /** Default 4 096 tokens. */
  readonly maxOutputTokens?: number
  /** Without it the money of a budget is settled at the dearest list prices: 15 and 75 dollars per million tokens. */
  readonly price?: Price
  /** Kinds besides text that the model reads: `['image', 'pdf']`. Default: none. */
  readonly input?: readonly MediaKind[]
  /** Tokens of a part, where they are known better than by the estimate. */
  readonly countMedia?: (media: MediaFacts) => number
  /** Passed through to the provider, such as an effort of reasoning. */
  readonly providerOptions?: { readonly [provider: string]: JsonObject }
}

export function aiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Model {
  if (!/^v[34]$/.test(model.specificationVersion))
    throw new Fault('invalid_definition', 'The model must implement specification v3 or v4 of the AI SDK.')
  if (options.price !== undefined && !isPrice(options.price))
    throw new Fault('invalid_definition', '`price` must hold finite numbers of cents, 0 or more.')
  const stream = async function* (request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart> {
    signal.throwIfAborted()
    try {
      const { stream: parts } = await model.doStream(callOf(request, signal, options))
      const reader = partReader(systemClock.now())
      for await (const part of parts) yield* reader.read({ ...part })
    } catch (error) {
      // First of all: the SDK reports our own abort as a failed API call.
      signal.throwIfAborted()
      if (Fault.is(error)) throw error
      const { code, ...rest } = failureOfThrown(error, systemClock.now())
      throw new Fault(code, undefined, rest)
    }
  }
  return {
    id: `${model.provider}/${model.modelId}`,
    contextTokens: options.contextTokens ?? 32_000,
    maxOutputTokens: options.maxOutputTokens ?? 4_096,
    price: options.price ?? null,
    ...(options.input && { input: options.input }),
    ...(options.countMedia && { countMedia: options.countMedia }),
    stream,
  }
}

function callOf(request: ModelRequest, signal: AbortSignal, options: AiSdkOptions): AiSdkCall {
  const tools = request.tools.map((tool) => ({ type: 'function', ...tool }))
  return {
    prompt: promptOf(request.messages),
    maxOutputTokens: request.maxOutputTokens,
    abortSignal: signal,
    ...(tools.length > 0 ? { tools, toolChoice: { type: 'auto' } } : {}),
    ...(options.providerOptions === undefined ? {} : { providerOptions: options.providerOptions }),
  }
}
