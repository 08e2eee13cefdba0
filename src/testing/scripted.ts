/**
 * A model that says what its script says: the same parts for the same request, without time and without chance.
 */
import { Fault } from '../kernel/fault.ts'
import type { MediaFacts, MediaKind } from '../kernel/media.ts'
import type { Model, ModelPart, ModelRequest, Price } from '../model/port.ts'
import { refundDemo } from './refund-demo.ts'
import { partsOf, turnOf, type Script, type ScriptedAnswer } from './script.ts'

export interface ScriptedOptions {
  readonly id?: string
  readonly contextTokens?: number
  readonly maxOutputTokens?: number
  readonly price?: Price
  /** Kinds besides text that the model reads: `['image', 'pdf']`. Default: none. */
  readonly input?: readonly MediaKind[]
  /** Tokens of a part, where they are known better than by the estimate. */
  readonly countMedia?: (media: MediaFacts) => number
  /** Awaited before each part, for scripts that need time; by default nothing is. */
  readonly pause?: (signal: AbortSignal) => Promise<void>
}

const BUILT_IN: { readonly [name: string]: Script } = { 'refund-demo': refundDemo }

/** `script` is a script or the name of a built-in one. Throws `invalid_definition` for a name that does not exist. */
export function scripted(script: string | Script, options: ScriptedOptions = {}): Model {
  const chosen = typeof script === 'string' ? BUILT_IN[script] : script
  if (chosen === undefined)
    throw new Fault(
      'invalid_definition',
      `There is no built-in script of this name; there is: ${Object.keys(BUILT_IN).join(', ')}.`,
    )
  let used = 0
  const next = (request: ModelRequest): ScriptedAnswer => {
    const answer = typeof chosen === 'function' ? chosen(request, turnOf(request)) : chosen[used++]
    if (answer === undefined) throw new Fault('model_invalid_request', 'The script has no further answer.')
    return answer
  }
  const stream = async function* (request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelPart> {
    const answer = next(request)
    const parts = 'fault' in answer ? (answer.after ?? []) : partsOf(answer, request)
    for (const part of parts) {
      signal.throwIfAborted()
      await options.pause?.(signal)
      yield part
    }
    signal.throwIfAborted()
    if ('fault' in answer) {
      throw new Fault(
        answer.fault,
        undefined,
        answer.retryAfterMs === undefined ? {} : { retryAfterMs: answer.retryAfterMs },
      )
    }
  }
  return {
    id: options.id ?? (typeof script === 'string' ? `scripted/${script}` : 'scripted'),
    contextTokens: options.contextTokens ?? 32_000,
    maxOutputTokens: options.maxOutputTokens ?? 4_096,
    price: options.price ?? null,
    ...(options.input && { input: options.input }),
    ...(options.countMedia && { countMedia: options.countMedia }),
    stream,
  }
}
