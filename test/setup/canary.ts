/** Whether a secret can be found in bytes that somebody has taken away: in any encoding, or by guessing what was hashed. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { TestStore } from './engines.ts'

/** The part of the base64 of `text` that does not depend on what stands around it, for each of three alignments. */
function base64Cores(text: string): readonly string[] {
  return [0, 1, 2].map((pad) => {
    const whole = Buffer.concat([Buffer.alloc(pad), Buffer.from(text)])
    const from = Math.ceil((pad * 8) / 6)
    const to = Math.floor((whole.length * 8) / 6)
    return whole.toString('base64').slice(from, to)
  })
}

export function encodings(secret: string): readonly string[] {
  const hex = Buffer.from(secret).toString('hex')
  const escaped = [...secret].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
  const cores = base64Cores(secret)
  const url = cores.map((core) => core.replaceAll('+', '-').replaceAll('/', '_'))
  return [secret, hex, hex.toUpperCase(), escaped, Buffer.from(hex).toString('hex'), ...cores, ...url]
}

/** What somebody who guesses the content would look for: its plain hashes. */
export function digests(guess: string): readonly string[] {
  return ['sha256', 'sha1', 'md5', 'sha512'].flatMap((name) => {
    const digest = createHash(name).update(guess).digest()
    const hex = digest.toString('hex')
    return [hex, hex.slice(0, 16), digest.toString('base64').slice(0, 20), digest.toString('base64url').slice(0, 20)]
  })
}

/** Which of these are in the text. */
export const foundIn = (text: string, wanted: readonly string[]): readonly string[] =>
  wanted.filter((one) => text.includes(one))

/** Every row of every table, as a dump would have it. */
export async function everyRow(store: TestStore): Promise<string> {
  const tables = await store.admin(
    `select relname::text as name from pg_class where relnamespace = 'plimsoll'::regnamespace and relkind = 'r'`,
  )
  const parts: string[] = []
  for (const { name } of tables) {
    const rows = await store.admin(`select to_jsonb(t)::text as text from plimsoll.${String(name)} t`)
    parts.push(...rows.map((row) => String(row.text)))
  }
  return parts.join('\n')
}

/** Every file below a folder, byte by byte. */
export function everyFile(root: string): string {
  const parts: string[] = []
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    const path = join(root, name)
    parts.push(name)
    if (statSync(path).isFile()) parts.push(readFileSync(path, 'latin1'))
  }
  return parts.join('\n')
}
