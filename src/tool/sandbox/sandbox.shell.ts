/**
 * Folders of conversations on this machine (A10): made when a tool first asks, made again elsewhere from the files that
 * were kept, and removed when the conversation is terminated.
 *
 * Names are confined by `sandbox.ts`; here no link is followed, whoever made it. What a program that is started in the
 * folder does beyond it is for its own walls to say.
 */
import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Fault } from '../../kernel/fault.ts'
import { isId } from '../../kernel/ids.ts'
import { NAME } from '../../kernel/scope.ts'
import { refOf } from '../result/artifact.ts'
import type { ArtifactStore, ArtifactView } from '../result/artifact.store.ts'
import { type FetchParts, fetchArtifact } from '../result/fetch.shell.ts'
import { keep } from '../result/keep.shell.ts'
import { scrubbed } from '../result/pieces.shell.ts'
import { isMediaType } from '../result/raw.ts'
import type { Keeper } from '../result/result.shell.ts'
import { type Folder, partsOf } from './sandbox.ts'
import type { Scrub } from '../result/scrub.ts'

export interface FolderAt {
  readonly tenant: string
  readonly environment: string
  readonly session: string
}

/** Where files go that are kept; without a keeper, because there is no object store, nothing can be. */
export interface FolderKeeping {
  readonly keeper: Keeper | null
  readonly scrub: Scrub
  readonly maxRawBytes: number
}

export interface Folders {
  /** @throws Fault `folder_unavailable` when it cannot be made, or what was kept cannot be read */
  open(at: FolderAt, keeping: FolderKeeping): Promise<Folder>
  remove(at: FolderAt): Promise<void>
  /** All that are here. */
  list(): Promise<readonly FolderAt[]>
}

export interface FolderParts {
  readonly root: string
  /** Null: nothing was kept anywhere, and a folder on another machine begins empty. */
  readonly kept: (FetchParts & { readonly artifacts: Pick<ArtifactStore, 'files'> }) | null
}

const FOLDER_MODE = 0o700
const FILE_MODE = 0o600

export function folders(parts: FolderParts): Folders {
  const root = resolve(parts.root)
  /** Calls that run beside one another make a folder once. */
  const making = new Map<string, Promise<void>>()
  const homeOf = ({ tenant, environment, session }: FolderAt): string => {
    if (NAME.test(tenant) && NAME.test(environment) && isId('ses', session))
      return join(root, tenant, environment, session)
    throw new Fault('path_not_confined')
  }
  return {
    async open(at, keeping) {
      const home = homeOf(at)
      const made = making.get(home) ?? make(parts, at, home).finally(() => making.delete(home))
      making.set(home, made)
      try {
        await made
      } catch (cause) {
        throw new Fault('folder_unavailable', undefined, { cause })
      }
      return folderAt(home, keeping)
    },
    remove: (at) => rm(homeOf(at), { recursive: true, force: true }),
    async list() {
      const below = async (path: string): Promise<readonly string[]> =>
        (await readdir(path, { withFileTypes: true }).catch(() => [])).filter((e) => e.isDirectory()).map((e) => e.name)
      const found: FolderAt[] = []
      for (const tenant of await below(root)) {
        for (const environment of await below(join(root, tenant))) {
          const sessions = await below(join(root, tenant, environment))
          found.push(...sessions.filter((id) => isId('ses', id)).map((session) => ({ tenant, environment, session })))
        }
      }
      return found
    },
  }
}

const filesOf = (home: string): string => join(home, 'files')
const listOf = (home: string): string => join(home, 'kept.json')

/** Files that were kept, here or elsewhere, and are not here yet are written; a later one replaces an earlier of its name. */
async function make({ kept }: FolderParts, at: FolderAt, home: string): Promise<void> {
  await mkdir(filesOf(home), { recursive: true, mode: FOLDER_MODE })
  if (!kept) return
  const here = await idsHere(home)
  const missing = (await kept.artifacts.files(at, at.session)).filter((file) => !here.includes(file.id))
  for (const file of missing) await restore(kept, at, home, file)
  if (missing.length > 0) await noteHere(home, [...here, ...missing.map((file) => file.id)])
}

async function restore(parts: FetchParts, at: FolderAt, home: string, file: ArtifactView): Promise<void> {
  await makeWay(home, file.name)
  const path = await confined(home, file.name, 'make')
  const part = join(home, `${file.id}.part`)
  const handle = await open(part, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | NO_LINK, FILE_MODE)
  try {
    for await (const bytes of fetchArtifact(parts, at.tenant, file, { from: 0, to: file.bytes }))
      await handle.appendFile(bytes)
  } finally {
    await handle.close()
  }
  await rename(part, path)
}

/** What was kept is the word of the conversation: a file where its folder belongs gives way, as does a folder or a link where it belongs. */
async function makeWay(home: string, name: string): Promise<void> {
  const parts = partsOf(name) ?? []
  for (const n of parts.keys()) {
    const path = join(filesOf(home), ...parts.slice(0, n + 1))
    const found = await lstat(path).catch(() => null)
    if (found === null) return
    const fits = n === parts.length - 1 ? found.isFile() : found.isDirectory()
    if (!fits) return rm(path, { recursive: true, force: true })
  }
}

