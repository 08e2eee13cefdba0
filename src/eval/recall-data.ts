/** Labelled questions over things that were said, as `npm run recall` reads them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { datesIn, dayOf } from '../memory/lex/dates.ts'

export interface RecallDoc {
  readonly id: string
  readonly scope: string
  readonly speaker?: string
  /** A date, or a time in milliseconds. */
  readonly at?: string | number
  readonly order?: number
  readonly text: string
}

export interface RecallQuery {
  readonly id: string
  readonly scope: string
  readonly text: string
  readonly category?: string
  readonly relevant: readonly string[]
}

export interface RecallData {
  readonly docs: readonly RecallDoc[]
  readonly queries: readonly RecallQuery[]
}

/** Null when the file cannot be read or has another shape. */
export function readDataset(file: string): RecallData | null {
  try {
    const data = JSON.parse(readFileSync(file, 'utf8')) as Partial<RecallData>
    const { docs, queries } = data
    if (!Array.isArray(docs) || !Array.isArray(queries)) return null
    const isDoc = (d: RecallDoc) => [d.id, d.scope, d.text].every((field) => typeof field === 'string')
    const isQuery = (q: RecallQuery) =>
      [q.id, q.scope, q.text].every((field) => typeof field === 'string') && Array.isArray(q.relevant)
    return docs.every(isDoc) && queries.every(isQuery) ? { docs, queries } : null
  } catch {
    return null
  }
}

interface Bank {
  readonly [user: string]: { readonly history: { readonly [day: string]: readonly Turn[] } }
}
interface Turn {
  readonly query: string
  readonly response: string
}

/** MemoryBank's Chinese conversations with the questions of `gold_cn.json`: a document is a turn with its answer. */
export function readMemoryBank(folder: string): RecallData | null {
  try {
    const read = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), 'utf8'))
    const bank = read('memory_bank_cn.json') as Bank
    const gold = read('gold_cn.json') as readonly { user: string; question: string; gold_turns: readonly number[] }[]
    const docs = Object.entries(bank).flatMap(([scope, { history }]) =>
      Object.entries(history)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .flatMap(([at, turns]) => turns.map((turn) => ({ at, text: `${turn.query}\n${turn.response}` })))
        .map((turn, order) => ({ id: `${scope}.${order}`, scope, order, ...turn })),
    )
    const queries = gold.map(({ user, question, gold_turns }, number) => ({
      id: `q${number}`,
      scope: user,
      text: question,
      relevant: gold_turns.map((turn) => `${user}.${turn}`),
    }))
    return { docs, queries }
  } catch {
    return null
  }
}

/** `2023-05-08` of a date in any form that people write; undefined without a whole one. */
export function dayText(at: string | number | undefined): string | undefined {
  if (at === undefined) return undefined
  if (typeof at === 'number') return new Date(at).toISOString().slice(0, 10)
  if (dayOf(at)) return at
  const whole = datesIn(at.toLowerCase()).find((day) => day.year && day.month && day.day)
  if (!whole) return undefined
  const two = (n: number | undefined) => String(n).padStart(2, '0')
  return `${whole.year ?? ''}-${two(whole.month)}-${two(whole.day)}`
}
