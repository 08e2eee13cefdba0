/** Servers of tools behind the gateway: each is a process of its own, and what it does is not ours. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/kernel/system.shell.ts'
import { definitionsOf, isolation, mcp, type McpServer, type McpSpec } from '../../src/mcp.ts'
import type { Contract } from '../../src/tool/contract.ts'
import { callRead } from '../../src/tool/gateway.shell.ts'
import type { McpToolSpec } from '../../src/tool/mcp/mcp.ts'
import { openStore, type TestStore } from '../setup/engines.ts'
import { until } from '../setup/plane.ts'
import { plimsoll } from '../setup/cli.ts'
import { heardBy, oddServer } from '../setup/mcp-servers.ts'
import { openEgress } from '../../src/tool/egress/egress.shell.ts'
import { person, play } from '../setup/stage.ts'

/** Each server is a process that has to start. */
const SLOW = 120_000
const folder = mkdtempSync(join(tmpdir(), 'mcp-test-'))
let made = 0
let approved: readonly object[]
let store: TestStore
const servers: McpServer[] = []

beforeAll(async () => {
  store = await openStore('embedded')
  approved = await definitionsOf(oddServer(join(folder, 'first')))
}, SLOW)
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())), SLOW)
afterAll(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const READ: McpToolSpec = { effect: 'read' }
const allRead = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, READ]))

function odd(tools: Record<string, McpToolSpec>, more: Partial<McpSpec> = {}) {
  const log = join(folder, `log${(made += 1)}`)
  const server = mcp('odd', { ...oddServer(log), approved, tools, ...more })
  servers.push(server)
  const named = (name: string): Contract => {
    const contract = server.contracts.find((c) => c.name === `odd.${name}`)
    if (!contract) throw new Error(`no contract ${name}: ${JSON.stringify(server.tools)}`)
    return contract
  }
  return { server, named, log, heard: () => heardBy(log) }
}
const egress = openEgress({ clock: systemClock })
const read = async (contract: Contract, input = {}) => {
  const cx = {
    actor: person(),
    runId: 'run_1',
    step: 1,
    position: 0,
    effectKey: 'key_1',
    signal: new AbortController().signal,
  }
  const outcome = await callRead(contract, input, cx, { clock: systemClock, egress })
  if ('later' in outcome) throw new Error('a tool of a server has nothing to wait for')
  return outcome.ok ? outcome.result : outcome.error
}

