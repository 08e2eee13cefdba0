/**
 * A definition file: a module whose default export is an agent or a list of agents, and whose export `runtime`, if it has
 * one, holds what `createRuntime` is to be given besides.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Fault } from '../kernel/fault.ts'
import type { Agent, RuntimeOptions } from '../index.ts'

const MODULES = ['.js', '.mjs']
const TYPED = ['.ts', '.mts']

const LINES = [
  'authorities',
  'authorize',
  'consolidators',
  'credentials',
  'developmentOrigins',
  'embedder',
  'evaluators',
  'keys',
  'objects',
  'observe',
  'onToolError',
  'quota',
  'sinks',
  'zoneOf',
] as const

export interface Definition {
  readonly agents: readonly Agent[]
  readonly runtime: Pick<RuntimeOptions, (typeof LINES)[number]>
}

/** @throws Fault `invalid_definition` */
export async function loadDefinition(file: string): Promise<Definition> {
  const path = resolve(file)
  const extension = extname(path)
  if (![...MODULES, ...TYPED].includes(extension))
    throw wrong(file, 'is no module. Fix: give a file that ends in .js, .mjs, .ts or .mts.')
  if (!existsSync(path)) throw wrong(file, `does not exist. Fix: give its path from ${process.cwd()}.`)
  const loaded = TYPED.includes(extension)
    ? await importTyped(file, path)
    : await imported(file, () => import(pathToFileURL(path).href))
  const agents = Array.isArray(loaded.default) ? (loaded.default as unknown[]) : [loaded.default]
  if (agents.length === 0 || !agents.every(isAgent))
    throw wrong(file, "has no agent as its default export. Fix: `export default agent('support', { … })`.")
  const names = agents.map((a) => a.name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw wrong(file, `defines the agent "${twice}" twice. Fix: rename one of them.`)
  return { agents, runtime: runtimeOf(file, loaded.runtime ?? {}) }
}

/** A line with a slip of the pen would be a credential, or a sink, that is silently missing. */
function runtimeOf(file: string, given: unknown): Definition['runtime'] {
  const lines = typeof given === 'object' && given !== null ? Object.keys(given) : ['']
  const unknown = lines.find((line) => !LINES.some((known) => known === line))
  if (unknown === undefined) return given as Definition['runtime']
  const fix = `Fix: \`export const runtime = { … }\` with lines of: ${LINES.join(', ')}.`
  throw wrong(
    file,
    `exports a \`runtime\` ${unknown ? `with an unknown line "${unknown}"` : 'that is no object'}. ${fix}`,
  )
}

interface Loaded {
  readonly default?: unknown
  readonly runtime?: unknown
}

const isTranspiled = (value: unknown): value is Loaded =>
  typeof value === 'object' && value !== null && '__esModule' in value && 'default' in value

const wrong = (file: string, cause: string, thrown?: unknown): Fault =>
  new Fault('invalid_definition', `The definition file ${file} ${cause}`, { cause: thrown })

async function imported(file: string, load: () => Promise<unknown>): Promise<Loaded> {
  try {
    const loaded = (await load()) as Loaded
    // of a package that is not `"type": "module"`, the default export is all that the file exports
    return isTranspiled(loaded.default) ? loaded.default : loaded
  } catch (error) {
    if (Fault.is(error)) throw error
    throw wrong(file, `cannot be loaded: ${sentence(error)}${place(error, file)}`, error)
  }
}

/** The sentence of the loader and nothing of its stack; a heading alone says nothing. */
function sentence(error: unknown): string {
  const lines = (error instanceof Error ? error.message : String(error))
    .split('\n')
    .filter((line) => line.trim() !== '')
  const said = lines.slice(0, lines[0]?.endsWith(':') ? 2 : 1).join(' ')
  return /[.!?]$/.test(said) ? said : `${said}.`
}

/** The line of the file at which its loading failed, as far as the stack tells. */
function place(error: unknown, file: string): string {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  const at = stack.indexOf(`${basename(file)}:`)
  const line = at < 0 ? null : /^\d+/.exec(stack.slice(at + basename(file).length + 1))
  return line ? ` It is line ${line[0]}.` : ''
}

interface TsxLoader {
  readonly tsImport: (specifier: string, parent: string) => Promise<unknown>
}

async function importTyped(file: string, path: string): Promise<Loaded> {
  // already under tsx, as in the repository itself
  if (extname(import.meta.url) === '.ts') return imported(file, () => import(pathToFileURL(path).href))
  const tsx = tsxBeside(path)
  if (tsx === null)
    throw wrong(file, 'is TypeScript, and tsx is not installed. Fix: `npm i -D tsx`, or give a .js file.')
  const { tsImport } = (await import(pathToFileURL(tsx).href)) as TsxLoader
  return imported(file, () => tsImport(pathToFileURL(path).href, import.meta.url))
}

/** The tsx of the project that the file belongs to: it is no dependency of ours. */
function tsxBeside(path: string): string | null {
  try {
    // a require is answered with the CommonJS half, which lies beside the one that loads modules
    return createRequire(path)
      .resolve('tsx/esm/api')
      .replace(/\.cjs$/, '.mjs')
  } catch {
    return null
  }
}

/** An agent of another copy of this package is one, too. */
const isAgent = (value: unknown): value is Agent =>
  typeof value === 'object' &&
  value !== null &&
  ['name', 'release', 'model', 'tools', 'limits', 'rules'].every((line) => line in value)
