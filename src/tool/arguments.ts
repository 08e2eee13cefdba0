/**
 * The arguments of a call: raw text of the model in, the exact object that will be confirmed and executed out (I3, J8).
 *
 * Nothing is repaired, coerced or filled in. What fails is one `invalid_arguments` with the places to mend.
 */
import { canonicalText, hashArguments } from '../kernel/canonical.ts'
import type { FieldError } from '../kernel/fault.ts'
import { freezeJson, type Json, type JsonLimits, type JsonObject, parseStrict, pointer } from '../kernel/json.ts'
import type { Contract, ErrorEnvelope } from './contract.ts'
import { envelope } from './outcome.ts'

export type ArgumentsRead =
  | {
      readonly ok: true
      /** The text that is stored, hashed, confirmed and executed. */
      readonly canonical: string
      readonly hash: string
      /** Read back from `canonical`, frozen. */
      readonly input: JsonObject
    }
  | { readonly ok: false; readonly error: ErrorEnvelope; readonly errors: readonly FieldError[] }

export interface ReadOptions {
  readonly tenant: string
  /** Lower than the defaults, never higher. */
  readonly limits?: Partial<JsonLimits>
}

export function readArguments(
  contract: Contract,
  rawText: string,
  { tenant, limits = {} }: ReadOptions,
): ArgumentsRead {
  // Some providers send no text for a call without arguments; the schema says whether that is one.
  const parsed = parseStrict(rawText === '' ? '{}' : rawText, limits)
  if (!parsed.ok) return refused([{ path: parsed.path, message: `${parsed.message} (${parsed.code})` }])
  const { value } = parsed
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refused([{ path: '', message: 'must be an object' }])
  const given = value as JsonObject
  const reserved = reservedErrors(contract, given)
  if (reserved.length > 0) return refused(reserved)
  const errors = contract.check(given)
  if (errors.length > 0) return refused(errors)
  const identities = withIdentities(contract, given)
  if (identities.errors.length > 0) return refused(identities.errors)

  const canonical = canonicalText(identities.input)
  if (hidesText(canonical)) return refused([{ path: '', message: 'hold tag characters, which nobody can see' }])
  // A number can grow when it is written out, so the stored text is measured too.
  const again = parseStrict(canonical, limits)
  if (!again.ok) return refused([{ path: again.path, message: again.message }])
  const hash = hashArguments({ tool: contract.name, version: contract.version, tenant, text: canonical })
  return { ok: true, canonical, hash, input: freezeJson(again.value as JsonObject) }
}

/** Fields that only the server knows. A contract may declare one of these names; undeclared it never passes (A2). */
const RESERVED = new Set([
  'idempotencykey',
  'approved',
  'approval',
  'confirmed',
  'confirmation',
  'confirmtoken',
  'confirmationtoken',
  'confirmationid',
  'permit',
  'tenant',
  'tenantid',
  'userid',
  'subjectid',
  'actor',
  'actorid',
  'environment',
  'permissions',
  'runid',
  'effectkey',
])

function reservedErrors(contract: Contract, given: JsonObject): FieldError[] {
  const properties = contract.inputSchema.properties
  const declared = typeof properties === 'object' && properties !== null ? properties : {}
  return Object.keys(given)
    .filter((key) => RESERVED.has(key.toLowerCase().replaceAll(/[^a-z]/g, '')) && !Object.hasOwn(declared, key))
    .map((key) => ({ path: pointer([key]), message: 'is known to the server only' }))
}

/** Controls, direction marks, zero-width and tag characters: two identities that look the same are one trap. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u{e0000}-\u{e007f}]/u

const TAG = /[\u{e0000}-\u{e007f}]/u
/** The one honest use: a black flag, the letters of a region, and the end (Unicode TR 51, ED-14a). */
const FLAG = /\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f}/gu

/** Text that a model reads and a person does not, in free text too. */
const hidesText = (text: string): boolean => TAG.test(text) && TAG.test(text.replace(FLAG, ''))

/** Identities are compared and hashed in one form (NFC) and hold nothing that a reader cannot see. */
function withIdentities(contract: Contract, given: JsonObject): { input: JsonObject; errors: readonly FieldError[] } {
  const errors: FieldError[] = []
  const read = (value: Json, path: readonly (string | number)[]): Json => {
    if (typeof value === 'string') {
      if (INVISIBLE.test(value)) errors.push({ path: pointer(path), message: 'holds an invisible character' })
      return value.normalize('NFC')
    }
    return Array.isArray(value) ? (value as readonly Json[]).map((member, i) => read(member, [...path, i])) : value
  }
  const input = Object.assign(Object.create(null), given) as Record<string, Json>
  for (const [field, role] of Object.entries(contract.params)) {
    const value = given[field]
    if (role === 'identity' && value !== undefined) input[field] = read(value, [field])
  }
  return { input, errors }
}

/** Characters of a hint: the first faults are enough to mend the call. */
const HINT_LENGTH = 1_000

function refused(errors: readonly FieldError[]): ArgumentsRead {
  const places = errors.map((e) => `${e.path === '' ? 'The arguments' : e.path} ${e.message}`).join('; ')
  return { ok: false, error: envelope('invalid_arguments', `${places}.`.slice(0, HINT_LENGTH)), errors }
}
