/** The doors of the package: every name in them is a promise, so a new one is a decision. */
import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import * as main from './index.ts'
import * as mcp from './mcp.ts'
import * as testing from './testing/index.ts'

const MOST_NAMES = 40

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

  it('I1 `plimsoll/mcp` gives these values and no others', () =>
    expect(Object.keys(mcp).sort()).toEqual(['definitionsOf', 'isolation', 'mcp']))

  it('I1 `plimsoll` has at most 40 names, each said by name', () => {
    const all = names('index.ts')
    expect(all.length).toBeLessThanOrEqual(MOST_NAMES)
    expect(all.sort()).toMatchSnapshot()
    expect(names('testing/index.ts').sort()).toMatchSnapshot()
  })
})
