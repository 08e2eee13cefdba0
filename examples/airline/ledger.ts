/** The provider's own record: JSON lines, appended and never changed. Arguments appear as a hash only. */

type Line = {
  /** ISO time. */
  readonly at: string
  readonly conversation: string
  readonly tool: string
  readonly key: string | null
  readonly argsHash: string
}

/** One per request. `status` is the HTTP status; `answered` is false where a planted fault swallowed the answer. */
type RequestLine = Line & {
  readonly kind: 'request'
  readonly status: number
  readonly replayed: boolean
  readonly answered: boolean
}
/** One per write that was carried out. */
export type EffectLine = Line & { readonly kind: 'effect'; readonly changed: boolean }
export type LedgerLine = RequestLine | EffectLine

export type LedgerTotals = {
  readonly requests: number
  readonly replayed: number
  readonly conflicts: number
  readonly unanswered: number
  readonly effects: number
  readonly unchanged: number
}

export function lineText(line: LedgerLine): string {
  return `${JSON.stringify(line)}\n`
}

/** The whole lines of a log. A last line without its end was being written when the process died. */
export function linesOf(log: string): readonly LedgerLine[] {
  return log
    .slice(0, log.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LedgerLine)
}

export function effectsOf(lines: readonly LedgerLine[]): readonly EffectLine[] {
  return lines.filter((line) => line.kind === 'effect')
}

export function totalsOf(lines: readonly LedgerLine[]): LedgerTotals {
  const requests = lines.filter((line) => line.kind === 'request')
  const effects = effectsOf(lines)
  return {
    requests: requests.length,
    replayed: requests.filter((line) => line.replayed).length,
    conflicts: requests.filter((line) => line.status === 409).length,
    unanswered: requests.filter((line) => !line.answered).length,
    effects: effects.length,
    unchanged: effects.filter((line) => !line.changed).length,
  }
}
