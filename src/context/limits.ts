/** How many tokens the sections of a context may take. */
import type { MediaFacts, MediaKind } from '../kernel/media.ts'
import type { TokenCounter } from './tokens.ts'

/** What an agent may say about its context, in tokens. Everything has a default. */
export interface ContextSpec {
  /** Of a whole request, its answer not counted. Default: the window of the model without the longest answer. */
  readonly tokens?: number
  /** What is remembered about the user. Default: a tenth of `tokens`, as for `summary`. */
  readonly memory?: number
  readonly summary?: number
  /** Results of earlier questions, the most relevant first. Default: a quarter of `tokens`, as for `recent`. */
  readonly evidence?: number
  /** Earlier questions and answers, the latest first. */
  readonly recent?: number
}

export interface ContextLimits {
  /** Above this the context is cut. */
  readonly most: number
  /** What a cut leaves: far enough below, so that many steps follow before the next and send the same beginning (C8). */
  readonly low: number
  /** Rules, question and the last step may come up to here: what is over has no room for an answer. */
  readonly hard: number
  /** Of the model, answer included. */
  readonly window: number
  readonly memory: number
  readonly summary: number
  readonly evidence: number
  readonly recent: number
  readonly count?: TokenCounter
  /** Kinds that may be sent; none by default. */
  readonly accepts?: readonly MediaKind[]
  /** What the model says that a part costs; default: an estimate (`media.ts`). */
  readonly countMedia?: (media: MediaFacts) => number
}

/** An answer that is longer than a quarter of the window would leave a small model no context. */
const ANSWER_SHARE = 4
/** A cut takes three tenths at once: each one costs a prompt cache its beginning. */
const LOW = 0.7

export const contextLimits = (
  spec: ContextSpec | undefined,
  model: { readonly window: number; readonly maxOutput: number; readonly leastOutput: number },
  more: Pick<ContextLimits, 'count' | 'accepts' | 'countMedia'> = {},
): ContextLimits => {
  const hard = Math.max(0, model.window - model.leastOutput)
  const room = model.window - Math.min(model.maxOutput, Math.floor(model.window / ANSWER_SHARE))
  const most = Math.min(spec?.tokens ?? room, hard)
  return {
    most,
    low: Math.floor(most * LOW),
    hard: spec?.tokens === undefined ? hard : most,
    window: model.window,
    memory: spec?.memory ?? Math.floor(most / 10),
    summary: spec?.summary ?? Math.floor(most / 10),
    evidence: spec?.evidence ?? Math.floor(most / 4),
    recent: spec?.recent ?? Math.floor(most / 4),
    ...more,
  }
}

/** For a model that counts `factor` times what we do: what fits into its window then. */
export const tightened = (limits: ContextLimits, factor: number): ContextLimits => {
  const hard = Math.floor(limits.hard / Math.max(1, factor))
  const most = Math.min(limits.most, hard)
  return { ...limits, most, low: Math.min(limits.low, most), hard }
}

/** For a model that refused a request of `sent` tokens as too long: half of it, once (BR-108). */
export const halved = (limits: ContextLimits, sent: number): ContextLimits => {
  const most = Math.floor(sent / 2)
  return { ...limits, most, low: Math.min(limits.low, most), hard: Math.min(limits.hard, Math.max(most, sent - 1)) }
}
