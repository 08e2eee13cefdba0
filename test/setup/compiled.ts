/** The sources as plain JavaScript in a folder of their own: a process starts from it in a third of the time. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export interface Compiled {
  /** Holds what `src/` holds. */
  readonly folder: string
  remove(): void
}

export function compiled(): Compiled {
  const home = mkdtempSync(join(tmpdir(), 'plimsoll-compiled-'))
  const folder = join(home, 'dist')
  for (const file of readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue
    const to = join(folder, file.replace(/\.ts$/, '.js'))
    mkdirSync(dirname(to), { recursive: true })
    writeFileSync(to, plain(join(ROOT, 'src', file)))
  }
  writeFileSync(join(home, 'package.json'), '{"type":"module"}')
  for (const beside of ['node_modules', 'migrations']) symlinkSync(join(ROOT, beside), join(home, beside))
  return { folder, remove: () => rmSync(home, { recursive: true, force: true }) }
}

const plain = (fileName: string): string =>
  ts.transpileModule(readFileSync(fileName, 'utf8'), {
    fileName,
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true,
    },
  }).outputText