describe('a server of tools', { timeout: SLOW }, () => {
  it('I8 BR-113 BR-115 odd names and schemas are exposed legally or refused one by one, and the others work', async () => {
    const names = approved.map((d) => (d as { name: string }).name)
    const { server } = odd(allRead(...names))
    const refused = server.tools.filter((t) => t.contract === null)
    expect(refused.map((t) => [t.tool, t.problems[0]?.split(' ')[0]])).toEqual([
      ['工具', 'name_not_ascii'],
      ['listed', 'schema_not_object'],
    ])
    for (const { exposedName } of server.contracts) expect(exposedName).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    const odds = server.contracts.filter((c) => /query|update|scanner|payload_any/.test(c.name))
    for (const contract of odds) expect([contract.name, await read(contract)]).toEqual([contract.name, '"ok"'])
    expect(odds).toHaveLength(4)
    expect((await server.check()).filter((t) => t.standing !== 'ready').map((t) => t.standing)).toEqual([
      'refused',
      'refused',
    ])
    const heard = heardBy(join(folder, `log${made}`)).flatMap((line) => line.began ?? [])
    // by the server's own names
    expect(heard).toEqual(['db.query', 'user-profile/update', 'Dockerfile problems scanner', 'payload_any'])
  })

  it('I11 it sees the environment that was declared and nothing else, in an empty folder of its own, under its limits', async () => {
    process.env.PLIMSOLL_TEST_SECRET = 'hunter2'
    const { named } = odd(allRead('surroundings'), { env: { GREETING: 'hello' }, memoryMb: 512, cpuSeconds: 60 })
    const said = JSON.parse((await read(named('surroundings'))) as string) as {
      env: object
      cwd: string
      limits: string
    }
    delete process.env.PLIMSOLL_TEST_SECRET
    expect(said.env).toEqual({ GREETING: 'hello' })
    expect(said.cwd).not.toBe(process.cwd())
    expect(said.cwd).toContain('plimsoll-mcp-')
    if (isolation().limits) {
      expect(said.limits).toMatch(/Max data size +536870912 /)
      expect(said.limits).toMatch(/Max cpu time +60 /)
    }
  })

  it('I8 what it asks of us is not offered: sampling, elicitation and roots are unknown methods', async () => {
    const { named, heard } = odd(allRead('ask_back'))
    expect(await read(named('ask_back'))).toBe('[-32601,-32601,-32601]')
    expect(heard()[0]).toEqual({ capabilities: {} })
  })

  it('I8 K1 a call that hangs ends in its time, the server is told, and one that is still there is kept', async () => {
    const { named, heard } = odd({ hang: { effect: 'read', timeoutMs: 300 }, ok_tool: READ })
    expect(await read(named('ok_tool'))).toBe('"ok"')
    expect(await read(named('hang'))).toMatchObject({ code: 'tool_timeout' })
    while (!heard().some((line) => line.cancelled)) await systemClock.sleep(20)
    expect(await read(named('ok_tool'))).toBe('"ok"')
    expect(heard().filter((line) => line.capabilities)).toHaveLength(1)
  })

  it('I8 a crash fails one read, is never repeated for it, and the next call finds a new process', async () => {
    const { named, heard } = odd(allRead('crash', 'ok_tool'))
    expect(await read(named('crash'))).toMatchObject({ code: 'tool_failed', retryable: false })
    expect(await read(named('ok_tool'))).toBe('"ok"')
    expect(heard().filter((line) => line.began === 'crash')).toHaveLength(1)
    expect(heard().filter((line) => line.capabilities)).toHaveLength(2)
  })

  it('I8 a definition that changed is refused at the call, and the others stay', async () => {
    const { server, named } = odd(allRead('ok_tool', 'rug_pull', 'db.query'))
    expect(await read(named('ok_tool'))).toBe('"ok"')
    expect(await read(named('rug_pull'))).toBe('"pulled"')
    expect(await read(named('ok_tool'))).toMatchObject({
      code: 'definition_changed',
      retryable: false,
      hint: expect.stringContaining('not available until an operator has approved it anew'),
    })
    expect(await read(named('db.query'))).toBe('"ok"')
    const changed = (await server.check()).filter((t) => t.standing === 'changed')
    expect(changed.map((t) => t.tool)).toEqual(['ok_tool'])
  })

  it('I8 I6 an answer without end is cut with a mark, and an error is a small envelope', async () => {
    const { named } = odd(allRead('flood', 'refuse'))
    const long = (await read(named('flood'))) as string
    expect(long.length).toBeLessThan(70_000)
    expect(long).toContain('[truncated: the beginning of 10485')
    expect(await read(named('refuse'))).toMatchObject({ code: 'server_refused', hint: 'No money on the account.' })
  })

  it('I8 a server that is not there is said to be away, and no call is counted as begun', async () => {
    const { named } = odd(allRead('ok_tool'), { command: '/nowhere/server', args: [] })
    expect(await read(named('ok_tool'))).toMatchObject({ code: 'server_unavailable' })
  })

  it('I8 a list of tools without an end is told as what it is, to whoever asks for it', async () => {
    const script = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line)
      const hello = () => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } })
      const result = method === 'initialize' ? hello() : { tools: [], nextCursor: 'on' }
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })`
    const asked = definitionsOf({ command: process.execPath, args: ['-e', script] })
    await expect(asked).rejects.toMatchObject({ name: 'Fault', code: 'mcp_list_too_large' })
  })

  it('I8 P6 a server that never answers its first request holds nobody who closes it, and is ended', async () => {
    const log = join(folder, 'silent')
    const script = `require('node:fs').writeFileSync(${JSON.stringify(log)}, String(process.pid)); setInterval(() => {}, 1000)`
    const silent = mcp('odd', { command: process.execPath, args: ['-e', script], approved })
    const asked = silent.check()
    const pid = await until(
      async () => (existsSync(log) ? Number(readFileSync(log, 'utf8')) : 0),
      (found) => found > 0,
    )
    const first = await Promise.race([
      silent.close().then(() => 'closed'),
      systemClock.sleep(20_000).then(() => 'held'),
    ])
    expect(first).toBe('closed')
    expect((await asked).every((tool) => ['unreachable', 'refused'].includes(tool.standing))).toBe(true)
    expect(() => process.kill(pid, 0)).toThrow()
  })

  it('I8 J4 a write that broke is unknown: it waits for an operator and reaches the server once', async () => {
    const { named, heard } = odd({ crash: { effect: 'write', approval: 'auto' } })
    const stage = await play(store, {
      tools: [named('crash')],
      script: [{ calls: [{ name: named('crash').exposedName, arguments: {} }] }, { text: 'done' }],
    })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ status: 'waiting_confirmation', wait: 'unknown_effect' })
    await stage.stop()
    expect(await said.effects()).toMatchObject([{ status: 'unknown' }])
    expect(heard().filter((line) => line.began)).toHaveLength(1)
  })

  it('I8 J3 a write with a key is sent again under the same key, which the model never sees', async () => {
    const { named, heard } = odd({ crash: { effect: 'write', approval: 'auto', key: 'request_id' } })
    expect(named('crash').inputSchema.properties).not.toHaveProperty('request_id')
    const stage = await play(store, {
      tools: [named('crash')],
      script: [{ calls: [{ name: named('crash').exposedName, arguments: { once: true } }] }, { text: 'done' }],
    })
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
    expect(await said.results()).toEqual([{ done: true }])
    const keys = heard().flatMap((line) => (line.began ? [(line.input as { request_id: string }).request_id] : []))
    expect(keys).toHaveLength(2)
    expect(keys[0]).toBe(`${said.run}/1/0/odd.crash@1`)
    expect(keys[1]).toBe(keys[0])
  })

  it('I8 the command writes down what is offered, and finds what changed since it was approved', async () => {
    const { command, args = [] } = oddServer(join(folder, 'command'))
    const list = (...more: readonly string[]) =>
      plimsoll(['mcp', 'list', ...more, '--', command, ...args], { cwd: folder, env: {} })
    const first = await list('--json')
    expect(first.exit).toBe(0)
    const written = JSON.parse(first.stdout) as { definitions: { name: string; description?: string }[] }
    expect(written.definitions.map((d) => d.name)).toContain('user-profile/update')
    const definitions = written.definitions
      .filter((d) => d.name !== 'db.query')
      .map((d) => (d.name === 'ok_tool' ? { ...d, description: 'Said ok.' } : d))
    writeFileSync(join(folder, 'approved.json'), JSON.stringify({ definitions }))
    const second = await list('--approved', 'approved.json')
    expect(second.exit).toBe(1)
    expect(second.stdout).toMatch(/^changed +ok_tool /m)
    expect(second.stdout).toMatch(/^new +db\.query /m)
  })

  it('I8 an unnamed tool waits for a person, and a server that is away has certainly done nothing', async () => {
    const { named } = odd({}, { command: '/nowhere/server', args: [] })
    const stage = await play(store, {
      tools: [named('ok_tool')],
      script: [{ calls: [{ name: named('ok_tool').exposedName, arguments: {} }] }, { text: 'done' }],
    })
    const said = await stage.say('go')
    const [card] = await said.asked(1)
    await said.decide(card!, true)
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
    expect(await said.results()).toMatchObject([{ code: 'server_unavailable' }])
  })
})
