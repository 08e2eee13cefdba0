/**
 * Key-encryption keys in a file that its owner alone can read: `{ "current": id, "keys": { id: base64 of 32 bytes } }`. An
 * id is made from its key, so that it names no other. The file belongs in no backup of the database: whoever has both can
 * read everything, and whoever has lost it can read nothing.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { open, readFile, rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Fault } from '../kernel/fault.ts'
import { KEY_BYTES, NONCE_BYTES } from './envelope.ts'
import type { KeyProvider } from './keyprovider.ts'

const PRIVATE = 0o600
const OTHERS = 0o077
const TAG_BYTES = 16

export interface KeyFile extends KeyProvider {
  /** Every key of the file, the current one included. */
  readonly ids: readonly string[]
}

interface Content {
  readonly current: string
  readonly keys: Readonly<Record<string, string>>
}

const idOf = (key: Uint8Array): string => `kek_${createHash('sha256').update(key).digest('hex').slice(0, 16)}`

/**
 * Reads the file, made anew where `mayCreate` says so and there is none.
 * @throws Fault `sealing_key_missing` · `sealing_key_unfit` for a file that others can read, or that is none
 */
export async function openKeyFile(path: string, mayCreate = false): Promise<KeyFile> {
  const found = await read(path)
  if (found) return providerOf(found)
  if (!mayCreate) throw new Fault('sealing_key_missing', `There is no key file ${path}.`)
  const made = added({ current: '', keys: {} })
  // two processes that start at once: the second one takes what the first has made
  return (await create(path, made)) ? providerOf(made) : openKeyFile(path)
}

/** A new current key beside the ones that are there. What they have wrapped is wrapped anew by `rewrap`. */
export async function addToKeyFile(path: string): Promise<KeyFile> {
  const found = await read(path)
  if (!found) throw new Fault('sealing_key_missing', `There is no key file ${path}.`)
  const more = added(found)
  const half = join(dirname(path), `.keys.${process.pid}.${randomBytes(4).toString('hex')}`)
  await create(half, more)
  await rename(half, path)
  return providerOf(more)
}

function added({ keys }: Content): Content {
  const key = randomBytes(KEY_BYTES)
  return { current: idOf(key), keys: { ...keys, [idOf(key)]: key.toString('base64') } }
}

/** False when there is such a file. It is on the disk before anything is wrapped by it. */
async function create(path: string, content: Content): Promise<boolean> {
  try {
    const file = await open(path, 'wx', PRIVATE)
    await file.writeFile(`${JSON.stringify(content, null, 2)}\n`)
    await file.sync()
    await file.close()
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false
    throw new Fault('sealing_key_missing', `The key file ${path} cannot be written.`, { cause: error })
  }
}

async function read(path: string): Promise<Content | null> {
  let text: string
  try {
    const { mode } = await stat(path)
    if (process.platform !== 'win32' && (mode & OTHERS) !== 0)
      throw new Fault('sealing_key_unfit', `The key file ${path} can be read by others. Fix: chmod 600 ${path}`)
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null
    throw Fault.is(error)
      ? error
      : new Fault('sealing_key_missing', `The key file ${path} cannot be read.`, { cause: error })
  }
  const content = parsed(text)
  if (content) return content
  throw new Fault('sealing_key_unfit', `The file ${path} is no key file.`)
}

function parsed(text: string): Content | null {
  try {
    const { current, keys } = JSON.parse(text) as Content
    const isWhole = Object.entries(keys).every(([id, key]) => idOf(Buffer.from(key, 'base64')) === id)
    return isWhole && current in keys ? { current, keys } : null
  } catch {
    return null
  }
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

function providerOf({ current, keys }: Content): KeyFile {
  const keyOf = (id: string): Buffer => {
    const key = Object.hasOwn(keys, id) ? keys[id] : undefined
    if (key === undefined) throw new Fault('sealing_key_unfit', `The key file has no key ${id}.`)
    return Buffer.from(key, 'base64')
  }
  return {
    id: current,
    ids: Object.keys(keys),
    wrap: async (tenant, key) => {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', keyOf(current), nonce).setAAD(Buffer.from(tenant))
      return { kek: current, bytes: Buffer.concat([nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()]) }
    },
    unwrap: async (tenant, { kek, bytes }) => {
      const decipher = createDecipheriv('aes-256-gcm', keyOf(kek), bytes.subarray(0, NONCE_BYTES))
      decipher.setAAD(Buffer.from(tenant))
      try {
        decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES))
        const key = decipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES))
        decipher.final()
        return key
      } catch (cause) {
        throw new Fault('sealing_key_unfit', 'A data key is not what the key file has wrapped.', { cause })
      }
    },
  }
}
