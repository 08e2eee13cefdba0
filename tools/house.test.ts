import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { cruise, type ICruiseResult, type IConfiguration } from 'dependency-cruiser'
import { ESLint } from 'eslint'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** Every rule of the house, broken once: file, text, the rule that must fire there. */
const PLANTED: readonly (readonly [file: string, text: string, rule: string])[] = [
  ['src/run/awaits.ts', 'export const f = async (x: Promise<number>) => (await x) + 1', 'no-restricted-syntax'],
  ['src/run/clock.ts', 'export const now = () => Date.now()', 'no-restricted-syntax'],
  ['src/run/date.ts', 'export const now = () => new Date()', 'no-restricted-syntax'],
  ['src/run/random.ts', 'export const roll = () => Math.random()', 'no-restricted-syntax'],
  ['src/run/promise.ts', 'export const p = () => Promise.resolve(1)', 'no-restricted-syntax'],
  ['src/run/environment.ts', 'export const home = () => process.env', 'no-restricted-globals'],
  ['src/run/timer.ts', 'export const later = () => setTimeout(() => 1, 1)', 'no-restricted-globals'],
  ['src/run/microtask.ts', 'export const later = () => queueMicrotask(() => 1)', 'no-restricted-globals'],
  ['src/run/uuid.ts', 'export const id = () => crypto.randomUUID()', 'no-restricted-globals'],
  ['src/run/entropy.ts', "export { randomUUID } from 'node:crypto'", 'no-restricted-imports'],
  ['src/run/machine.ts', "export { Script } from 'node:vm'", 'no-restricted-imports'],
  ['src/kernel/clock.ts', 'export const now = () => Date.now()', 'no-restricted-syntax'],
  ['src/run/sql.shell.ts', "export const q = 'select id from run where tenant = $1'", 'no-restricted-syntax'],
  ['src/http/sql.ts', 'export const q = `update run set version = 1`', 'no-restricted-syntax'],
  [
    'src/gate/forged.ts',
    "import type { Permit } from './decide.ts'\nexport const forge = (x: object) => x as Permit",
    'no-restricted-syntax',
  ],
  [
    'src/gate/confirmation.store.ts',
    "import type { Permit } from './decide.ts'\nexport const forge = (x: object) => x as unknown as readonly Permit[]",
    'no-restricted-syntax',
  ],
  [
    'src/gate/predicate.ts',
    "import type { Permit } from './decide.ts'\nexport const forge = (x: unknown): x is Permit => x !== null",
    'no-restricted-syntax',
  ],
  ['src/gate/never.ts', 'export const forge = (x: object) => x as never', 'no-restricted-syntax'],
  ['src/run/floating.shell.ts', 'export function f(p: Promise<void>) {\n  p\n}', 'no-floating-promises'],
  [
    'src/run/misused.shell.ts',
    'export const f = (p: Promise<boolean>) => {\n  if (p) return 1\n  return 2\n}',
    'no-misused-promises',
  ],
  ['src/run/anything.ts', 'export const f = (x: any) => [x]', 'no-explicit-any'],
  [
    'src/run/deep.ts',
    'export function f(n: number) {\n  if (n > 1) { if (n > 2) { if (n > 3) { if (n > 4) { return n } } } }\n  return 0\n}',
    'max-depth',
  ],
  ['src/run/many.ts', 'export const f = (a: 1, b: 2, c: 3, d: 4, e: 5) => [a, b, c, d, e]', 'max-params'],
  ['src/run/long.ts', lines(401), 'max-lines'],
  ['src/run/longfunction.ts', `export function f() {\n${lines(61, 'const')}\n}`, 'max-lines-per-function'],

  ['src/run/ring.ts', "export * from './ring2.ts'", 'no-cycles'],
  ['src/run/missing.ts', "export * from './nowhere.ts'", 'resolvable'],
  ['src/kernel/upward.ts', "export type * from '../gate/decide.ts'", 'kernel-is-bottom'],
  ['src/gate/world.ts', "export { rows } from './rows.store.ts'", 'pure-stays-pure'],
  ['src/gate/packages.ts', "export { Hono } from 'hono'", 'pure-packages'],
  ['src/gate/files.ts', "export { readFileSync } from 'node:fs'", 'pure-packages'],
  ['src/journal/driver.store.ts', "import pg from 'pg'\nexport const pool = () => new pg.Pool()", 'drivers-only-in-db'],
  ['src/journal/embedded.store.ts', "export type { PGlite } from '@electric-sql/pglite'", 'drivers-only-in-db'],
  ['src/journal/other.shell.ts', "export { mint } from '../gate/decide.ts'", 'slices-meet-in-run'],
  ['src/journal/above.shell.ts', "export { runtime } from '../runtime.ts'", 'edge-is-above'],
  ['src/http/bypass.ts', "export { mint } from '../gate/decide.ts'", 'http-to-runtime'],
  ['src/cli/bypass.ts', "export { rows } from '../gate/rows.store.ts'", 'cli-to-runtime'],
  ['src/runtime.ts', "export { scripted } from './testing/scripted.ts'\nexport const runtime = 1", 'testing-stays-out'],
  ['src/db/outside.ts', "export { tool } from '../../tools/tool.ts'", 'src-stands-alone'],
  ['src/db/developer.ts', "export { test } from 'fast-check'", 'no-dev-packages'],
]

