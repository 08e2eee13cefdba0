import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = process.env.PLIMSOLL_DATA ?? join(dirname(fileURLToPath(import.meta.url)), '../../shared/data')

/** The path of a shared test file, or null with one line that says what is skipped. */
export function sharedFile(name: string): string | null {
  const path = join(ROOT, name)
  if (existsSync(path)) return path
  console.warn(`skipped: ${name} is not in ${ROOT}; set PLIMSOLL_DATA to the folder of the test data`)
  return null
}

/** The parsed content of a shared test file, or null. Lone surrogates survive. */
export function sharedJson<T>(name: string): T | null {
  const path = sharedFile(name)
  return path === null ? null : (JSON.parse(readFileSync(path, 'utf8')) as T)
}
