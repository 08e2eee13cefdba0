import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { contractsFromYaml } from './yaml.ts'

const SEED = `name: orders.refund
version: 2
input_schema: RefundRequest
output_schema: RefundResult
timeout_ms: 10000
retry_policy: no_automatic_retry
idempotency: required
permission: orders.refund
side_effect_level: irreversible
approval: required
error_taxonomy:
- validation_error
- permission_denied
- provider_timeout
- business_rejected
`
const schemas = {
  RefundRequest: z.strictObject({ orderId: z.string(), cents: z.int().positive() }),
  RefundResult: { type: 'object', properties: { refundId: { type: 'string' } }, required: ['refundId'] },
}
const implementations = {
  'orders.refund': { commit: () => ({ refundId: 'r1' }), probe: () => ({ happened: 'unknown' }) as const },
}
const load = (text: string, parts: Partial<Parameters<typeof contractsFromYaml>[1]> = {}) =>
  contractsFromYaml(text, { schemas, implementations, ...parts })

describe('contracts in YAML', () => {
  it('I1 the contract of the source document loads unchanged', () => {
    const [refund, ...others] = load(SEED)
    expect(others).toEqual([])
    expect(refund).toMatchObject({
      name: 'orders.refund',
      version: 2,
      timeoutMs: 10_000,
      permission: 'orders.refund',
      effect: 'irreversible',
      approval: 'confirm',
      unknown: 'probe',
      errors: {
        validation_error: { kind: 'validation', reaction: 'fix_arguments' },
        permission_denied: { kind: 'permission_denied', reaction: 'replan' },
        provider_timeout: { kind: 'unknown_outcome', reaction: 'stop' },
        business_rejected: { kind: 'business_rejected', reaction: 'replan' },
      },
    })
    expect(refund?.check({ orderId: 'A1', cents: 0.5 })).toMatchObject([{ path: '/cents' }])
    expect(refund?.checkResult({})).toMatchObject([{ path: '/refundId' }])
  })

  it('I1 several documents are several contracts', () => {
    expect(load(`${SEED}---\n${SEED.replace('version: 2', 'version: 3')}`).map((c) => c.version)).toEqual([2, 3])
    expect(load('')).toEqual([])
  })

  it.each<[string, string, string]>([
    ['a misspelt line', SEED.replace('timeout_ms', 'timeout'), 'line_unknown'],
    ['a retry', SEED.replace('no_automatic_retry', 'exponential'), 'retry_illegal'],
    ['no idempotency', SEED.replace('idempotency: required\n', ''), 'idempotency_missing'],
    ['an unknown schema', SEED.replace('RefundRequest', 'toString'), 'schema_unknown'],
    ['an unknown implementation', SEED.replace('name: orders.refund', 'name: orders.other'), 'implementation_missing'],
    ['an automatic refund', SEED.replace('approval: required', 'approval: auto'), 'irreversible_auto'],
    ['a read with commit', SEED.replace('irreversible', 'read'), 'read_with_commit'],
    ['a repeated line', `${SEED}version: 3\n`, 'yaml_invalid'],
    ['an alias', SEED.replace('- business_rejected', '- &a business_rejected\n- *a'), 'yaml_invalid'],
    ['a list', '- 1', 'yaml_invalid'],
    ['broken YAML', 'name: [', 'yaml_invalid'],
    ['a timeout that is text', SEED.replace('10000', 'soon'), 'line_type'],
    ['an error that is unknown', `${SEED}- too_expensive\n`, 'error_without_class'],
  ])('I1 %s fails at load', (_, text, code) => {
    expect(() => load(text)).toThrow(code)
  })

  it('I1 an effect whose unknown outcome nobody can resolve fails at load', () => {
    expect(() => load(SEED, { implementations: { 'orders.refund': { commit: () => 1 } } })).toThrow(
      'effect_without_unknown',
    )
  })
})
