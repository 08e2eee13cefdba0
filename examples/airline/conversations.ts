/**
 * Recorded conversations, cut into turns.
 *
 * A turn is a user message that the recorded agent answered, with everything up to the next user message: it becomes
 * one run. The last user message of most conversations has no answer; it is the closer and becomes no run.
 */
import type { JsonObject } from '../../src/kernel/json.ts'
import { canonical } from './value.ts'

type RecordedToolCall = {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}
export type RecordedMessage =
  | { readonly role: 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string | null; readonly tool_calls?: readonly RecordedToolCall[] }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly name: string; readonly content: string }

/** One call with the text that the recorded tool answered. */
export type RecordedCall = {
  readonly providerId: string
  readonly name: string
  readonly args: JsonObject
  readonly result: string
}

type TurnEnd = 'text' | 'transfer' | 'tool_result'

export type Turn = {
  readonly user: string
  /** What the agent and its tools said, in order. */
  readonly messages: readonly RecordedMessage[]
  readonly calls: readonly RecordedCall[]
  readonly end: TurnEnd
}

export type Conversation = {
  readonly id: string
  /** Index into the tasks. */
  readonly task: number
  readonly trial: number
  readonly reward: number
  readonly messages: readonly RecordedMessage[]
  readonly turns: readonly Turn[]
  /** The last user message where nobody answered it. */
  readonly closer: string | null
}

/** `lines`: JSON lines of `{id, task, trial, reward, messages}`. */
export function conversationsOf(lines: string): readonly Conversation[] {
  return lines
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const recorded = JSON.parse(line) as Omit<Conversation, 'turns' | 'closer'>
      return { ...recorded, ...turnsOf(recorded.messages) }
    })
}

function turnsOf(messages: readonly RecordedMessage[]): { turns: readonly Turn[]; closer: string | null } {
  const turns: Turn[] = []
  let closer: string | null = null
  for (const [at, message] of messages.entries()) {
    if (message.role !== 'user') continue
    const rest = messages.slice(at + 1)
    const next = rest.findIndex((other) => other.role === 'user')
    const answer = next < 0 ? rest : rest.slice(0, next)
    const last = answer.at(-1)
    if (last) turns.push({ user: message.content, messages: answer, calls: callsOf(answer), end: endOf(last) })
    else closer = message.content
  }
  return { turns, closer }
}

/** The n-th result belongs to the n-th call: provider ids repeat and cannot pair them. */
function callsOf(messages: readonly RecordedMessage[]): readonly RecordedCall[] {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
  const results = messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []))
  return calls.map((call, at) => ({
    providerId: call.id,
    name: call.function.name,
    args: JSON.parse(call.function.arguments) as JsonObject,
    result: results[at] ?? '',
  }))
}

function endOf(last: RecordedMessage): TurnEnd {
  if (last.role !== 'tool') return 'text'
  return last.name === 'transfer_to_human_agents' ? 'transfer' : 'tool_result'
}

export type Counts = {
  readonly conversations: number
  readonly userMessages: number
  readonly turns: number
  readonly ends: { readonly [end in TurnEnd]: number }
  readonly closers: number
  readonly stopClosers: number
  readonly calls: number
  readonly textBesideCall: number
  /** Conversations, and runs, in which a provider call id occurs twice. */
  readonly conversationsRepeatingIds: number
  readonly turnsRepeatingIds: number
  readonly longestTurn: number
  /** The most equal calls, and equal refusals, that one run holds. */
  readonly mostEqualCalls: number
  readonly mostEqualRefusals: number
  readonly rewarded: number
}

export function countsOf(conversations: readonly Conversation[]): Counts {
  const turns = conversations.flatMap((conversation) => conversation.turns)
  const messages = conversations.flatMap((conversation) => conversation.messages)
  const ended = (end: TurnEnd) => turns.filter((turn) => turn.end === end).length
  const closers = conversations.flatMap(({ closer }) => (closer === null ? [] : [closer]))
  return {
    conversations: conversations.length,
    userMessages: messages.filter((message) => message.role === 'user').length,
    turns: turns.length,
    ends: { text: ended('text'), transfer: ended('transfer'), tool_result: ended('tool_result') },
    closers: closers.length,
    stopClosers: closers.filter((text) => text.includes('###STOP###')).length,
    calls: turns.reduce((sum, turn) => sum + turn.calls.length, 0),
    textBesideCall: messages.filter((message) => message.role === 'assistant' && message.tool_calls && message.content)
      .length,
    conversationsRepeatingIds: conversations.filter(({ turns }) => repeatsId(turns.flatMap(({ calls }) => calls)))
      .length,
    turnsRepeatingIds: turns.filter(({ calls }) => repeatsId(calls)).length,
    longestTurn: Math.max(0, ...turns.map(({ calls }) => calls.length)),
    mostEqualCalls: most(turns, ({ name, args }) => `${name} ${canonical(args)}`),
    mostEqualRefusals: most(turns, ({ name, result }) => (result.startsWith('Error: ') ? `${name} ${result}` : null)),
    rewarded: conversations.filter(({ reward }) => reward === 1).length,
  }
}

function repeatsId(calls: readonly RecordedCall[]): boolean {
  return new Set(calls.map((call) => call.providerId)).size < calls.length
}

function most(turns: readonly Turn[], keyOf: (call: RecordedCall) => string | null): number {
  const counts = turns.flatMap(({ calls }) => {
    const seen = new Map<string, number>()
    for (const key of calls.map(keyOf)) if (key !== null) seen.set(key, (seen.get(key) ?? 0) + 1)
    return [...seen.values()]
  })
  return Math.max(0, ...counts)
}
