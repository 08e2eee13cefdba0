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
import { buildSync } from 'esbuild'
import ts from 'typescript'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FOLDERS = ['src', 'test', 'bench']
const NAME = 'plimsoll-compiled-'
/** A copy of sources that have changed since is of no use to anybody after this time. */
const KEPT_MS = 86_400_000

/** The folder that holds `src/…js`, `test/…js` and `bench/…js`. */
export function compiled(): string {
  return once('', (home, files) => {
    for (const file of files) {
      const to = join(home, file.replace(/\.ts$/, '.js'))
      mkdirSync(dirname(to), { recursive: true })
      writeFileSync(to, plain(join(ROOT, file)))
    }
  })
}

/**
 * One program of the sources with all that it imports, for one that is started hundreds of times: it loads in half the
 * time. `source`: from the root of the repository, and as deep below it as the files that look for the migrations.
 */
export function bundled(source: string): string {
  const home = once(source, (outdir) =>
    buildSync({
      entryPoints: [join(ROOT, source)],
      outdir: join(outdir, dirname(source)),
      bundle: true,
      // what is imported when it is needed stays apart
      splitting: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      // these look for files beside themselves, or reach the network in ways that a bundle breaks
      external: ['@electric-sql/pglite', 'pg-native', 'undici'],
      banner: {
        js: "import { createRequire as requires } from 'node:module'; const require = requires(import.meta.url);",
      },
      logLevel: 'error',
    }),
  )
  return join(home, source.replace(/\.ts$/, '.js'))
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

const sources = (): readonly string[] =>
  FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .map((file) => join(folder, file)),
  ).sort()

/** Its folder is named by what the sources say, so that it is made once for a run and those after it. */
function once(what: string, make: (home: string, files: readonly string[]) => void): string {
  const files = sources()
  const hash = createHash('sha256').update(`${ROOT}\n${what}\n`)
  for (const file of files) hash.update(`${file}\n`).update(readFileSync(join(ROOT, file)))
  const home = join(tmpdir(), NAME + hash.digest('hex').slice(0, 16))
  if (existsSync(home)) return home
  forgetOld()
  const made = mkdtempSync(join(tmpdir(), NAME))
  make(made, files)
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
    if (Date.now() - (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > KEPT_MS)
      rmSync(folder, { recursive: true, force: true })
  }
}
