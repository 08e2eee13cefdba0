/**
 * `npm run sql` writes `x.sql.ts` beside every `x.sql` under src/: one typed, named statement per block.
 * `--check` writes nothing and fails when a file would change.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import type { PGlite } from '@electric-sql/pglite'
import { type Description, describer } from './describe.ts'
import { migrated } from './migrated.ts'
import { isMain, report } from './report.ts'
import { type Block, blocks } from './sqltext.ts'

/** PostgreSQL cuts a longer name of a prepared statement, and two statements could become one. */
const MAX_STATEMENT_NAME = 63

/** What stands in `x.sql.ts`, for every `x.sql` under `source`; `port` is the file that declares `Statement`. */
export async function generate(db: PGlite, source: string, port: string): Promise<Map<string, string>> {
  const written = new Map<string, string>()
  const describe = await describer(db)
  for (const file of sqlFiles(source)) {
    const parts: string[] = []
    try {
      for (const block of blocks(readFileSync(file, 'utf8'))) {
        const description = await describe(block).catch((error: unknown) => {
          throw new Error(`line ${block.line}, ${block.name}: ${cause(error, block)}`, { cause: error })
        })
        parts.push(statement(basename(file, '.sql'), block, description))
      }
    } catch (error) {
      throw new Error(`${file}: ${(error as Error).message}`, { cause: error })
    }
    written.set(`${file}.ts`, [header(file, port), ...parts].join('\n'))
  }
  return written
}

/** The files of `wanted` that differ from the disk, and the generated files whose `.sql` is gone. */
export function stale(wanted: ReadonlyMap<string, string>, source: string): readonly string[] {
  const differing = [...wanted].filter(([file, text]) => read(file) !== text).map(([file]) => file)
  return [...differing, ...orphans(wanted, source)]
}

function sqlFiles(source: string, ending = '.sql'): readonly string[] {
  return readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(source, name))
    .sort()
}

const orphans = (wanted: ReadonlyMap<string, string>, source: string) =>
  sqlFiles(source, '.sql.ts').filter((file) => !wanted.has(file))

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

function header(file: string, port: string): string {
  const path = relative(dirname(file), port)
  return `// Written by \`npm run sql\` from ${basename(file)}: change that file.
import type { Statement } from '${path.startsWith('.') ? path : `./${path}`}'
`
}

function statement(file: string, block: Block, description: Description): string {
  const hash = createHash('sha256').update(block.text).digest('hex').slice(0, 8)
  const name = `${file.replace(/\W/g, '_')}_${block.name}_${hash}`
  if (name.length > MAX_STATEMENT_NAME) throw new Error(`${block.name}: the name ${name} is too long`)
  const type = block.name.charAt(0).toUpperCase() + block.name.slice(1)
  const doc = block.doc.length > 0 ? `/**\n${block.doc.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */\n` : ''
  const { parameters, columns } = description
  return `${shape(`${type}Params`, parameters)}${shape(`${type}Row`, columns)}${doc}export const ${block.name}: Statement<${
    parameters.length > 0 ? `${type}Params` : 'Record<never, never>'
  }, ${columns.length > 0 ? `${type}Row` : 'never'}> = {
  name: '${name}',
  text: \`${block.text.replace(/[\\`]|\$\{/g, '\\$&')}\`,
  params: [${parameters.map((parameter) => `'${parameter.name}'`).join(', ')}],
}
`
}

function shape(name: string, fields: readonly { readonly name: string; readonly type: string }[]): string {
  if (fields.length === 0) return ''
  const lines = fields.map((field) => `  readonly ${key(field.name)}: ${field.type}\n`)
  return `export interface ${name} {\n${lines.join('')}}\n`
}

const key = (name: string) => (/^[A-Za-z_]\w*$/.test(name) ? name : `'${name.replace(/['\\]/g, '\\$&')}'`)

function cause(error: unknown, block: Block): string {
  const { message, position, hint } = error as { message: string; position?: string; hint?: string }
  const near = position
    ? `near \`${block.text.slice(Number(position) - 1, Number(position) + 30).split('\n')[0]}\``
    : ''
  return [message, near, hint].filter(Boolean).join(', ')
}

/** Exit text for `check`: null when every file is fresh. */
export async function checkSql(db: PGlite): Promise<string | null> {
  const files = stale(await generate(db, 'src', 'src/db/port.ts'), 'src')
  return files.length === 0 ? null : `stale, run \`npm run sql\`: ${files.join(' ')}`
}

if (isMain(import.meta.url)) {
  await report('sql', async () => {
    const db = await migrated('migrations')
    try {
      if (process.argv.includes('--check')) return await checkSql(db)
      const wanted = await generate(db, 'src', 'src/db/port.ts')
      for (const [file, text] of wanted) if (read(file) !== text) writeFileSync(file, text)
      for (const file of orphans(wanted, 'src')) rmSync(file)
      return null
    } finally {
      await db.close()
    }
  })
}
