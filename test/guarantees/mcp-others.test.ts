/** Servers of tools that others have written, over both transports. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/kernel/system.shell.ts'
import { definitionsOf, mcp, type McpServer } from '../../src/mcp.ts'
import { openEgress } from '../../src/tool/egress/egress.shell.ts'
import { callRead } from '../../src/tool/gateway.shell.ts'
import type { McpToolSpec } from '../../src/tool/mcp/mcp.ts'
import type { AddressSpec } from '../../src/tool/mcp/mcp.shell.ts'
import type { ProcessSpec } from '../../src/tool/mcp/mcp-process.shell.ts'
import { openStore } from '../setup/engines.ts'
import { otherServer, otherServers } from '../setup/mcp-servers.ts'
import { person, play } from '../setup/stage.ts'

const installed = otherServers()
const folder = mkdtempSync(join(tmpdir(), 'mcp-others-'))
const servers: McpServer[] = []
const egress = openEgress({ clock: systemClock })
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()))
  rmSync(folder, { recursive: true })
}, 60_000)

/** A port that was free a moment ago. */
const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

const READ: McpToolSpec = { effect: 'read' }
const program = (name: string, ...args: readonly string[]): ProcessSpec => ({
  command: process.execPath,
  args: [otherServer(installed ?? '', name), ...args],
})

async function connect(spec: ProcessSpec | AddressSpec, tools: Record<string, McpToolSpec>) {
  const server = mcp('other', { ...spec, approved: await definitionsOf(spec), tools })
  servers.push(server)
  const contractOf = (name: string) => {
    const found = server.contracts.find((c) => c.name === `other.${name}`)
    if (!found) throw new Error(`no contract ${name}: ${JSON.stringify(server.tools)}`)
    return found
  }
  const read = async (name: string, input = {}) => {
    const { signal } = new AbortController()
    const cx = { actor: person(), runId: 'run_1', step: 1, position: 0, effectKey: 'key_1', signal }
    const outcome = await callRead(contractOf(name), input, cx, { clock: systemClock, egress })
    if ('later' in outcome) throw new Error('a tool of a server has nothing to wait for')
    return outcome.ok ? outcome.result : outcome.error
  }
  return { server, contractOf, read }
}

describe.skipIf(installed === null)('servers of others', { timeout: 120_000 }, () => {
  it('I8 I11 `everything` over a pipe: results, structure, pictures, an empty environment, refused free code', async () => {
    const names = [
      'echo',
      'get-sum',
      'get-structured-content',
      'get-tiny-image',
      'get-env',
      'trigger-long-running-operation',
    ]
    const tools = Object.fromEntries(
      names.map((name): [string, McpToolSpec] => [name, { effect: 'read', timeoutMs: 5_000 }]),
    )
    const { server, read } = await connect(program('everything', 'stdio'), tools)
    expect(await read('echo', { message: 'hi' })).toBe('Echo: hi')
    expect(await read('get-sum', { a: 2, b: 3 })).toContain('5')
    expect(await read('get-structured-content', { location: 'New York' })).toHaveProperty('temperature')
    expect(JSON.stringify(await read('get-tiny-image'))).toMatch(/"type":"image","mimeType":"image\/png","bytes":\d+/)
    expect(await read('get-env')).toBe('{}')
    expect(server.tools.find((t) => t.tool === 'gzip-file-as-resource')?.problems[0]).toMatch(/^free_code_parameter/)
    // what asks the client for something is not even offered to one that offers nothing
    expect(server.tools.map((t) => t.tool).filter((name) => /sampling|elicitation|roots/.test(name))).toEqual([])
    expect((await server.check()).filter((t) => t.standing === 'ready').length).toBe(server.contracts.length)
  })

  it('I8 `filesystem`: it reads at once, writes when a person agrees, and a refusal of the server stays one', async () => {
    writeFileSync(join(folder, 'a.txt'), 'hello')
    const tools = { read_text_file: READ, write_file: { effect: 'write', errorMeans: 'refused' } } as const
    const { read, contractOf } = await connect(program('filesystem', folder), tools)
    expect(JSON.stringify(await read('read_text_file', { path: join(folder, 'a.txt') }))).toContain('hello')
    expect(await read('read_text_file', { path: '/etc/passwd' })).toMatchObject({ code: 'server_refused' })
    const write = contractOf('write_file')
    const call = (path: string) => ({ name: write.exposedName, arguments: { path, content: 'new' } })
    const store = await openStore('embedded')
    const script = [{ calls: [call(join(folder, 'b.txt')), call('/etc/plimsoll.txt')] }, { text: 'done' }]
    const stage = await play(store, { tools: [write], script })
    const said = await stage.say('go')
    for (const card of await said.asked(2)) await said.decide(card, true)
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    await stage.stop()
    const results = await said.results()
    await store.close()
    expect(readFileSync(join(folder, 'b.txt'), 'utf8')).toBe('new')
    expect(results[1]).toMatchObject({ code: 'server_refused' })
  })

  it('I8 `memory`: what was written is read, and its hints leave every unnamed tool to a person', async () => {
    const spec = { ...program('memory'), env: { MEMORY_FILE_PATH: join(folder, 'memory.json') } }
    const { server, read } = await connect(spec, { read_graph: READ })
    expect(await read('read_graph')).toEqual({ entities: [], relations: [] })
    const others = server.contracts.filter((c) => c.name !== 'other.read_graph')
    expect(others.length).toBeGreaterThan(5)
    for (const { name, effect, approval } of others)
      expect([name, effect, approval]).toEqual([name, 'irreversible', 'confirm'])
  })

  it('I8 `everything` over HTTP: a server that went and came back is found by the next call', async () => {
    const port = await freePort()
    const start = async (): Promise<ChildProcess> => {
      const child = spawn(process.execPath, [otherServer(installed ?? '', 'everything'), 'streamableHttp'], {
        env: { ...process.env, PORT: `${port}` },
        stdio: 'ignore',
      })
      while (
        !(await fetch(`http://127.0.0.1:${port}/`).then(
          () => true,
          () => false,
        ))
      )
        await systemClock.sleep(50)
      return child
    }
    const stop = (child: ChildProcess) =>
      new Promise((resolve) => {
        child.once('exit', resolve)
        child.kill('SIGKILL')
      })
    const first = await start()
    const { read } = await connect({ url: `http://127.0.0.1:${port}/mcp` }, { echo: READ })
    expect(await read('echo', { message: 'hi' })).toBe('Echo: hi')
    await stop(first)
    expect(await read('echo', { message: 'hi' })).toHaveProperty('code')
    const second = await start()
    let answer: unknown
    // bounded: the session is lost once, and the wait between attempts to connect is over in seconds
    for (let i = 0; i < 100 && answer !== 'Echo: hi'; i++) {
      answer = await read('echo', { message: 'hi' })
      await systemClock.sleep(100)
    }
    expect(answer).toBe('Echo: hi')
    await stop(second)
  })
})
