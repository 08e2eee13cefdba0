import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { scripted } from '../testing/scripted.ts'
import { tool } from '../tool/define.ts'
import { Fault } from '../kernel/fault.ts'
import { agent } from './agent.ts'
import type { AgentSpec, BudgetSpec } from './agent-spec.ts'

const model = scripted([])
const budget: BudgetSpec = { steps: 8, toolCalls: 4, tokens: 20_000, costCents: 25, seconds: 120 }
const spec = (with_: object = {}): AgentSpec => ({ model, budget, ...with_ })
const costs = (with_: object): AgentSpec => spec({ budget: { ...budget, ...with_ } })

function fault(name: string, given: AgentSpec): Fault {
  try {
    agent(name, given)
  } catch (error) {
    if (Fault.is(error)) return error
    throw error
  }
  throw new Error('no fault')
}

describe('a wrong agent', () => {
  it.each<[string, string, AgentSpec, string]>([
    ['name_illegal', '/name', spec(), 'Support Agent'],
    ['model_missing', '/model', spec({ model: undefined }), 'support'],
    ['model_missing', '/model', spec({ model: { id: 'm' } }), 'support'],
    [
      'model_window_illegal',
      '/model/contextTokens',
      spec({ model: { ...model, contextTokens: Number.NaN } }),
      'support',
    ],
    ['model_output_illegal', '/model/maxOutputTokens', spec({ model: { ...model, maxOutputTokens: 0 } }), 'support'],
    [
      'model_price_illegal',
      '/model/price',
      spec({ model: { ...model, price: { inputCentsPerMillion: -1, outputCentsPerMillion: 1 } } }),
      'support',
    ],
    ['instructions_illegal', '/instructions', spec({ instructions: 5 }), 'support'],
    ['tools_illegal', '/tools', spec({ tools: {} }), 'support'],
    ['procedures_illegal', '/procedures', spec({ procedures: ['Refund steps'] }), 'support'],
    ['procedures_illegal', '/procedures', spec({ procedures: ['refund', 'refund'] }), 'support'],
    ['procedures_illegal', '/procedures', spec({ procedures: 'refund' }), 'support'],
    ['on_message_illegal', '/onMessage', spec({ onMessage: 'drop' }), 'support'],
    ['on_reject_illegal', '/onReject', spec({ onReject: 'retry' }), 'support'],
    ['attempts_illegal', '/attempts', spec({ attempts: 0 }), 'support'],
    ['line_unknown', '/onreject', spec({ onreject: 'end' }), 'support'],
    ['line_unknown', '/budget/stpes', costs({ stpes: 3 }), 'support'],
    ['budget_missing', '/budget', spec({ budget: undefined }), 'support'],
    ['steps_illegal', '/budget/steps', costs({ steps: 0 }), 'support'],
    ['steps_illegal', '/budget/steps', costs({ steps: 1.5 }), 'support'],
    ['steps_illegal', '/budget/steps', costs({ steps: Number.POSITIVE_INFINITY }), 'support'],
    ['tool_calls_illegal', '/budget/toolCalls', costs({ toolCalls: -1 }), 'support'],
    ['tokens_illegal', '/budget/tokens', costs({ tokens: 0 }), 'support'],
    ['cost_illegal', '/budget/costCents', costs({ costCents: Number.NaN }), 'support'],
    ['cost_illegal', '/budget/costCents', costs({ costCents: -1 }), 'support'],
    ['seconds_illegal', '/budget/seconds', costs({ seconds: 0 }), 'support'],
    ['seconds_illegal', '/budget/seconds', costs({ seconds: 30 * 86_400 + 1 }), 'support'],
  ])('B1 fails at load with %s at %s, a cause and the line that mends it', (code, path, given, name) => {
    const thrown = fault(name, given)
    expect(thrown.code).toBe('invalid_definition')
    const found = thrown.errors.filter((e) => e.path === path)
    expect(found).toHaveLength(1)
    expect(found[0]?.message).toMatch(new RegExp(`^${code}: .+\\. Fix: .+\\.$`))
  })

  it('B1 all that is wrong is said at once', () => {
    expect(fault('', costs({ steps: 0, seconds: 0 })).errors.map((e) => e.message.split(':')[0])).toEqual([
      'name_illegal',
      'steps_illegal',
      'seconds_illegal',
    ])
  })

  it('B1 the edges are allowed', () => {
    expect(() =>
      agent('a', costs({ steps: 1, toolCalls: 0, tokens: 1, costCents: 0, seconds: 30 * 86_400 })),
    ).not.toThrow()
  })
})

describe('a definition of other things than a definition', () => {
  const hostile = new Proxy(
    {},
    {
      get() {
        throw new Error('S3CRET')
      },
    },
  )
  const knot: unknown[] = []
  knot.push(knot)
  it.each<[string, () => unknown]>([
    ['no tool', () => agent('a', spec({ tools: [undefined] as never }))],
    ['a tool that nobody made', () => agent('a', spec({ tools: [{ effect: 'read' }] as never }))],
    ['tools that are no list', () => agent('a', spec({ tools: 7 as never }))],
    ['no lines', () => agent('a', undefined as never)],
    ['lines that throw', () => agent('a', hostile as never)],
    ['half a character', () => agent('a', spec({ instructions: '\ud800' }))],
    ['a model with a knot', () => agent('a', spec({ model: { ...spec().model, id: knot as never } }))],
    ['a tool without lines', () => tool('orders.get@1', null as never)],
    ['a tool whose lines throw', () => tool('orders.get@1', hostile as never)],
    [
      'a tool without a name',
      () => tool(undefined as never, { input: z.strictObject({}), effect: 'read', run: () => null }),
    ],
  ])('I1 %s is refused as a definition, without its own words', (_, make) => {
    expect(make).toThrow(expect.objectContaining({ code: 'invalid_definition' }))
    expect(make).not.toThrow(/S3CRET/)
  })
})

describe('a release', () => {
  const read = (version: number) =>
    tool(`orders.get@${version}`, { input: z.strictObject({ id: z.string() }), effect: 'read', run: () => null })
  const release = (with_: object = {}): string => agent('support', spec(with_)).release

  it('A6 an agent is frozen, and its cost is counted in micro-cents', () => {
    const made = agent('support', costs({ costCents: 0.25 }))
    expect(made.limits).toEqual({ steps: 8, toolCalls: 4, tokens: 20_000, cost: 250_000, attempts: 5 })
    expect([made, made.limits, made.rules].every((part) => Object.isFrozen(part))).toBe(true)
  })

  it('B1 an unknown price is a high one', () => {
    expect(agent('support', spec()).rules.price.outputCentsPerMillion).toBeGreaterThan(1_000)
  })

  it('B1 whatever changes how a run behaves changes the release', () => {
    const same = [release(), release({ tools: [] }), release({ instructions: '' }), release({ onMessage: 'queue' })]
    expect(new Set(same).size).toBe(1)
    const others = [
      release({ instructions: 'Be brief.' }),
      release({ tools: [read(1)] }),
      release({ tools: [read(2)] }),
      release({ onReject: 'end' }),
      release({ onMessage: 'replace' }),
      release({ attempts: 2 }),
      agent('support', costs({ steps: 9 })).release,
      agent('other', spec()).release,
    ]
    expect(new Set([...others, same[0]]).size).toBe(others.length + 1)
  })
})
