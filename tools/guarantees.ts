/**
 * `npm run guarantees` writes `docs/guarantees.md` from `docs/guarantees.json` and from the titles of tests that begin
 * with an id. `--check` writes nothing and fails when the page is stale, or when a promise has no test and is not
 * listed as pending.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { isMain, report } from './report.ts'

const LIST = 'docs/guarantees.json'
const PAGE = 'docs/guarantees.md'
const FOLDERS = ['src', 'test', 'examples', 'tools']

export interface Promises {
  readonly promises: Readonly<Record<string, string>>
  /** Ids whose test is still to be written. */
  readonly pending: readonly string[]
}

export interface Proof {
  readonly id: string
  readonly title: string
  readonly file: string
}

/** Ids at the head of a title: `J3 …`, or `J3 J5 …` when one test proves both. */
const IDS = /^((?:[A-Z]\d{1,2}[ ,]+)+)\S/

/** The tests of one file whose titles begin with an id. A skipped or unwritten test proves nothing. */
export function proofs(file: string, source: string): readonly Proof[] {
  const found: Proof[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) found.push(...proofsOf(node, file))
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest))
  return found
}

function proofsOf(call: ts.CallExpression, file: string): readonly Proof[] {
  const [first, ...rest] = call.arguments
  const title = first && titleOf(first)
  if (title === undefined || rest.length === 0 || /^describe$|^(skip|todo|fails)$/m.test(names(call.expression)))
    return []
  const ids = IDS.exec(title)?.[1]?.match(/[A-Z]\d+/g) ?? []
  return ids.map((id) => ({ id, title, file }))
}

/** The names of a callee, one a line: `it.skip`, `it.each(rows)` and `it.skipIf(x).each` in their parts. */
function names(node: ts.Expression): string {
  if (ts.isIdentifier(node)) return node.text
  if (ts.isPropertyAccessExpression(node)) return `${names(node.expression)}\n${node.name.text}`
  if (ts.isCallExpression(node)) return names(node.expression)
  return ''
}

function titleOf(node: ts.Expression): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text
  if (!ts.isTemplateExpression(node)) return undefined
  return node.head.text + node.templateSpans.map((span) => `…${span.literal.text}`).join('')
}

/** The page. Each promise is a section of its own, so that two branches that prove different ones merge. */
export function page({ promises }: Promises, all: readonly Proof[]): string {
  const sections = Object.entries(promises).map(([id, promise]) => {
    const tests = all.filter((proof) => proof.id === id).map((proof) => `- ${proof.title} (\`${proof.file}\`)`)
    return `## ${id}\n\n${promise}\n\n${tests.length > 0 ? [...new Set(tests)].sort().join('\n') : '- pending'}\n`
  })
  return `# Guarantees\n\nEach promise with the tests that prove it. Written by \`npm run guarantees\`.\n\n${sections.join('\n')}`
}

/** What is wrong with the list itself, given the tests that exist. */
export function complaints({ promises, pending }: Promises, all: readonly Proof[]): readonly string[] {
  const proved = new Set(all.map((proof) => proof.id))
  const missing = Object.keys(promises).filter((id) => !proved.has(id) && !pending.includes(id))
  const unknown = pending.filter((id) => !(id in promises))
  const nameless = [...proved].filter((id) => !(id in promises)).sort()
  return [
    ...(missing.length > 0 ? [`no test proves ${missing.join(' ')}`] : []),
    ...(unknown.length > 0 ? [`pending without a promise: ${unknown.join(' ')}`] : []),
    ...(nameless.length > 0 ? [`proved without a promise: ${nameless.join(' ')}`] : []),
  ]
}

const load = () => JSON.parse(readFileSync(LIST, 'utf8')) as Promises

function everyProof(): readonly Proof[] {
  return FOLDERS.filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)))
    .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
    .sort()
    .flatMap((file) => proofs(file, readFileSync(file, 'utf8')))
}

/** Exit text for `check`: null when every promise has its test or is pending, and the page says so. */
export function checkGuarantees(): string | null {
  const list = load()
  const all = everyProof()
  const wrong = [...complaints(list, all)]
  const fresh = existsSync(PAGE) && readFileSync(PAGE, 'utf8') === page(list, all) && !hasProvedPending(list, all)
  if (!fresh) wrong.push(`${PAGE} is stale, run \`npm run guarantees\``)
  return wrong.length > 0 ? wrong.join('; ') : null
}

export const pendingCount = (): number => load().pending.length

const hasProvedPending = (list: Promises, all: readonly Proof[]) => all.some((proof) => list.pending.includes(proof.id))

/** Takes what is proved by now out of `pending`, then writes the page. */
function write(): string | null {
  const before = load()
  const all = everyProof()
  const list = { ...before, pending: before.pending.filter((id) => !all.some((proof) => proof.id === id)) }
  writeFileSync(LIST, `${JSON.stringify(list, null, 2)}\n`)
  writeFileSync(PAGE, page(list, all))
  const wrong = complaints(list, all)
  return wrong.length > 0 ? wrong.join('; ') : null
}

if (isMain(import.meta.url)) {
  await report('guarantees', () => (process.argv.includes('--check') ? checkGuarantees() : write()))
}
