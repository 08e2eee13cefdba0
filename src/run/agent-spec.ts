import type { ContextSpec } from '../context/limits.ts'
import type { SummarySpec } from '../context/summary.ts'
import type { TokenCounter } from '../context/tokens.ts'
import type { ExtractSpec } from '../memory/extract.ts'
import type { MemoryKeys } from '../memory/key.ts'
import type { MediaKind } from '../kernel/media.ts'
import type { Model } from '../model/port.ts'
import type { Contract } from '../tool/contract.ts'
import type { CompiledSchema } from '../tool/schema/schema.ts'
import type { Hooks } from './hooks.ts'

/** Limits of one run, as a product writes them. Each is a wall: there is no last step beyond it (B1). */
export interface BudgetSpec {
  /** Model calls. */
  readonly steps: number
  readonly toolCalls: number
  readonly tokens: number
  readonly costCents: number
  /** From the message to the end, waiting included. */
  readonly seconds: number
}

export interface AgentSpec {
  readonly model: Model
  /** Rules for the model; never cut from the context. */
  readonly instructions?: string
  readonly tools?: readonly Contract[]
  /** Names of procedures: those that are approved when a run is made are among its rules. See docs/memory.md. */
  readonly procedures?: readonly string[]
  readonly budget: BudgetSpec
  /** Pictures, documents and sounds that a message may carry and a tool may show: `['image', 'pdf', 'audio']`; default: none. */
  readonly accepts?: readonly MediaKind[]
  /** What may be remembered of whom it talks to; default: nothing, and nothing is read. */
  readonly memory?: MemoryKeys
  /**
   * What happens when memory cannot be read; default `answer`: without it, and marked `memory_unavailable`. `end`: the run
   * ends with that reason.
   */
  readonly onMemoryFailure?: 'answer' | 'end'
  /** What a new message does to a run that is still active in its conversation; default `queue`. */
  readonly onMessage?: 'queue' | 'replace' | 'reject'
  /** What a rejected confirmation does; default `observe`: the model is told and goes on. */
  readonly onReject?: 'observe' | 'end'
  /** A JSON Schema, or a Standard Schema, that the final answer must match as JSON. */
  readonly final?: CompiledSchema
  /**
   * What the agent does when its model cannot be reached; default: the run fails as `model_unavailable`. With `handOver`
   * it ends as `handed_over`, with this text as the answer. Nothing is permitted, skipped or merged for it (N3).
   */
  readonly degrade?: { readonly handOver: string }
  /**
   * What happens to a run when nobody follows its stream any more; default `detach`: it goes on. `cancel_tools`: ten
   * seconds later what it waits for outside is left, unless it is an effect, and it parks until somebody follows it or
   * says something more. `cancelAfterMs`: it is canceled as `disconnected` when nobody has followed it for so long,
   * counted from the last who did (K2).
   */
  readonly onDisconnect?: 'detach' | 'cancel_tools' | { readonly cancelAfterMs: number }
  /** How long one model call may take, its repeats included; default 300. A worker that takes longer is taken for hung. */
  readonly modelSeconds?: number
  /** How many tokens the parts of a request may take; see docs/agents.md. */
  readonly context?: ContextSpec
  /** What users say is read for memories in the background, when a run has ended; default: not. See docs/memory.md. */
  readonly extract?: ExtractSpec
  /** Long conversations are summarised in the background; default: they are cut. See docs/design/context.md. */
  readonly summary?: SummarySpec
  /** Code that looks at a run and may narrow what the model gets; one that fails ends the run (C9). */
  readonly hooks?: Hooks
  /** The exact counter of the model's tokens; default: an estimate that is not below the truth. Pure, and asked often. */
  readonly countTokens?: TokenCounter
  /** How many workers may try a run without progress before it ends; default 5. */
  readonly attempts?: number
}
