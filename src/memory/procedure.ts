/**
 * A rule that was learned: a text with a name and a version. It is proposed from experience, evaluated, approved by an operator,
 * and only then in a prompt (E16). What a run has written is never one.
 */
import type { ContentKeys } from '../db/seal.ts'
import { hashJson } from '../kernel/canonical.ts'
import { Fault, type FieldError } from '../kernel/fault.ts'
import type { Id } from '../kernel/ids.ts'
import type { Finding } from './detect/finding.ts'
import type { MemoryId } from './entry.ts'

export type ProcedureId = Id<'prc'>
/** `retired`: it was a rule. `declined`: it never was one. */
export type ProcedureStatus = 'proposed' | 'evaluated' | 'approved' | 'retired' | 'declined'

/** A rule as a run keeps it. */
export interface Rule {
  readonly id: ProcedureId
  readonly name: string
  readonly version: number
  readonly text: string
}

/** A rule as it is stored. */
export interface SealedRule {
  readonly id: string
  readonly name: string
  readonly version: number
  readonly body: Uint8Array
  readonly hash: string
}

/** Times are milliseconds since the epoch. */
export interface ProcedureFacts {
  readonly id: ProcedureId
  readonly name: string
  readonly version: number
  /** Of its name and text, which an approval binds; empty when it was forgotten. */
  readonly hash: string
  readonly status: ProcedureStatus
  readonly sources: readonly { readonly memory: MemoryId; readonly version: number }[]
  /** Null until it was evaluated. A score is what the evaluator says; only `passed` decides. */
  readonly evaluation: {
    readonly name: string
    readonly score: number
    readonly passed: boolean
    readonly at: number
  } | null
  readonly proposedBy: string
  readonly createdAt: number
  readonly approvedBy: string | null
  readonly approvedAt: number | null
  readonly endedAt: number | null
  /** When a memory that it comes from was forgotten, and its text with it. */
  readonly forgottenAt: number | null
}

/** `text` null: a memory that it comes from was forgotten. */
export interface Procedure extends ProcedureFacts {
  readonly text: string | null
}

/** What an operator proposes. */
export interface Proposal {
  readonly name: string
  readonly text: string
  /** Memories of the kind `experience`. */
  readonly sources: readonly MemoryId[]
  readonly reason: string
}

export const PROCEDURE_NAME = /^[a-z][a-z0-9_-]{0,62}$/
/** Characters. A longer one is a document, and nobody reads to its end what is approved. */
export const LONGEST_PROCEDURE = 8_000
export const MOST_SOURCES = 50
/** E1: what has worked once is no rule. */
export const LEAST_OCCASIONS = 2

/** What an operator approves: this name with exactly this text. */
export const hashOfProcedure = ({ name, text }: Pick<Proposal, 'name' | 'text'>): string =>
  hashJson(['procedure.v1', name, text])

/** @throws Fault `content_damaged` for a text that is not the one which its hash covers */
export function openRule(keys: Pick<ContentKeys, 'open' | 'unveil'>, tenant: string, sealed: SealedRule): Rule {
  const { id, name, version, body, hash } = sealed
  const text = Buffer.from(keys.open(tenant, body)).toString()
  if (hashOfProcedure({ name, text }) !== keys.unveil(tenant, hash))
    throw new Fault('content_damaged', `The text of procedure ${id} does not match its hash.`)
  return { id: id as ProcedureId, name, version, text }
}

/** What is wrong with a proposal, in sentences without values. */
export function proposalErrors({ name, text, sources }: Proposal): readonly FieldError[] {
  const rules: readonly (readonly [boolean, string, string])[] = [
    [!PROCEDURE_NAME.test(name), '/name', 'is lower-case letters, digits, `-` and `_`, and begins with a letter'],
    [
      text.trim() === '' || text.length > LONGEST_PROCEDURE,
      '/text',
      `is a text of 1 to ${LONGEST_PROCEDURE} characters`,
    ],
    [text.includes('\0') || !text.isWellFormed(), '/text', 'holds a NUL character or half a surrogate pair'],
    [sources.length === 0 || sources.length > MOST_SOURCES, '/sources', `names 1 to ${MOST_SOURCES} memories`],
    [new Set(sources).size < sources.length, '/sources', 'names a memory twice'],
  ]
  return rules.filter(([isBroken]) => isBroken).map(([, path, message]) => ({ path, message }))
}

/** What no rule may say: by class, once each. An order that the detectors know for an attack is none of ours. */
export const classesOf = (findings: readonly Finding[]): readonly string[] =>
  [...new Set(findings.map((finding) => finding.class))].sort()

/** As the rules of an agent and what it has learned are sent: one text, and the same in every step of a run. */
export const rulesText = (instructions: string, rules: readonly Pick<Rule, 'name' | 'version' | 'text'>[]): string =>
  [instructions, ...rules.map(ruleText)].filter((text) => text !== '').join('\n\n')

export const ruleText = ({ name, version, text }: Pick<Rule, 'name' | 'version' | 'text'>): string =>
  `Procedure ${name}, version ${version}:\n${text}`
