/** What a tool says and the world after it. A refusal by a rule is a normal result and changes nothing. */
import type { Json } from '../../../src/kernel/json.ts'
import type { World } from './world.ts'

export type Answer = { readonly world: World; readonly result: Json; readonly refused: boolean }

export function answered(world: World, result: Json): Answer {
  return { world, result, refused: false }
}

/** `text` starts with `Error: `. */
export function refused(world: World, text: string): Answer {
  return { world, result: text, refused: true }
}
