/**
 * The airline behind the wire: one world per conversation, and one answer per idempotency key.
 *
 * A write is executed once per (conversation, key) and its answer, a refusal by a rule included, is kept for repeats.
 * Cancelling has no key and is executed each time, as at a vendor that offers none.
 */
import { createHash } from 'node:crypto'
import type { Json, JsonObject } from '../../src/kernel/json.ts'
import { applyCall } from './replay.ts'
import { isWrite, ruleOf } from './rules/tools.ts'
import { type Base, type World, worldOf } from './rules/world.ts'
import { hashOf } from './value.ts'

export type ToolRequest = {
  readonly conversation: string
  readonly tool: string
  readonly args: JsonObject
  readonly key: string | null
}

export type Refusal = 'unknown_tool' | 'invalid_arguments' | 'idempotency_key_missing' | 'idempotency_key_reused'

export type Reply =
  | { readonly refusal: Refusal }
  | {
      readonly result: Json
      readonly replayed: boolean
      /** Null for a read, a refusal by a rule and a repeat. */
      readonly effect: { readonly changed: boolean } | null
      /** A planted fault: the work is done and the caller never hears of it. */
      readonly unanswered: boolean
    }

export type Answered = { readonly tool: string; readonly result: Json; readonly effect: boolean }

export interface Book {
  receive(request: ToolRequest): Reply
  /** The kept answer of a write, for a caller that does not know whether it happened. */
  findByKey(conversation: string, key: string): Answered | undefined
  world(conversation: string): World
  conversations(): readonly string[]
}

const WITHOUT_KEY = 'cancel_reservation'

/** `timeoutShare`: the share of writes, from 0 to 1, whose first execution is not answered. */
export function openBook(base: Base, timeoutShare = 0): Book {
  const worlds = new Map<string, World>()
  const answers = new Map<string, Answered & { readonly argsHash: string }>()
  const occurrences = new Map<string, number>()
  const world = (conversation: string) => worlds.get(conversation) ?? worldOf(base)
  const slot = (conversation: string, key: string) => JSON.stringify([conversation, key])

  /** The same writes of a recording are left unanswered in every replay of it, whatever their keys. */
  function leavesUnanswered(conversation: string, tool: string, argsHash: string): boolean {
    const call = `${conversation} ${tool} ${argsHash}`
    const occurrence = occurrences.get(call) ?? 0
    occurrences.set(call, occurrence + 1)
    if (tool === WITHOUT_KEY && occurrence > 0) return false
    return shareOf(`${call} ${occurrence}`) < timeoutShare
  }

  function receive({ conversation, tool, args, key }: ToolRequest): Reply {
    if (!ruleOf(tool)) return { refusal: 'unknown_tool' }
    const write = isWrite(tool)
    const keyed = write && tool !== WITHOUT_KEY
    if (keyed && key === null) return { refusal: 'idempotency_key_missing' }
    const argsHash = hashOf(args)
    const kept = keyed && key !== null ? answers.get(slot(conversation, key)) : undefined
    if (kept) {
      if (kept.tool !== tool || kept.argsHash !== argsHash) return { refusal: 'idempotency_key_reused' }
      return { result: kept.result, replayed: true, effect: null, unanswered: false }
    }
    const applied = applyCall(world(conversation), tool, args)
    if (!applied) return { refusal: 'invalid_arguments' }
    worlds.set(conversation, applied.world)
    if (keyed && key !== null) {
      answers.set(slot(conversation, key), { tool, argsHash, result: applied.result, effect: applied.effect })
    }
    return {
      result: applied.result,
      replayed: false,
      effect: applied.effect ? { changed: applied.changed } : null,
      unanswered: write && leavesUnanswered(conversation, tool, argsHash),
    }
  }

  return {
    receive,
    findByKey: (conversation, key) => answers.get(slot(conversation, key)),
    world,
    conversations: () => [...worlds.keys()],
  }
}

/** A number in [0, 1) that depends on the text alone. */
function shareOf(text: string): number {
  return createHash('sha256').update(text).digest().readUIntBE(0, 6) / 2 ** 48
}
