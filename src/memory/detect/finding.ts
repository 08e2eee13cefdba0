/** What a detector says. Never the text: where it stands, what class it is of, and which rule saw it (E5). */

/**
 * Rises when a rule changes: what was stored under a lower number is scanned again, and barred when it is hit (E5).
 */
export const DETECTORS = 1

export type FindingClass =
  | 'secret'
  | 'password'
  | 'card'
  | 'account'
  | 'identity_number'
  | 'special_category'
  | 'contact'
  | 'instruction'
  | 'hidden_text'
  | 'protected_key'
  | 'anomaly'

/** `reject`: never stored. `confirm`: stored after a person has confirmed it. */
export type Verdict = 'reject' | 'confirm'

/** By class: a special category is refused too, unless its key is registered for one. */
export const VERDICTS: Readonly<Record<FindingClass, Verdict>> = Object.freeze({
  secret: 'reject',
  password: 'reject',
  card: 'reject',
  account: 'reject',
  identity_number: 'reject',
  special_category: 'confirm',
  contact: 'confirm',
  instruction: 'reject',
  hidden_text: 'reject',
  protected_key: 'reject',
  anomaly: 'reject',
})

export interface Finding {
  readonly class: FindingClass
  readonly verdict: Verdict
  /** UTF-16 units of the text as given, end exclusive. */
  readonly span: readonly [start: number, end: number]
  /** Stable name: `password.assigned`. */
  readonly rule: string
}

/** A pattern and what it says. `test` judges what a pattern cannot: checksums, entropy, words that mean nothing. */
export interface Rule {
  readonly name: string
  readonly class: FindingClass
  /** Always global. Quantifiers are bounded, so that no text takes long (a test reads every rule). */
  readonly pattern: RegExp
  readonly test?: (match: RegExpExecArray) => boolean
}

/** Where something was found, in units of the text that was searched. */
export interface Hit {
  readonly rule: string
  readonly class: FindingClass
  readonly start: number
  readonly end: number
}

/** Every rule over one text; one hit per rule is enough, because one is enough to refuse. */
export function search(rules: readonly Rule[], text: string): Hit[] {
  return rules.flatMap((rule) => {
    for (const match of text.matchAll(rule.pattern)) {
      if (match[0].length > 0 && rule.test?.(match) !== false)
        return [{ rule: rule.name, class: rule.class, start: match.index, end: match.index + match[0].length }]
    }
    return []
  })
}
