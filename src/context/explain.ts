/**
 * Why a context is as it is (C7): decided again from the messages, with names and counts and no values.
 */
import { assemble, type Assembled, type Context, type Part, type Section } from './assemble.ts'
import type { MediaKind } from '../kernel/media.ts'
import { partName, partsIn } from './media.ts'
import { nameOf, type TranscriptMessage } from './message.ts'
import { unitsOf } from './unit.ts'

/** `unpaired`: it lost its other half or was cut off while it was said. `summarised`: a summary stands for it. */
export type LeftWhy = 'unpaired' | 'summarised' | 'old_talk' | 'less_relevant' | 'earlier_step'

export interface Explanation {
  /** Of the whole request, rules and tools included, and what it may have. */
  readonly tokens: number
  readonly limit: number
  /** What may not be left out is larger than the window: nothing is sent. */
  readonly overflows: boolean
  /** How often the conversation was cut so far. */
  readonly cuts: number
  readonly sections: readonly { readonly section: Section; readonly tokens: number; readonly messages: number }[]
  /** In the order of the request, behind the rules. `message` is null for what is none; `of`: its tokens before it was cut. */
  readonly sent: readonly {
    readonly message: string | null
    readonly section: Section
    readonly role: string
    readonly tokens: number
    readonly of: number | null
  }[]
  /** Pictures, documents and sounds of the conversation; `sent`: the request refers to it, if its bytes are still there. */
  readonly media: readonly {
    readonly part: string
    readonly kind: MediaKind
    readonly tokens: number
    readonly sent: boolean
  }[]
  readonly left: readonly { readonly message: string; readonly tokens: number; readonly why: LeftWhy }[]
  readonly remembered: readonly { readonly id: string; readonly version: number }[]
  readonly summaries: readonly string[]
  /** The approved procedures among the rules, in their order. */
  readonly procedures: readonly { readonly name: string; readonly version: number }[]
  /** What the call before has sent in the same words; null before the first. A share is from 0 to 1. */
  readonly prefix: { readonly messages: number; readonly tokens: number; readonly share: number } | null
}

/** Why the context of this step of `run` is as it is; steps count from 1, and each is one call of the model. */
export function explain(context: Context, run: string, step: number): Explanation {
  const end = context.transcript.findIndex((m) => m.run === run && m.step >= step)
  const given = { ...context, transcript: end === -1 ? context.transcript : context.transcript.slice(0, end) }
  const of = assemble(given)
  const before = callBefore(given)
  return {
    tokens: of.tokens,
    limit: context.limits.most,
    overflows: of.overflows,
    cuts: of.cuts,
    sections: sectionsOf(of, context.fixedTokens),
    sent: of.parts.map(({ from, section, message, tokens }) => ({
      message: from && nameOf(from),
      section,
      role: message.role,
      tokens,
      of: from && wholeOf(given, from) !== tokens ? wholeOf(given, from) : null,
    })),
    media: mediaOf(given, of),
    left: leftOf(given, of),
    remembered: of.remembered.map(({ id, version }) => ({ id, version })),
    summaries: of.summaries.map(({ id }) => id),
    procedures: (context.rules ?? []).map(({ name, version }) => ({ name, version })),
    prefix: before && sharedPrefix(assemble(before), of, context.fixedTokens),
  }
}

/** What two requests have in common from their first message on; the rules and tools are the same in both. */
export function sharedPrefix(before: Assembled, after: Assembled, fixedTokens: number): Explanation['prefix'] {
  const same = (a: Part, b: Part | undefined): boolean =>
    JSON.stringify([a.message, a.media]) === JSON.stringify([b?.message, b?.media])
  const differs = after.parts.findIndex((part, at) => !same(part, before.parts[at]))
  const shared = differs === -1 ? after.parts : after.parts.slice(0, differs)
  const tokens = shared.reduce((all, p) => all + p.tokens, fixedTokens)
  return { messages: shared.length, tokens, share: after.tokens === 0 ? 1 : Math.min(1, tokens / after.tokens) }
}

/** The conversation as the model heard it before its last answer. */
function callBefore(context: Context): Context | null {
  const last = context.transcript.findLastIndex((m) => m.body.role === 'assistant')
  return last === -1 ? null : { ...context, transcript: context.transcript.slice(0, last) }
}

function sectionsOf({ parts }: Assembled, fixedTokens: number): Explanation['sections'] {
  const names = [...new Set(parts.map((p) => p.section))]
  const others = names.map((section) => {
    const own = parts.filter((p) => p.section === section)
    return { section, tokens: own.reduce((all, p) => all + p.tokens, 0), messages: own.length }
  })
  return [{ section: 'rules', tokens: fixedTokens, messages: 1 }, ...others]
}

const wholeOf = ({ transcript }: Context, { run, seq, tokens }: TranscriptMessage): number =>
  transcript.find((m) => m.run === run && m.seq === seq)?.tokens ?? tokens

function mediaOf({ transcript }: Context, { parts }: Assembled): Explanation['media'] {
  const sent = new Set(parts.flatMap(({ from, media = [] }) => (from ? media.map((part) => partName(from, part)) : [])))
  return transcript.flatMap((m) =>
    partsIn(m).map((part) => {
      const name = partName(m, part)
      return { part: name, kind: part.kind, tokens: part.tokens, sent: sent.has(name) }
    }),
  )
}

function leftOf({ transcript, summaries }: Context, { parts }: Assembled): Explanation['left'] {
  const there = new Set(parts.flatMap((p) => (p.from ? [nameOf(p.from)] : [])))
  const through = transcript.findIndex((m) => nameOf(m) === summaries.at(-1)?.through)
  const asked = transcript.findLastIndex((m) => m.body.role === 'user')
  let at = -1
  return unitsOf(transcript).flatMap(({ kind, messages }) => {
    at += messages.length
    const why: LeftWhy =
      at <= through
        ? 'summarised'
        : kind === 'broken'
          ? 'unpaired'
          : at > asked
            ? 'earlier_step'
            : kind === 'text'
              ? 'old_talk'
              : 'less_relevant'
    return messages.filter((m) => !there.has(nameOf(m))).map((m) => ({ message: nameOf(m), tokens: m.tokens, why }))
  })
}
