/** The doors of the package: every name in them is a promise, so a new one is a decision. */
import { existsSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import * as credentials from './credentials.ts'
import * as keys from './keys.ts'
import * as main from './index.ts'
import * as mcp from './mcp.ts'
import * as objects from './objects.ts'
import * as sinks from './sinks.ts'
import * as testing from './testing/index.ts'

/** More than somebody can look through on the first day would go into a door of its own. */
const MOST_NAMES = 50

/** All exported names of a door, types included. */
function names(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(new URL(file, import.meta.url), 'utf8'), ts.ScriptTarget.Latest)
  return source.statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement)) return []
    const clause = statement.exportClause
    // `export *` has no clause: whatever it would let out has been decided by nobody
    if (!clause || !ts.isNamedExports(clause)) throw new Error(`${file} exports names that it does not say`)
    return clause.elements.map((one) => one.name.text)
  })
}

describe('the doors', () => {
  it('I1 `plimsoll` gives these values and no others', () => expect(Object.keys(main).sort()).toMatchSnapshot())

  it('I1 `plimsoll/testing` gives these values and no others', () =>
    expect(Object.keys(testing).sort()).toMatchSnapshot())

  it.each([
    ['credentials', credentials, ['memoryTokens', 'oauthAccounts']],
    ['keys', keys, ['addToKeyFile', 'keyFileOf', 'openKeyFile', 'restoreFolder']],
    ['mcp', mcp, ['definitionsOf', 'isolation', 'mcp']],
    ['objects', objects, ['file', 'openObjects', 'withFiles']],
    ['sinks', sinks, ['redisStream']],
  ])('I1 `plimsoll/%s` gives these values and no others, and the first door none of them', (_, door, values) => {
    expect(Object.keys(door).sort()).toEqual(values)
    expect(Object.keys(main).filter((name) => name in door)).toEqual([])
  })

  it('I1 every door is in the package, and none stands beside it', () => {
    const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
      exports: Record<string, { types: string; default: string }>
    }
    const doors = ['.', './credentials', './keys', './mcp', './objects', './sinks', './testing']
    expect(Object.keys(exports)).toEqual(doors)
    for (const { types, default: code } of Object.values(exports)) {
      expect(types).toBe(code.replace(/\.js$/, '.d.ts'))
      const source = code.replace('./dist/', './').replace(/\.js$/, '.ts')
      expect(existsSync(new URL(source, import.meta.url))).toBe(true)
    }
  })

  it('I1 `plimsoll` has few enough names to look through, each said by name', () => {
    const all = names('index.ts')
    expect(all.length).toBeLessThanOrEqual(MOST_NAMES)
    expect(all.sort()).toMatchSnapshot()
    expect(names('testing/index.ts').sort()).toMatchSnapshot()
  })
})
