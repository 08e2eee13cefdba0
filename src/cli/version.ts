import { readFileSync } from 'node:fs'
import type { Output } from './output.ts'

/** Of this package; the file lies as far above `src/cli` as above `dist/cli`. */
export const packageVersion = (): string =>
  (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { readonly version: string })
    .version

export function version(out: Output): void {
  out.show(packageVersion())
  out.result({ version: packageVersion(), node: process.versions.node })
}
