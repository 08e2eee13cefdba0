/** A conversation's recorded calls, applied to the rules: what the right results, effects and final state are. */
import type { Json, JsonObject } from '../../src/kernel/json.ts'
import type { Conversation } from './conversations.ts'
import { isWrite, ruleOf } from './rules/tools.ts'
import { type Base, type Changes, changesOf, type World, worldOf } from './rules/world.ts'
import { hashOf, sameValue } from './value.ts'

type Applied = {
  readonly world: World
  readonly result: Json
  /** A write that no rule refused. */
  readonly effect: boolean
  /** Whether the effect changed anything by value. */
  readonly changed: boolean
}

/** Null when there is no such tool or the arguments have not its shape. */
export function applyCall(world: World, tool: string, args: JsonObject): Applied | null {
  const answer = ruleOf(tool)?.apply(world, args)
  if (!answer) return null
  const effect = isWrite(tool) && !answer.refused
  const changed = effect && !sameValue(changesOf(world), changesOf(answer.world))
  return { world: answer.world, result: answer.result, effect, changed }
}

type ReplayedCall = {
  readonly tool: string
  readonly argsHash: string
  readonly recorded: string
  readonly result: Json
  readonly effect: boolean
  readonly changed: boolean
}

export type Replay = { readonly calls: readonly ReplayedCall[]; readonly changes: Changes }

/** Throws where a recorded call has not the shape of its tool: then the recording is not of these tools. */
export function replay(base: Base, conversation: Conversation): Replay {
  let world = worldOf(base)
  const calls: ReplayedCall[] = []
  for (const { name, args, result } of conversation.turns.flatMap((turn) => turn.calls)) {
    const applied = applyCall(world, name, args)
    if (!applied) throw new Error(`${conversation.id} calls ${name} with arguments that it does not take`)
    world = applied.world
    calls.push({
      tool: name,
      argsHash: hashOf(args),
      recorded: result,
      result: applied.result,
      effect: applied.effect,
      changed: applied.changed,
    })
  }
  return { calls, changes: changesOf(world) }
}
