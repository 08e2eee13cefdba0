/** Objects in a folder of this machine: the default, and enough for one machine. */
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Fault } from '../../kernel/fault.ts'
import { type ByteRange, isObjectKey, type ObjectStore, type StoredObject } from './objects.ts'

/** Its owner alone: what tools return is nobody else's. */
const FOLDER_MODE = 0o700
const FILE_MODE = 0o600
/** Some frames at a time: what lies in one piece need not be put together. */
const READ_BYTES = 1024 * 1024

/** `root` is made when the first object comes. A file is complete and flushed before it has its name. */
export function folderObjects(root: string): ObjectStore {
  const pathOf = (key: string): string => {
    if (!isObjectKey(key)) throw new Fault('internal', 'A key of the object store has another form.')
    return join(root, ...key.split('/'))
  }
  return {
    async put(key, source) {
      const path = pathOf(key)
      const folder = dirname(path)
      await mkdir(folder, { recursive: true, mode: FOLDER_MODE })
      const part = `${path}.part`
      const file = await open(part, 'wx', FILE_MODE)
      try {
        await write(file, source)
        await rename(part, path)
      } catch (error) {
        await rm(part, { force: true })
        throw error
      }
      await flushFolder(folder)
    },
    async get(key, range) {
      const path = pathOf(key)
      const isThere = await stat(path).catch(absent)
      return isThere ? read(path, range) : null
    },
    async delete(key) {
      await rm(pathOf(key), { force: true })
    },
    list: () => everything(root, ''),
  }
}

/** Opened by who reads, so that who does not read leaves nothing open. A link is refused: files are written here. */
async function* read(path: string, range?: ByteRange): AsyncGenerator<Uint8Array> {
  if (range && range.to <= range.from) return
  const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
  const part = range ? { start: range.from, end: range.to - 1 } : {}
  yield* file.createReadStream({ ...part, highWaterMark: READ_BYTES }) as AsyncIterable<Uint8Array>
}

async function write(file: FileHandle, source: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const bytes of source) await file.appendFile(bytes)
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** The name of a file is safe when its folder is flushed. Windows has no such thing. */
async function flushFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, constants.O_RDONLY)
  await handle.datasync().finally(() => handle.close())
}

function absent(error: unknown): null {
  if (isMissing(error)) return null
  throw error
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT'

async function* everything(root: string, below: string): AsyncGenerator<StoredObject> {
  const entries = await readdir(join(root, below), { withFileTypes: true }).catch(absent)
  for (const entry of entries ?? []) {
    const key = below === '' ? entry.name : `${below}/${entry.name}`
    if (entry.isDirectory()) yield* everything(root, key)
    else if (entry.isFile() && isObjectKey(key)) {
      const found = await stat(join(root, key)).catch(() => null)
      if (found) yield { key, at: found.mtimeMs }
    }
  }
}
