/** The secret of an installation, when none is given: made once, kept beside the data, readable by its owner only. */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const BYTES = 32

export async function secretIn(folder: string): Promise<string> {
  const file = join(folder, 'http-secret')
  await mkdir(folder, { recursive: true })
  try {
    await writeFile(file, randomBytes(BYTES).toString('base64url'), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    // another start was first, or an earlier one
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return (await readFile(file, 'utf8')).trim()
}
