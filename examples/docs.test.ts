/** The code of the documentation is code: each block compiles against the doors of the package. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { EVENTS } from '../src/kernel/events.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const DOORS = ['agent', 'contractsFromYaml', 'later', 'tool', 'z']
/** What stands for the reader's own program. */
const YOURS = ['agents', 'bank', 'carrier', 'crm', 'db', 'index', 'report', 'shop', 'vault']
const PRELUDE = `declare global {
  const model: import('plimsoll').Model, tools: import('plimsoll').Contract[]
  const budget: import('plimsoll').AgentSpec['budget']
  const ${YOURS.map((name) => `${name}: any`).join(', ')}
}
export {}`
const BESIDE = { 'prelude.d.ts': PRELUDE, 'files.mcp.json': '{ "definitions": [{}] }' }

/** What a reader imports without being told: the first door. */
function whole(code: string): string {
  const isNamed = (name: string) => new RegExp(`import [^;]*\\b${name}\\b[^;]*from|const ${name} =`).test(code)
  return `import { ${DOORS.filter((name) => !isNamed(name)).join(', ')} } from 'plimsoll'; ${code}`
}

function blocks(): Map<string, string> {
  const pages = [
    'README.md',
    ...readdirSync(join(ROOT, 'docs'))
      .filter((f) => f.endsWith('.md'))
      .map((f) => `docs/${f}`),
  ]
  const found = pages.flatMap((page) =>
    [...readFileSync(join(ROOT, page), 'utf8').matchAll(/```ts\n([^]*?)```/g)].map(
      ([, code], i) => [join(ROOT, 'examples', `${page.replaceAll('/', '-')}.${i + 1}.ts`), whole(code ?? '')] as const,
    ),
  )
  return new Map(found)
}

it('I1 no page of the documentation shows code that does not compile', { timeout: 240_000 }, () => {
  const code = blocks()
  expect(code.size).toBeGreaterThan(8)
  const beside = new Map(Object.entries(BESIDE).map(([name, text]) => [join(ROOT, 'examples', name), text]))
  const [prelude = ''] = beside.keys()
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, ROOT)
  const host = ts.createCompilerHost(options)
  const read = host.readFile.bind(host)
  const text = (file: string) => beside.get(file) ?? code.get(file) ?? read(file)
  host.readFile = text
  host.fileExists = (file) => beside.has(file) || code.has(file) || ts.sys.fileExists(file)
  host.getSourceFile = (file, version) => {
    const found = text(file)
    return found === undefined ? undefined : ts.createSourceFile(file, found, version)
  }
  const program = ts.createProgram([prelude, ...code.keys()], options, host)
  const told = [prelude, ...code.keys()].flatMap((file) => {
    const source = program.getSourceFile(file)
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      (d) => `${file.slice(dirname(prelude).length + 1)}: ${ts.flattenDiagnosticMessageText(d.messageText, ' ')}`,
    )
  })
  expect(told).toEqual([])
})

it('K4 no type of event that people may see is missing from the page of the API', () => {
  const page = readFileSync(join(ROOT, 'docs/http.md'), 'utf8')
  const seen = Object.entries(EVENTS).filter(([, event]) => event.visibility === 'user')
  expect(seen.map(([type]) => type).filter((type) => !page.includes(`\`${type} {`))).toEqual([])
})
