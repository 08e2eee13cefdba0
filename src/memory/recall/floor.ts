/**
 * What is near enough to a question to be put before a model (F8). Recall itself always answers with min(k, eligible)
 * memories; whoever injects takes those above the floor of a leg, and none when there is none.
 */

/**
 * Of the words of the question, by their weight, how much the memory has. Measured on one set, in Chinese: see docs/design/recall.md.
 */
const LEXICAL_FLOOR = 0.2

export interface Scores {
  readonly lexical: number
  readonly semantic: number
}

/** @param semanticFloor of the embedder in use; a leg without a measured floor lets nothing in by itself */
export const isRelevant = ({ lexical, semantic }: Scores, semanticFloor = Number.POSITIVE_INFINITY): boolean =>
  lexical >= LEXICAL_FLOOR || semantic >= semanticFloor
