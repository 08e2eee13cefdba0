/**
 * The folder of a conversation (A10): which names lead into it and nowhere else.
 *
 * A name is judged as text alone, the same on every system: what is reserved on one is refused on all, so that a folder
 * can be made again elsewhere from what was kept.
 */
import type { ArtifactRef } from '../result/artifact.ts'

export interface Folder {
  /** On this machine, for a program that is started in it. */
  readonly path: string
  /** The path of a file in it. @throws Fault `path_not_confined` */
  resolve(name: string): Promise<string>
  read(name: string): Promise<Uint8Array>
  write(name: string, bytes: Uint8Array | string): Promise<void>
  /** Names of all files, sorted. Links are none. */
  list(): Promise<readonly string[]>
  remove(name: string): Promise<void>
  /**
   * Moves a file to the object store, where it can be downloaded and from where the folder is made again on another
   * machine; the file stays here as well. It counts once the call has succeeded.
   */
  keep(name: string, facts?: { readonly mediaType?: string }): Promise<ArtifactRef>
}

const LONGEST_NAME = 512
const LONGEST_PART = 200
const DEEPEST = 8
/** Control and format characters, what separates paths or streams anywhere, and wildcards of Windows. */
const ILLEGAL = /[\p{Cc}\p{Cf}\p{Cs}\\:*?"<>|]/u
const RESERVED = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?$/i

/** The parts of a name, or null when it could lead elsewhere or would be another name on another system. */
export function partsOf(name: string): readonly string[] | null {
  if (name.length === 0 || name.length > LONGEST_NAME || ILLEGAL.test(name)) return null
  const parts = name.split('/')
  return parts.length <= DEEPEST && parts.every(isPart) ? parts : null
}

/** Not empty, so no `/` at either end; no `.`, no `..`, and no end that Windows drops. */
const isPart = (part: string): boolean =>
  part.length > 0 && part.length <= LONGEST_PART && !/[. ]$/.test(part) && !part.startsWith(' ') && !RESERVED.test(part)