/** The same kinds of line where the house allows them. */
const ALLOWED: readonly (readonly [file: string, text: string])[] = [
  [
    'src/gate/decide.ts',
    'declare const brand: unique symbol\nexport interface Permit { readonly [brand]: true }\nexport const mint = (x: object) => x as Permit',
  ],
  ['src/gate/rows.store.ts', "export const rows = 'select id from run where tenant = $1'"],
  ['src/testing/scripted.ts', 'export const scripted = () => Math.random() + Date.now()'],
  [
    'src/run/loop.shell.ts',
    "import { mint } from '../gate/decide.ts'\nexport const f = async () => mint(await import('node:fs'))",
  ],
  ['src/journal/types.ts', "export type { Permit } from '../gate/decide.ts'"],
  [
    'src/tool/hash.ts',
    "import { createHash } from 'node:crypto'\nexport const h = (s: string) => createHash('sha256').update(s)",
  ],
  ['src/tool/schema/bounded.ts', "export { Script } from 'node:vm'"],
  ['src/cli/main.ts', "export { scripted } from '../testing/scripted.ts'"],
  [
    'src/gate/some.test.ts',
    "import { rows } from './rows.store.ts'\nexport const x = async () => await Promise.resolve(rows)",
  ],
  ['tools/tool.ts', 'export const tool = 1'],
]

/** What the lines above need in order to break their rule and no other. */
const PROPS: readonly (readonly [file: string, text: string])[] = [['src/run/ring2.ts', "export * from './ring.ts'"]]

const CONFIGURATION = ['eslint.config.js', 'tools/house.js', '.dependency-cruiser.cjs', 'tsconfig.json', 'package.json']

let folder = ''
/** Rules that fired, by file. */
const fired = new Map<string, Set<string>>()

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'house-')))
  const put = (file: string, write: (path: string) => void) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    write(join(folder, file))
  }
  for (const file of CONFIGURATION) put(file, (path) => copyFileSync(file, path))
  put('node_modules', (path) => symlinkSync(realpathSync('node_modules'), path))
  for (const [file, text] of [...PLANTED, ...ALLOWED, ...PROPS]) put(file, (path) => writeFileSync(path, `${text}\n`))

  const note = (file: string, rule: string) => fired.set(file, (fired.get(file) ?? new Set()).add(rule))
  for (const result of await new ESLint({ cwd: folder }).lintFiles(['src'])) {
    for (const message of result.messages) {
      note(result.filePath.slice(folder.length + 1), message.ruleId?.replace('@typescript-eslint/', '') ?? 'unparsable')
    }
  }
  for (const violation of await arrows()) note(violation.from, violation.rule.name)
}, 120_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function arrows() {
  const load = createRequire(join(folder, 'package.json'))
  const { options, ...ruleSet } = load('./.dependency-cruiser.cjs') as IConfiguration
  const result = await cruise(['src'], { ...options, baseDir: folder, ruleSet, validate: true })
  return (result.output as ICruiseResult).summary.violations
}

function lines(n: number, keyword = 'export const') {
  return Array.from({ length: n }, (_, i) => `${keyword} line${i} = ${i}`).join('\n')
}

describe('the rules of the house', () => {
  it.each(PLANTED)('house: %s is refused', (file, _text, rule) => {
    expect([...(fired.get(file) ?? [])]).toContain(rule)
  })

  it.each(ALLOWED)('house: %s is accepted', (file) => {
    const house = new Set(PLANTED.map(([, , rule]) => rule))
    expect([...(fired.get(file) ?? [])].filter((rule) => house.has(rule))).toEqual([])
  })
})