async function idsHere(home: string): Promise<readonly string[]> {
  try {
    return JSON.parse(await readFile(listOf(home), 'utf8')) as readonly string[]
  } catch {
    // a machine that never saw this conversation, or died while it wrote: everything is fetched
    return []
  }
}

async function noteHere(home: string, ids: readonly string[]): Promise<void> {
  await writeFile(`${listOf(home)}.part`, JSON.stringify(ids), { mode: FILE_MODE })
  await rename(`${listOf(home)}.part`, listOf(home))
}

/** Windows knows no such flag; there a link is found by looking before. */
const NO_LINK = constants.O_NOFOLLOW ?? 0
/** A pipe that somebody put here must not hold whoever opens it. */
const NO_WAIT = constants.O_NONBLOCK ?? 0

/** The path of a name, when nothing on the way to it is a link. `make`: folders on the way are made. */
async function confined(home: string, name: string, way: 'make' | 'look'): Promise<string> {
  const parts = partsOf(name)
  if (!parts) throw new Fault('path_not_confined')
  let path = filesOf(home)
  for (const [i, part] of parts.entries()) {
    path = join(path, part)
    const isLast = i === parts.length - 1
    if (way === 'make' && !isLast) await mkdir(path, { mode: FOLDER_MODE }).catch(() => {})
    const found = await lstat(path).catch(() => null)
    if (found === null ? way === 'make' && !isLast : isLast ? !found.isFile() : !found.isDirectory())
      throw new Fault('path_not_confined')
  }
  return path
}

/** A file of the folder and of no other: no link, no pipe, no second name of a file that lies elsewhere. */
async function opened(home: string, name: string): Promise<FileHandle> {
  const path = await confined(home, name, 'look')
  const handle = await open(path, constants.O_RDONLY | NO_LINK | NO_WAIT).catch((error: unknown) => {
    throw error instanceof Error && 'code' in error && error.code === 'ELOOP' ? new Fault('path_not_confined') : error
  })
  return own(handle)
}

/** The file itself, when it has no second name: that may lie anywhere. */
async function own(handle: FileHandle): Promise<FileHandle> {
  const found = await handle.stat()
  if (found.isFile() && found.nlink === 1) return handle
  await handle.close()
  throw new Fault('path_not_confined')
}

function folderAt(home: string, keeping: FolderKeeping): Folder {
  const path = filesOf(home)
  return {
    path,
    resolve: (name) => confined(home, name, 'look'),
    async read(name) {
      const file = await opened(home, name)
      return file.readFile().finally(() => file.close())
    },
    async write(name, bytes) {
      const target = await confined(home, name, 'make')
      const flags = constants.O_WRONLY | constants.O_CREAT | NO_LINK | NO_WAIT
      const file = await own(await open(target, flags, FILE_MODE))
      try {
        await file.truncate()
        await file.writeFile(bytes)
      } finally {
        await file.close()
      }
    },
    async list() {
      const entries = await readdir(path, { withFileTypes: true, recursive: true })
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) =>
          join(entry.parentPath, entry.name)
            .slice(path.length + 1)
            .replaceAll('\\', '/'),
        )
        .sort()
    },
    remove: async (name) => rm(await confined(home, name, 'look'), { force: true }),
    async keep(name, { mediaType } = {}) {
      const { keeper, scrub, maxRawBytes } = keeping
      if (!keeper) throw new Fault('folder_unavailable', 'There is no object store to keep a file in.')
      const file = await opened(home, name)
      const content = {
        source: scrubbed(file.createReadStream() as AsyncIterable<Uint8Array>, scrub),
        name,
        mediaType: isMediaType(mediaType) ? mediaType : 'application/octet-stream',
      }
      const kept = await keep(keeper.parts, keeper.place, content, { maxRawBytes, kind: 'file' })
      keeper.kept.push(kept)
      await noteHere(home, [...(await idsHere(home)), kept.id])
      return refOf(kept)
    },
  }
}

/** Removes folders of conversations that are terminated. Returns how many. */
export async function sweepFolders(
  here: Folders,
  over: (walls: Omit<FolderAt, 'session'>, sessions: readonly string[]) => Promise<readonly string[]>,
  onError: (error: unknown) => void,
): Promise<number> {
  const byWalls = new Map<string, FolderAt[]>()
  for (const at of await here.list()) {
    const walls = `${at.tenant}/${at.environment}`
    byWalls.set(walls, [...(byWalls.get(walls) ?? []), at])
  }
  let removed = 0
  for (const group of byWalls.values()) {
    const sessions = group.map((at) => at.session)
    const ended = await over(group[0] as FolderAt, sessions).catch((error: unknown) => {
      // what of one tenant is not known now is left, and that of others is not
      onError(error)
      return []
    })
    const gone = new Set<string>(ended)
    const leaving = group.filter((at) => gone.has(at.session))
    for (const at of leaving) await here.remove(at)
    removed += leaving.length
  }
  return removed
}
