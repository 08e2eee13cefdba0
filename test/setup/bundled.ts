/** A program of the sources in one file of plain JavaScript: it is started for each case, and loads in a fraction of the time. */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export interface Bundled {
  /** The file that is started. */
  readonly program: string
  remove(): void
}

/** `source`: from the root of the repository, and as deep below it as the files that look for the migrations. */
export function bundled(source: string): Bundled {
  const home = mkdtempSync(join(tmpdir(), 'plimsoll-bundled-'))
  const outdir = join(home, dirname(source))
  buildSync({
    entryPoints: [join(ROOT, source)],
    outdir,
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
  })
  writeFileSync(join(home, 'package.json'), '{"type":"module"}')
  for (const beside of ['node_modules', 'migrations']) symlinkSync(join(ROOT, beside), join(home, beside))
  return {
    program: join(outdir, basename(source).replace(/\.ts$/, '.js')),
    remove: () => rmSync(home, { recursive: true, force: true }),
  }
}
