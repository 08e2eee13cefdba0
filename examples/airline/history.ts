/**
 * Which recorded answer follows a history, judged by what a model can see of it.
 *
 * Two histories are the same when roles, texts, calls (name, arguments by value) and results (by value) are the same in
 * order. The system message and the ids that pair calls with results do not count: ids repeat in the recordings.
 */
import { createHash } from 'node:crypto'
import type { Conversation, RecordedMessage } from './conversations.ts'
import { canonical, valueOfText } from './value.ts'

/** A message of the chat completions protocol, as far as it matters here. */
export type WireMessage = {
  readonly role: string
  readonly content?: string | null | readonly { readonly type?: string; readonly text?: string }[]
  readonly tool_calls?: readonly {
    readonly id?: string
    readonly function?: { readonly name?: string; readonly arguments?: string }
  }[]
  readonly tool_call_id?: string
}

/** A place in a recording: the message at `position` comes next. */
export type Place = { readonly conversation: string; readonly position: number }

export type Match =
  | ({ readonly kind: 'answer'; readonly message: RecordedMessage & { readonly role: 'assistant' } } & Place)
  /** The history is all there is: the recording has no answer to it. */
  | ({ readonly kind: 'ended' } & Place)
  /** The longest known beginning, and the role of the first message beyond it; null where a known history waits for no model. */
  | ({ readonly kind: 'differs'; readonly role: string | null } & Place)
  /** Recordings answer it in different ways and the caller did not say which one is meant. */
  | { readonly kind: 'ambiguous' }

export interface HistoryIndex {
  /** `conversation`: decides where equal histories go on differently. */
  find(messages: readonly WireMessage[], conversation?: string): Match
  /** Histories that several recordings share, and those of them with different answers. */
  readonly shared: number
  readonly ambiguous: number
  /** The conversations that have such a history. */
  readonly sharing: readonly string[]
}

export function indexHistories(conversations: readonly Conversation[]): HistoryIndex {
  const places = new Map<string, Place[]>()
  const recorded = new Map(conversations.map((conversation) => [conversation.id, conversation.messages]))
  for (const { id, messages } of conversations) {
    for (const [position, hash] of prefixHashes(messages).entries()) {
      const place = { conversation: id, position }
      const known = places.get(hash)
      if (known) known.push(place)
      else places.set(hash, [place])
    }
  }
  const nextOf = ({ conversation, position }: Place) => recorded.get(conversation)?.[position]
  const waiting = [...places.values()].filter((found) => found.some((place) => nextOf(place)?.role === 'assistant'))
  const shared = waiting.filter((found) => found.length > 1)

  function find(messages: readonly WireMessage[], conversation?: string): Match {
    const hashes = prefixHashes(messages)
    const found = places.get(hashes.at(-1) ?? '')
    if (!found) return beyond(messages, hashes)
    const meant = found.filter((place) => place.conversation === conversation)
    const candidates = meant.length > 0 ? meant : found
    if (answersOf(candidates).size > 1) return { kind: 'ambiguous' }
    const place = candidates[0] ?? NOWHERE
    const message = nextOf(place)
    if (message?.role === 'assistant') return { kind: 'answer', message, ...place }
    return message ? { kind: 'differs', role: null, ...place } : { kind: 'ended', ...place }
  }

  function beyond(messages: readonly WireMessage[], hashes: readonly string[]): Match {
    const known = hashes.findLastIndex((hash) => places.has(hash))
    const place = places.get(hashes[known] ?? '')?.[0] ?? NOWHERE
    return { kind: 'differs', role: visible(messages)[known]?.role ?? null, ...place }
  }

  const answersOf = (found: readonly Place[]) => new Set(found.map((place) => canonical(seen(nextOf(place), []))))
  return {
    find,
    shared: shared.length,
    ambiguous: shared.filter((found) => answersOf(found).size > 1).length,
    sharing: [...new Set(shared.flatMap((found) => found.map(({ conversation }) => conversation)))].sort(),
  }
}

const NOWHERE: Place = { conversation: '', position: 0 }

/** One hash per beginning of the history, the empty one first. */
function prefixHashes(messages: readonly WireMessage[]): readonly string[] {
  const shown = visible(messages)
  const hashes = ['']
  for (const [at, message] of shown.entries()) {
    const text = `${hashes.at(-1)}${canonical(seen(message, shown.slice(0, at)))}`
    hashes.push(createHash('sha256').update(text).digest('hex'))
  }
  return hashes
}

function visible(messages: readonly WireMessage[]): readonly WireMessage[] {
  return messages.filter((message) => message.role !== 'system' && message.role !== 'developer')
}

function seen(message: WireMessage | undefined, before: readonly WireMessage[]): unknown {
  if (!message) return null
  if (message.role !== 'tool') {
    const calls = (message.tool_calls ?? []).map((call) => [
      call.function?.name,
      valueOfText(call.function?.arguments ?? ''),
    ])
    return [message.role, textOf(message), calls]
  }
  return ['tool', pairOf(message, before), valueOfText(textOf(message))]
}

/** Which call of the last message with calls this result answers; -1 where it answers none of them. */
function pairOf(result: WireMessage, before: readonly WireMessage[]): number {
  const asked = before.findLast((message) => message.role === 'assistant')
  return asked?.tool_calls?.findIndex((call) => call.id === result.tool_call_id) ?? -1
}

function textOf({ content }: WireMessage): string {
  if (typeof content === 'string') return content
  return content?.map((part) => part.text ?? '').join('') ?? ''
}
