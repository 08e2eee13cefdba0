import { expect, it } from 'vitest'
import { Fault } from '../kernel/fault.ts'
import { thrownLine } from './thrown.ts'
import { toolError } from './toolerror.ts'

const at = {
  tool: 'orders.refund',
  version: 2,
  tenant: 'acme',
  environment: 'production',
  run: 'run_1',
  step: 3,
  position: 0,
}
const SECRET = 'postgres://svc:hunter2@db.internal:5432'

it('B6 I6 of what a tool throws the log has class, code and place, and nothing of its message', () => {
  const line = thrownLine(Object.assign(new TypeError(`${SECRET}\n    at secret.ts:1:1`), { code: 'ECONNREFUSED' }), at)
  expect(line).toMatch(/^orders\.refund@2 threw TypeError ECONNREFUSED at thrown\.test\.ts:\d+:\d+ in run_1\/3\/0$/)
})

it('B6 what is behind it is named as well, and a driver that hides values in names and codes is not believed', () => {
  const inner = Object.assign(new Error(SECRET), { name: SECRET, code: SECRET, stack: `x ${SECRET}` })
  const line = thrownLine(toolError('server_unavailable', 'Wait.', { cause: new Error(SECRET, { cause: inner }) }), at)
  expect(line).toMatch(
    /^orders\.refund@2 threw ToolError server_unavailable at \S+, because of Error at \S+, because of Error in /,
  )
  for (const odd of [
    SECRET,
    null,
    { message: SECRET },
    Object.assign(new Error('x'), { name: 'Secret hunter2', code: 'hunter2' }),
  ])
    expect(thrownLine(odd, at)).not.toMatch(/hunter2|postgres/)
  expect(thrownLine(SECRET, at)).toBe('orders.refund@2 threw string in run_1/3/0')
})

it('B6 a circle of causes ends, and a fault of ours says what it is', () => {
  const circle = new Error('a')
  circle.cause = circle
  expect(thrownLine(circle, at).split('because of')).toHaveLength(3)
  expect(thrownLine(new Fault('tool_timeout'), at)).toBe(
    'orders.refund@2: tool_timeout, The tool did not answer in time. in run_1/3/0',
  )
  const behind = toolError('server_unavailable', '', { cause: new Fault('mcp_list_too_large') })
  expect(thrownLine(behind, at)).toMatch(/because of Fault mcp_list_too_large at /)
})
