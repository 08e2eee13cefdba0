/** A file of ugly inputs, and what a judge of one surface says about each. */
import { createContext, runInContext } from 'node:vm'

/** `verdict` is what the file expects; `gen` is a JavaScript expression for texts too large to write down. */
export interface InputCase {
  readonly id: string
  readonly surface: string
  readonly name: string
  readonly raw?: unknown
  readonly gen?: string
  readonly verdict: string
}

/** `as_expected`, `skipped`, or a sentence that says what went wrong. */
export type Judge = (given: InputCase) => string | Promise<string>

export interface Judgement {
  readonly cases: number
  readonly asExpected: number
  readonly skipped: number
  readonly failures: readonly {
    readonly id: string
    readonly surface: string
    readonly name: string
    readonly reason: string
  }[]
}

/** Long enough for a text of a few hundred megabytes. */
const GENERATE_MS = 5_000

/** The input itself. An expression of the file sees the language and nothing of this process. */
export function inputText(given: InputCase): string {
  if (given.gen !== undefined) {
    return String(runInContext(given.gen, createContext(Object.create(null) as object), { timeout: GENERATE_MS }))
  }
  return typeof given.raw === 'string' ? given.raw : JSON.stringify(given.raw)
}

/**
 * Judges every case by its surface. `behaviour` cases are tests of their own, and a surface without a judge is skipped:
 * both are counted. A judge that throws is a failure of the case.
 */
export async function judgeAll(
  cases: readonly InputCase[],
  judges: Readonly<Record<string, Judge>>,
): Promise<Judgement> {
  let asExpected = 0
  let skipped = 0
  const failures: { id: string; surface: string; name: string; reason: string }[] = []
  for (const given of cases) {
    const judge = Object.hasOwn(judges, given.surface) ? judges[given.surface] : undefined
    const said = given.verdict === 'behaviour' || !judge ? 'skipped' : await judged(judge, given)
    if (said === 'as_expected') asExpected++
    else if (said === 'skipped') skipped++
    else failures.push({ id: given.id, surface: given.surface, name: given.name, reason: said })
  }
  return { cases: cases.length, asExpected, skipped, failures }
}

async function judged(judge: Judge, given: InputCase): Promise<string> {
  try {
    return await judge(given)
  } catch (error) {
    return `the judge threw ${error instanceof Error ? error.name : typeof error}`
  }
}
