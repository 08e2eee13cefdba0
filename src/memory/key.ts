/**
 * `memory({ answer_language: { kind: 'preference', value: z.enum(['en', 'zh-CN']) } })`: what may be remembered.
 *
 * E3  every memory has a registered key, whose lines only tighten what its kind allows; a wrong one fails at load
 * G5  temporary kinds cannot be registered without an end
 */
import { hashJson } from '../kernel/canonical.ts'
import { freezeJson, type Json, type JsonObject } from '../kernel/json.ts'
import { definitionFault, defined, type Problem, problem } from '../tool/problem.ts'
import type { Check } from '../tool/schema/schema.ts'
import { compileSource } from '../tool/schema/standard.ts'
import { consolidationProblems } from './key-consolidation.ts'
import type { KeySpec } from './key-spec.ts'
import { keyLineProblems, keyProblems, looseLookAlikes } from './key-rules.ts'
import { type Kind, KINDS, MOST_SPECIAL_DAYS, type Place, type Sensitivity, SHARED, type SourceKind } from './kinds.ts'

const USUAL_RUNS = 3

/** A registered key: frozen, every line filled in. */
export interface MemoryKey {
  readonly name: string
  readonly kind: Kind
  readonly schema: JsonObject
  readonly cardinality: 'one' | 'many'
  readonly purpose: string
  readonly impact: 'low' | 'high'
  readonly sources: readonly SourceKind[]
  readonly scopes: readonly Place[]
  readonly sensitivity: Sensitivity
  /** Days; null: kept until it is deleted. */
  readonly ttlDays: number | null
  readonly maxTtlDays: number | null
  readonly confirm: 'auto' | 'ask'
  readonly deletion: 'on_request' | 'with_source'
  readonly authority: string | null
  /** The key whose memories it grows from, and from how many runs. */
  readonly consolidates: { readonly from: string; readonly atLeast: number } | null
  /** Of all lines above. */
  readonly hash: string
  /** Errors of a value, without the value. */
  readonly check: Check
}

export interface MemoryKeys {
  readonly keys: readonly MemoryKey[]
  /** Of all keys, whatever their order; part of the release. */
  readonly hash: string
  /** Exactly this name, or undefined. */
  find(name: string): MemoryKey | undefined
}

/** @throws `invalid_definition` with every problem of every key */
export const memory = (specs: { readonly [name: string]: KeySpec }): MemoryKeys =>
  defined('memory', () => {
    const made = Object.entries(specs).map(([name, spec]) => keyOf(name, spec))
    const problems = [...made.flatMap((m) => m.problems), ...looseLookAlikes(Object.keys(specs))]
    const keys = made.flatMap((m) => m.key ?? [])
    const all = problems.length > 0 ? problems : consolidationProblems(keys)
    if (all.length > 0) throw definitionFault('memory', all)
    return registryOf(keys)
  })

function registryOf(keys: readonly MemoryKey[]): MemoryKeys {
  const byName = new Map(keys.map((key) => [key.name, key]))
  return Object.freeze({
    keys: Object.freeze([...keys]),
    hash: hashJson(keys.map((key) => key.hash).sort()),
    find: (name: string) => byName.get(name),
  })
}

/** The keys of several registries as one. @throws `invalid_definition` when a name stands for two different keys */
export function together(registries: readonly MemoryKeys[]): MemoryKeys {
  const byName = new Map<string, MemoryKey>()
  for (const key of registries.flatMap((registry) => registry.keys)) {
    const known = byName.get(key.name)
    if (known && known.hash !== key.hash)
      throw definitionFault('memory', [
        problem(
          'key_twice',
          `/${key.name}`,
          'Two agents mean different things by one key.',
          'share one definition, or give them two names.',
        ),
      ])
    byName.set(key.name, key)
  }
  return registryOf([...byName.values()])
}

interface Made {
  readonly key?: MemoryKey
  readonly problems: readonly Problem[]
}

function keyOf(name: string, spec: KeySpec): Made {
  const lines = keyLineProblems(name, spec)
  if (lines.length > 0) return { problems: lines }
  const at = `/${name}/value`
  const value = compileSource(spec.value, 'result', at)
  const problems = [...(value.ok ? [] : value.problems), ...keyProblems(name, spec)]
  if (problems.length > 0 || !value.ok) return { problems }
  const promised = filledIn(name, spec, value.compiled.schema)
  return {
    problems: [],
    key: Object.freeze({ ...promised, hash: hashJson(promised as unknown as Json), check: value.compiled.check }),
  }
}

function filledIn(name: string, spec: KeySpec, schema: JsonObject): Omit<MemoryKey, 'hash' | 'check'> {
  const kind = KINDS[spec.kind]
  const scopes = spec.scopes ?? kind.scopes
  const special = spec.sensitivity === 'special'
  const maxTtlDays = spec.maxTtlDays ?? (special ? MOST_SPECIAL_DAYS : kind.maxTtlDays)
  const authority: readonly SourceKind[] = spec.authority === undefined ? [] : ['authority']
  const grown: readonly SourceKind[] = spec.consolidates === undefined ? [] : ['memory']
  const usual = maxTtlDays === null ? kind.ttlDays : Math.min(kind.ttlDays, maxTtlDays)
  return {
    name,
    kind: spec.kind,
    schema: freezeJson(schema),
    cardinality: spec.cardinality ?? kind.cardinality,
    purpose: spec.purpose?.trim() ?? kind.purpose,
    impact: spec.impact ?? 'low',
    sources: Object.freeze([...new Set(spec.sources ?? [...kind.sources, ...authority, ...grown])].sort()),
    scopes: Object.freeze([...new Set(scopes)].sort()),
    sensitivity: spec.sensitivity ?? (scopes.some((scope) => SHARED.has(scope)) ? 'none' : 'personal'),
    ttlDays: spec.ttlDays === undefined ? usual : spec.ttlDays,
    maxTtlDays,
    confirm: special || spec.impact === 'high' ? 'ask' : (spec.confirm ?? kind.confirm),
    deletion: spec.deletion ?? kind.deletion,
    authority: spec.authority ?? null,
    consolidates: spec.consolidates
      ? Object.freeze({ from: spec.consolidates.from, atLeast: spec.consolidates.atLeast ?? USUAL_RUNS })
      : null,
  }
}
