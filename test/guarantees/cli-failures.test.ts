/** What a person reads when something is wrong: one line, and an exit code for a program. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXIT, Fault, FAULTS } from '../../src/kernel/fault.ts'
import { failure } from '../../src/cli/output.ts'
import { compiled } from '../setup/compiled.ts'
import { BIN, oneLine, plimsoll } from '../setup/cli.ts'

/** A process starts in a second; on a machine that does much else at once it has taken 20. */
const SLOW = 120_000
const INDEX = join(compiled(), 'src/index.js')
const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))
const NO_STORE = 'postgresql://u@127.0.0.1:1/x'
const WHOLE = `import { agent } from ${JSON.stringify(INDEX)}
import { scripted } from ${JSON.stringify(join(compiled(), 'src/testing/index.js'))}
const budget = { steps: 1, toolCalls: 1, tokens: 9_000, costCents: 1, seconds: 60 }
export default agent('whole', { model: scripted('refund-demo'), budget })
`

describe('a command that fails', () => {
  let home = ''
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'plimsoll-cli-'))
    writeFileSync(join(home, 'no-agent.mjs'), 'export default { name: "x" }')
    writeFileSync(join(home, 'broken.mjs'), 'export default (')
    writeFileSync(
      join(home, 'endless.mjs'),
      `import { agent } from ${JSON.stringify(INDEX)}\nexport default agent('endless', { model: { id: 'm', stream() {} } })`,
    )
  })
  afterAll(() => rmSync(home, { recursive: true, force: true }))

  it.each([
    ['a definition file that is not there', ['start', 'absent.ts'], 'invalid_definition', EXIT.usage],
    ['a definition that is no agent', ['start', 'no-agent.mjs'], 'invalid_definition', EXIT.usage],
    ['a definition that does not parse', ['start', 'broken.mjs'], 'invalid_definition', EXIT.usage],
    ['an agent without a budget', ['start', 'endless.mjs'], 'invalid_definition', EXIT.usage],
    [
      'a database that does not answer',
      ['start', '--db', 'postgresql://u:hunter2@127.0.0.1:1/x'],
      'store_unavailable',
      EXIT.unavailable,
    ],
    [
      'a check of a database that does not answer',
      ['migrate', '--check', '--db', 'postgresql://u:hunter2@127.0.0.1:1/x'],
      'store_unavailable',
      EXIT.unavailable,
    ],
    ['a worker without a database', ['worker', 'no-agent.mjs'], 'usage', EXIT.usage],
    ['no server', ['runs', 'list'], 'server_unreachable', EXIT.unavailable],
    ['a command that does not exist', ['runz'], 'usage', EXIT.usage],
    ['an empty address of a database', ['doctor', '--db', ''], 'usage', EXIT.usage],
    ['an option that is no number', ['start', '--port', 'many'], 'usage', EXIT.usage],
    ['an effect without a reason', ['effects', 'resolve', 'run_x/1/0', '--outcome', 'happened'], 'usage', EXIT.usage],
  ] as const)('N1 %s is told in one line, with its exit code', { timeout: SLOW }, async (_, args, code, exit) => {
    const ended = await plimsoll([...args, '--json'], { cwd: home })
    expect(ended.stderr).toMatch(oneLine(code))
    expect(ended.stderr).not.toMatch(/hunter2|node_modules|\bat .*:\d+:\d+|Error:/)
    expect(ended.stdout.trimEnd().split('\n')).toHaveLength(1)
    expect(ended.json()).toEqual({ error: { code, exit, message: ended.stderr.trimEnd() } })
    expect(ended.exit).toBe(exit)
  })

  it('N1 a wrong word is answered with the help of its own command', { timeout: SLOW }, async () => {
    const { stderr } = await plimsoll(['runs', 'list', '--all'], { cwd: home })
    expect(stderr).toContain('See `plimsoll runs list --help`.')
  })

  it('N1 the command of a clone says the same as that of a package', { timeout: SLOW }, async () => {
    const [clone, packed] = [
      await plimsoll(['runs', 'list'], { cwd: home, main: BIN }),
      await plimsoll(['runs', 'list'], { cwd: home }),
    ]
    expect(clone).toMatchObject({ exit: EXIT.unavailable, stderr: packed.stderr })
  })

  it('I1 a definition that does not load is told with the line at which it failed', { timeout: SLOW }, async () => {
    writeFileSync(join(home, 'throws.mjs'), '\n\nthrow new TypeError("no key")')
    expect((await plimsoll(['start', 'throws.mjs'], { cwd: home })).stderr).toContain('no key. It is line 3.')
  })

  it.each(['commonjs', 'module'])(
    'I1 a TypeScript definition loads in a project whose package is of type %s',
    { timeout: SLOW },
    async (type) => {
      const project = join(home, type)
      mkdirSync(project)
      symlinkSync(MODULES, join(project, 'node_modules'))
      writeFileSync(join(project, 'package.json'), JSON.stringify({ type }))
      writeFileSync(join(project, 'whole.ts'), WHOLE)
      // it is loaded before the store is opened
      const { stderr } = await plimsoll(['start', 'whole.ts', '--db', NO_STORE], { cwd: project })
      expect(stderr).toMatch(oneLine('store_unavailable'))
    },
  )

  it('I1 a line of `runtime` that does not exist is refused by its name, not passed over', {
    timeout: SLOW,
  }, async () => {
    writeFileSync(join(home, 'slip.mjs'), `${WHOLE}export const runtime = { credential: { get: () => 'k' } }`)
    const { stderr } = await plimsoll(['start', 'slip.mjs', '--db', NO_STORE], { cwd: home })
    expect(stderr).toMatch(oneLine('invalid_definition'))
    expect(stderr).toContain('"credential". Fix: `export const runtime')
    const memory = '{ authorities: {}, consolidators: {}, quota: { subject: 9, tenant: 99 }, zoneOf: () => "UTC" }'
    writeFileSync(join(home, 'memory.mjs'), `${WHOLE}export const runtime = ${memory}`)
    const known = await plimsoll(['start', 'memory.mjs', '--db', NO_STORE], { cwd: home })
    expect(known.stderr).toMatch(oneLine('store_unavailable'))
  })

  it('I1 a broken agent is told with the line that mends it', { timeout: SLOW }, async () => {
    const { stderr, stdout } = await plimsoll(['start', 'endless.mjs'], { cwd: home })
    expect(stderr).toContain('budget_missing at /budget')
    expect(stderr).toContain('Fix: `budget: {')
    expect(stdout).toBe('')
  })

  it('N1 a server that is none of ours is told as that', { timeout: SLOW }, async () => {
    const other = createServer((_, response) => response.writeHead(500).end('{"stack":"at x"}'))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', () => resolve()))
    const { port } = other.address() as { port: number }
    const env = { PLIMSOLL_URL: `http://127.0.0.1:${port}`, PLIMSOLL_KEY: 'plk_x' }
    const ended = await plimsoll(['approvals', 'list'], { cwd: home, env })
    expect(ended).toMatchObject({ exit: EXIT.failure, stderr: expect.stringMatching(oneLine('internal')) })
    await new Promise((resolve) => other.close(resolve))
  })

  it('N1 every fault of the table becomes one line and the exit code of its row', () => {
    for (const [code, row] of Object.entries(FAULTS)) {
      const told = failure(new Fault(code as keyof typeof FAULTS, 'One.\n  Two \u001b[31mred\u001b[0m.'))
      expect(told).toEqual({
        code,
        exit: row.exit,
        line: `plimsoll: One. Two \\u001b[31mred\\u001b[0m. ${row.next} [${code}]`,
      })
    }
    expect(failure(new TypeError('secret at /home/x')).line).not.toContain('secret')
  })
})
