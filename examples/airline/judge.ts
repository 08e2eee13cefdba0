/**
 * What a replay through the runtime did to the airline, against what the recording did.
 *
 * The judge believes the provider's log and state only, never the runtime's own account of them.
 */
import type { Conversation } from './conversations.ts'
import { replay } from './replay.ts'
import type { Base, Changes } from './rules/world.ts'
import { sameValue } from './value.ts'

/** An effect as the provider logged it. */
export type LoggedEffect = { readonly conversation: string; readonly tool: string; readonly argsHash: string }
export type Task = { readonly expectedChanges: Changes }

export type Judgement = {
  readonly conversations: number
  /** Writes that the provider accepted. */
  readonly effects: number
  /** Applied more often than the recording accepts, per conversation, tool and arguments. */
  readonly duplicateEffects: number
  readonly missingEffects: number
  /** Conversations whose changes equal those of the recorded writes. */
  readonly finalStateEqual: number
  readonly finalStateDifferent: number
  /** Conversations with reward 1 whose changes equal the task's. */
  readonly rewardedEqual: number
  /** Ids of conversations that are not as recorded. */
  readonly differing: readonly string[]
}

/** `changes`: by conversation id, as the provider reports them; absent means that nothing changed. */
export function judge(input: {
  readonly base: Base
  readonly conversations: readonly Conversation[]
  readonly effects: readonly LoggedEffect[]
  readonly changes: ReadonlyMap<string, Changes>
  readonly tasks?: readonly Task[]
  /** Conversations that were stopped: they may have done less than was recorded, never more. */
  readonly stopped?: readonly string[]
}): Judgement {
  let [duplicateEffects, missingEffects, finalStateEqual, rewardedEqual] = [0, 0, 0, 0]
  const differing: string[] = []
  const known = new Set(input.conversations.map(({ id }) => id))
  // an effect outside every conversation is one that nobody asked for
  duplicateEffects += input.effects.filter(({ conversation }) => !known.has(conversation)).length
  const applied = groupedBy(input.effects, ({ conversation }) => conversation)

  const stopped = new Set(input.stopped)

  for (const conversation of input.conversations) {
    const expected = replay(input.base, conversation)
    const { more, fewer } = compared(
      countsOf(applied.get(conversation.id) ?? []),
      countsOf(expected.calls.filter(({ effect }) => effect)),
    )
    duplicateEffects += more
    if (stopped.has(conversation.id)) {
      if (more > 0) differing.push(conversation.id)
      continue
    }
    missingEffects += fewer
    const changes = input.changes.get(conversation.id) ?? {}
    const equal = sameValue(changes, expected.changes)
    if (equal) finalStateEqual++
    if (!equal || more > 0 || fewer > 0) differing.push(conversation.id)
    const wanted = input.tasks?.[conversation.task]?.expectedChanges
    if (conversation.reward === 1 && wanted && sameValue(changes, wanted)) rewardedEqual++
  }
  const whole = input.conversations.filter(({ id }) => !stopped.has(id)).length
  return {
    conversations: whole,
    effects: input.effects.filter(({ conversation }) => !stopped.has(conversation)).length,
    duplicateEffects,
    missingEffects,
    finalStateEqual,
    finalStateDifferent: whole - finalStateEqual,
    rewardedEqual,
    differing,
  }
}

function groupedBy<T>(values: readonly T[], keyOf: (value: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>()
  for (const value of values) {
    const group = groups.get(keyOf(value))
    if (group) group.push(value)
    else groups.set(keyOf(value), [value])
  }
  return groups
}

function countsOf(
  effects: readonly { readonly tool: string; readonly argsHash: string }[],
): ReadonlyMap<string, number> {
  const groups = groupedBy(effects, ({ tool, argsHash }) => `${tool} ${argsHash}`)
  return new Map([...groups].map(([effect, group]) => [effect, group.length]))
}

function compared(
  actual: ReadonlyMap<string, number>,
  expected: ReadonlyMap<string, number>,
): { readonly more: number; readonly fewer: number } {
  let [more, fewer] = [0, 0]
  for (const effect of new Set([...actual.keys(), ...expected.keys()])) {
    const difference = (actual.get(effect) ?? 0) - (expected.get(effect) ?? 0)
    if (difference > 0) more += difference
    else fewer -= difference
  }
  return { more, fewer }
}
