import type {
  AnsweredEffect,
  BreakerLimits,
  EffectLevel,
  Json,
  ParameterRole,
  Plan,
  ProbeOutcome,
  Rate,
  ToolContext,
  Waiver,
} from './contract.ts'
import type { Arrived } from './later.ts'
import type { InputOf, SchemaSource } from './schema/standard.ts'
import type { Taxonomy } from './taxonomy.ts'

/** What an author writes. Everything that is not said has the safe default. */
export interface ToolSpec<S extends SchemaSource> {
  /** For the model. */
  readonly description?: string
  /** zod 4, another Standard Schema, or JSON Schema 2020-12. */
  readonly input: S
  readonly output?: SchemaSource
  readonly effect: EffectLevel
  readonly params?: { readonly [name: string]: ParameterRole }
  /** Default: `auto` for reads, `confirm` above. */
  readonly approval?: 'auto' | 'confirm'
  /** Default: the name. */
  readonly permission?: string
  /** Where `cx.fetch` may go: `api.vendor.example` or `*.vendor.example`, either with a `:port`. Default: nowhere. */
  readonly hosts?: readonly string[]
  /** Default 10 seconds. */
  readonly timeoutMs?: number
  /** Default `probe` when there is one; otherwise it must be said. */
  readonly unknown?: 'key' | 'probe' | 'manual'
  /** Default five minutes. */
  readonly confirmationMs?: number
  /** What the model reads of a result; default 64 kB. */
  readonly maxResultBytes?: number
  /** The result is a page: the members that hold its items and the cursor of the next one. */
  readonly page?: { readonly items: string; readonly next: string }
  /** The cursor that continues right behind this item: with it the model goes on where a page was cut. It looks nothing up. */
  readonly after?: (item: Json) => string
  /** Calls at once in one process; default 16. */
  readonly concurrency?: number
  /** What is stored of a larger result; default 256 MB. */
  readonly maxRawBytes?: number
  /** Capabilities whose credentials `cx.credential(…)` gives: `['payments']`. */
  readonly credentials?: readonly string[]
  /** `true`: `cx.folder()` gives the folder of the conversation. */
  readonly folder?: boolean
  /** Default: none. A call beyond it is `rate_limited`, before anything starts. */
  readonly rate?: Rate
  /** Reads only: tried again within `timeoutMs` when the thrown error is declared with the reaction `retry`. Default `none`. */
  readonly retry?: 'none' | { readonly attempts: number }
  readonly breaker?: Partial<BreakerLimits>
  readonly errors?: Taxonomy
  readonly ends?: 'handed_over'
  /** The name of the tool whose effects this one undoes: `'orders.charge'`, whatever its version was. */
  readonly compensates?: string
  /**
   * Whether this call undoes that effect, which one of this conversation did. Exactly one must be meant; without it the
   * only one is. It compares and looks nothing up.
   */
  readonly which?: (input: InputOf<S>, done: AnsweredEffect) => boolean
  /** Why a name that sounds irreversible is not. */
  readonly acknowledge?: string
  readonly waiver?: Waiver
  /** Anything but `true`, in time, refuses. */
  readonly authorize?: (input: InputOf<S>, cx: ToolContext) => boolean | Promise<boolean>
  readonly run?: (input: InputOf<S>, cx: ToolContext) => unknown
  readonly plan?: (input: InputOf<S>, cx: ToolContext) => Plan | Promise<Plan>
  readonly resourceVersion?: (input: InputOf<S>, cx: ToolContext) => string | Promise<string>
  readonly commit?: (input: InputOf<S>, cx: ToolContext) => unknown
  /** Asked by the key of the effect; the arguments come second because few providers need them. */
  readonly probe?: (cx: ToolContext, input: InputOf<S>) => ProbeOutcome | Promise<ProbeOutcome>
  /**
   * Asked when a wait that `run` or `commit` began with `later` is over: `arrived` is what was told, or null when the
   * time was. Returns the result, or `later` again. It only looks: after a crash it is asked again.
   */
  readonly resume?: (input: InputOf<S>, cx: ToolContext, arrived: Arrived | null) => unknown
}
