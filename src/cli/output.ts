/** What a command says: its result on standard output, notes on standard error; with `--json` one object and no more. */
import { EXIT, Fault, FAULTS } from '../kernel/fault.ts'
import { jsonLine, visible } from './visible.ts'

export interface Output {
  readonly isJson: boolean
  /** Lines for people: the result, or with `--json` a note. Data in it is already `visible`. */
  show(...lines: readonly string[]): void
  /** Never part of the result. */
  note(...lines: readonly string[]): void
  /** The result for programs: called once, at the end. */
  result(value: Readonly<Record<string, unknown>>): void
}

export function output(isJson: boolean): Output {
  const note = (...lines: readonly string[]): void => void process.stderr.write(lines.map((l) => `${l}\n`).join(''))
  return {
    isJson,
    note,
    show: isJson ? note : (...lines) => void process.stdout.write(lines.map((l) => `${l}\n`).join('')),
    result: (value) => void (isJson && process.stdout.write(`${jsonLine(value)}\n`)),
  }
}

/** `plimsoll: <cause> <next step> [code]`, the whole of what a failure prints, and its exit code. */
export function failure(error: unknown): { readonly line: string; readonly exit: number; readonly code: string } {
  const fault = Fault.is(error) ? error : new Fault('internal', undefined, { cause: error })
  const { next, exit } = FAULTS[fault.code]
  const fields = fault.code === 'invalid_definition' ? [] : fault.errors.map((e) => `${e.path} ${e.message}.`)
  const cause = visible([fault.message.replace(/\s*\n\s*/g, ' '), ...fields].join(' '))
  // a definition names its mending itself
  const step = fault.code === 'invalid_definition' && cause.includes(' Fix: ') ? '' : `${next} `
  return { line: `plimsoll: ${cause} ${step}[${fault.code}]`, exit, code: fault.code }
}

/** A wrong word on the command line. */
export const usage = (cause: string, next: string | null = null): UsageError =>
  Object.assign(new Error(cause), { name: 'UsageError' as const, next, exit: EXIT.usage })

export interface UsageError extends Error {
  readonly name: 'UsageError'
  /** Null: the help of the command. */
  readonly next: string | null
}

export const isUsage = (error: unknown): error is UsageError => error instanceof Error && error.name === 'UsageError'

/** Rows in columns as wide as their widest cell. */
export function table(head: readonly string[], rows: readonly (readonly unknown[])[]): string[] {
  const cells = rows.map((row) =>
    row.map((cell) =>
      cell === null || cell === undefined ? '–' : visible(typeof cell === 'string' ? cell : JSON.stringify(cell)),
    ),
  )
  const widths = head.map((name, i) => Math.max(name.length, ...cells.map((row) => row[i]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd()
  return [line(head.map((name) => name.toUpperCase())), ...cells.map(line)]
}
