/** What the models of this process count of our estimates, each by its id. Nothing of it is stored: a process learns anew. */
import { type Factor, learned, NO_FACTOR } from '../context/correction.ts'

export interface Factors {
  of(model: string): Factor
  learn(model: string, seen: Parameters<typeof learned>[1]): void
}

export function openFactors(): Factors {
  const factors = new Map<string, Factor>()
  const of = (model: string): Factor => factors.get(model) ?? NO_FACTOR
  return { of, learn: (model, seen) => void factors.set(model, learned(of(model), seen)) }
}
