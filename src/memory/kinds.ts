/** The four kinds of memory (E2), and what each allows before a key has said anything (E3). */

export type Kind = 'preference' | 'fact' | 'task' | 'experience'
export type Place = 'user' | 'conversation' | 'group' | 'project' | 'tenant'
export type Sensitivity = 'none' | 'personal' | 'special'
/**
 * Where a candidate comes from: words of the subject, the result of a contracted call, other memories that it was
 * drawn from, a reader of the authority, or an operator.
 */
export type SourceKind = 'message' | 'call' | 'memory' | 'authority' | 'operator'

export interface KindRules {
  /** What a key gets when it names none. */
  readonly sources: readonly SourceKind[]
  readonly scopes: readonly Place[]
  /** The most that a key may name. */
  readonly mostSources: readonly SourceKind[]
  readonly mostScopes: readonly Place[]
  readonly cardinality: 'one' | 'many'
  readonly ttlDays: number
  /** Null: no limit, and a key may be kept until somebody deletes it. */
  readonly maxTtlDays: number | null
  readonly confirm: 'auto' | 'ask'
  readonly deletion: 'on_request' | 'with_source'
  readonly purpose: string
}

const YEAR = 365

export const KINDS: Readonly<Record<Kind, KindRules>> = Object.freeze({
  preference: {
    sources: ['message'],
    scopes: ['user'],
    mostSources: ['message', 'operator'],
    // a preference is somebody's: a group has none
    mostScopes: ['user', 'conversation'],
    cardinality: 'one',
    ttlDays: YEAR,
    maxTtlDays: null,
    confirm: 'auto',
    deletion: 'on_request',
    purpose: 'To answer in the way that you asked for.',
  },
  fact: {
    sources: ['message'],
    scopes: ['user'],
    mostSources: ['message', 'call', 'memory', 'authority', 'operator'],
    mostScopes: ['user', 'conversation', 'group', 'project', 'tenant'],
    cardinality: 'one',
    ttlDays: YEAR,
    maxTtlDays: null,
    confirm: 'auto',
    deletion: 'on_request',
    purpose: 'To know what you told before.',
  },
  task: {
    sources: ['message', 'call'],
    scopes: ['conversation'],
    mostSources: ['message', 'call', 'authority', 'operator'],
    mostScopes: ['user', 'conversation', 'group', 'project'],
    cardinality: 'many',
    // what is being done now: a month without an end is no longer that
    ttlDays: 30,
    maxTtlDays: 90,
    confirm: 'auto',
    deletion: 'with_source',
    purpose: 'To go on with what was begun.',
  },
  experience: {
    sources: ['call', 'memory'],
    scopes: ['project'],
    mostSources: ['call', 'memory', 'operator'],
    mostScopes: ['user', 'project', 'tenant'],
    cardinality: 'many',
    // what worked ages with the systems that it worked on
    ttlDays: 90,
    maxTtlDays: YEAR,
    // one success is no rule: somebody says that it is one
    confirm: 'ask',
    deletion: 'with_source',
    purpose: 'To repeat what worked, and not what failed.',
  },
})

/** Places that more than one person reads. Nothing personal stands there (E15). */
export const SHARED: ReadonlySet<Place> = new Set(['group', 'project', 'tenant'])

/** Special categories of persons' data end after a year at the latest: they are asked for again. */
export const MOST_SPECIAL_DAYS = YEAR
