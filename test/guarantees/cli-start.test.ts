/** `plimsoll start`, as somebody who has just installed it uses it: real processes on real folders. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readRefunds } from '../../src/cli/payments.ts'
import { EXIT } from '../../src/kernel/fault.ts'
import { BIN, oneLine, plimsoll, serving, type Serving } from '../setup/cli.ts'
import { compiled } from '../setup/compiled.ts'
import { bareLite } from '../setup/engines.ts'
import { type Body, ended, person } from '../setup/plane.ts'

/** A server starts in 3 s; on a machine that does much else at once it has taken 40. */
const SLOW = 300_000

describe('plimsoll start', { timeout: SLOW }, () => {
  let home = ''
  const servers: Serving[] = []
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'plimsoll-start-'))
    mkdirSync(join(home, 'fresh/store'), { recursive: true })
    await (await bareLite(join(home, 'fresh/store/data'))).close()
  }, SLOW)
  afterAll(async () => {
    for (const one of servers) one.process.kill('SIGKILL')
    await Promise.all(servers.map((one) => one.gone))
    rmSync(home, { recursive: true, force: true })
  }, SLOW)

  /** A data folder of its own, whose store is migrated already. */
  function folder(name: string): string {
    const data = join(home, name)
    cpSync(join(home, 'fresh'), data, { recursive: true })
    return data
  }

  async function started(data: string): Promise<Serving> {
    const made = await serving(['--data', data], { cwd: home })
    servers.push(made)
    return made
  }

  const access = (data: string) => JSON.parse(readFileSync(join(data, 'access.json'), 'utf8'))
  const inbox = async (data: string, url: string) =>
    (await person(url, access(data).service).get('/v1/confirmations')).body.items

  it('I6 the `runtime` of a definition file gives its tools their credentials', async () => {
    const at = (file: string) => JSON.stringify(join(compiled(), 'src', file))
    writeFileSync(
      join(home, 'shop.mjs'),
      `import { agent, tool, z } from ${at('index.js')}
import { scripted } from ${at('testing/index.js')}
const look = tool('shop.look@1', {
  description: 'Looks.', input: z.strictObject({}), effect: 'read', credentials: ['shop'],
  run: (_, cx) => ({ length: cx.credential('shop').length }),
})
export default agent('shop', {
  model: scripted((_, turn) => (turn === 0 ? { calls: [{ name: 'shop__look', arguments: {} }] } : { text: 'done' })),
  tools: [look], budget: { steps: 3, toolCalls: 3, tokens: 20_000, costCents: 25, seconds: 60 },
})
export const runtime = { credentials: { get: ({ user }, name) => 'key of ' + user + ' for ' + name } }
`,
    )
    const data = folder('own')
    const made = await serving(['shop.mjs', '--data', data], { cwd: home })
    servers.push(made)
    const caller = person(made.said.url, access(data).service)
    const run = (await caller.post('/v1/runs', { body: { agent: 'shop', text: 'look' } })).body.id
    expect(await ended(caller, run)).toMatchObject({ status: 'succeeded' })
    const { effects } = (await plimsoll(['runs', 'show', run, '--data', data, '--json'], { cwd: home })).json()
    expect(effects).toMatchObject([{ tool: 'shop.look', outcome: 'ok' }])
    made.process.kill('SIGTERM')
    await made.gone
  })

  it('L1 a first start is ready with a refund that waits, a second one finds it again, and both stop politely', async () => {
    const data = folder('twice')
    const first = await started(data)
    expect(first.said).toMatchObject({ ready: true, store: 'embedded', agents: ['support'], waiting: true })
    expect((await fetch(`${first.said.url}/readyz`)).status).toBe(200)
    const [waiting, ...others] = await inbox(data, first.said.url)
    expect(waiting).toMatchObject({
      tool: 'orders.refund',
      status: 'pending',
      params: { orderId: '1042', cents: 1_200 },
      confirmers: ['ann'],
    })
    expect(others).toEqual([])
    expect(statSync(join(data, 'access.json')).mode & 0o777).toBe(0o600)
    const keys = access(data)

    first.process.kill('SIGTERM')
    expect(await first.gone).toBe(0)
    expect(existsSync(join(data, 'server.json'))).toBe(false)

    const second = await started(data)
    expect(access(data)).toEqual(keys)
    expect((await inbox(data, second.said.url)).map((c: Body) => c.id)).toEqual([waiting.id])
    const approved = await plimsoll(['approvals', 'approve', waiting.id, '--yes', '--json', '--data', data], {
      cwd: home,
    })
    expect(approved.json()).toMatchObject({ status: 'approved', decided_by: 'ann' })
    expect(await ended(person(second.said.url, keys.service), waiting.run_id)).toMatchObject({ status: 'succeeded' })
    expect(readRefunds(join(data, 'payments.jsonl'))).toMatchObject([{ orderId: '1042', cents: 1_200 }])
    second.process.kill('SIGINT')
    expect(await second.gone).toBe(0)
  })

  it('L1 a folder in use and a port in use are refused in one line, and a lock outlives no killed process', async () => {
    const data = folder('killed')
    const first = await started(data)
    const place = { cwd: home }
    const locked = await plimsoll(['start', '--port', '0', '--data', data], place)
    expect(locked).toMatchObject({ exit: EXIT.unavailable, stderr: expect.stringMatching(oneLine('store_locked')) })
    expect(locked.stderr).toContain(`Process ${first.process.pid} on `)
    const looked = await plimsoll(['doctor', '--data', data, '--json'], place)
    expect(looked.json()).toMatchObject({
      ok: true,
      findings: expect.arrayContaining([
        { check: 'store', verdict: 'ok', detail: expect.stringContaining('which is ready') },
      ]),
    })

    first.process.kill('SIGKILL')
    expect(await first.gone).toBe('SIGKILL')
    expect(existsSync(join(data, 'store/lock.json'))).toBe(true)
    const { server, port } = await occupied()
    const busy = await plimsoll(['start', '--data', data, '--port', String(port)], place)
    expect(busy).toMatchObject({ exit: EXIT.unavailable, stderr: expect.stringMatching(oneLine('port_in_use')) })
    server.close()

    const next = await started(data)
    expect(next.said).toMatchObject({ ready: true, waiting: true })
    expect(await inbox(data, next.said.url)).toHaveLength(1)
    next.process.kill('SIGTERM')
    expect(await next.gone).toBe(0)
  })

  it('J5 the tour holds: every attack is refused, and a killed process pays once', async () => {
    const { exit, stdout, stderr, json } = await plimsoll(['demo', '--json'], { cwd: home, main: BIN })
    expect({ exit, broken: json().checks.filter((c: Body) => !c.holds) }, stderr).toEqual({ exit: 0, broken: [] })
    expect(json()).toMatchObject({ passed: 12, failed: 0 })
    expect(stdout.trimEnd().split('\n')).toHaveLength(1)
  })
})

function occupied(): Promise<{ server: Server; port: number }> {
  const server = createServer()
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve({ server, port: (server.address() as { port: number }).port })),
  )
}
