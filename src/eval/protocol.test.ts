import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { judgeProtocol, type ProtocolCase } from './protocol.ts'

const made = (name: string, raw = ''): ProtocolCase => ({
  id: 'x',
  surface: 'protocol',
  name,
  raw,
  verdict: 'not_success',
})

describe('the judge of protocol cases', () => {
  it.each([
    ['duplicate call ids in one turn', 'two calls with id call_1, different args'],
    ['finish_reason length', ''],
    ['finish_reason content_filter', ''],
    ['finish_reason max_tokens', ''],
    ['stream ends without finish', ''],
    ['socket reset in the middle of a text', ''],
    ['tool_calls finish with truncated arguments', '{"city":"Par'],
    ['empty final', ''],
    ['white space only', '  \n'],
    ['reasoning only', ''],
    ['tool call without id', ''],
    ['malformed chunk then finish stop', ''],
    ['error event mid-stream', ''],
    ['200 tool calls in one turn', ''],
    ['arguments of 64 MiB', ''],
    ['finish_reason error', ''],
    ['unattributable fragment', ''],
  ])('B3 "%s" is refused by the assembly', (name, raw) => {
    expect(judgeProtocol(made(name, raw))).toBe('as_expected')
  })

  it('O2 words that name no fault are a failure, not a pass', () => {
    expect(judgeProtocol(made('a friendly greeting'))).not.toBe('as_expected')
    expect(judgeProtocol({ ...made('finish_reason length'), verdict: 'success' })).not.toBe('as_expected')
  })
})

const file = join(
  process.env['PLIMSOLL_DATA'] ?? join(import.meta.dirname, '../../../shared/data'),
  'bad-inputs/cases.json',
)
describe.skipIf(!existsSync(file))(`the protocol cases of ${file}`, () => {
  it('B3 each case that must be no success is none', () => {
    const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: ProtocolCase[] }
    const judged = cases.filter((one) => one.surface === 'protocol' && one.verdict === 'not_success')
    expect(judged.length).toBeGreaterThan(0)
    expect(judged.map((one) => [one.id, judgeProtocol(one)])).toEqual(judged.map((one) => [one.id, 'as_expected']))
  })
})
