/** The sources as plain JavaScript in a folder of their own: as npm ships them, and started in a third of the time. */
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FOLDERS = ['src', 'test', 'bench']
const NAME = 'plimsoll-compiled-'
/** A copy of sources that have changed since is of no use to anybody after this time. */
const KEPT_MS = 86_400_000

/**
 * The folder that holds `src/…js`, `test/…js` and `bench/…js`. It is named by what the sources say, so that it
 * is made once (4 s) for all files of a run and for the runs after it.
 */
export function compiled(): string {
  const sources = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .map((file) => join(folder, file)),
  ).sort()
  const hash = createHash('sha256').update(ROOT)
  for (const file of sources) hash.update(file).update(readFileSync(join(ROOT, file)))
  const home = join(tmpdir(), NAME + hash.digest('hex').slice(0, 16))
  if (existsSync(home)) return home
  forgetOld()
  const made = mkdtempSync(join(tmpdir(), NAME))
  for (const file of sources) {
    const to = join(made, file.replace(/\.ts$/, '.js'))
    mkdirSync(dirname(to), { recursive: true })
    writeFileSync(to, plain(join(ROOT, file)))
  }
  copyFileSync(join(ROOT, 'package.json'), join(made, 'package.json'))
  for (const beside of ['node_modules', 'migrations']) symlinkSync(join(ROOT, beside), join(made, beside))
  try {
    renameSync(made, home)
  } catch {
    // another process was as quick with the same sources
    rmSync(made, { recursive: true, force: true })
  }
  return home
}

function forgetOld(): void {
  for (const name of readdirSync(tmpdir()).filter((one) => one.startsWith(NAME))) {
    const folder = join(tmpdir(), name)
    if (Date.now() - (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0) > KEPT_MS)
      rmSync(folder, { recursive: true, force: true })
  }
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
