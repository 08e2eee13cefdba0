import { folderObjects } from './folder-objects.shell.ts'
import type { ObjectStore } from './objects.ts'
import { s3Objects } from './s3-objects.shell.ts'

export interface ObjectKeys {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  /** Default `us-east-1`. */
  readonly region?: string
}

/**
 * An object store: a folder of this machine, or with an address `https://host/bucket[/prefix]` a bucket of the S3 API,
 * which needs keys.
 */
export function openObjects(place: string, keys: ObjectKeys = { accessKeyId: '', secretAccessKey: '' }): ObjectStore {
  return /^https?:\/\//.test(place) ? s3Objects({ url: place, ...keys }) : folderObjects(place)
}

/** False when it was not there, or nothing is. */
export async function removeObject(objects: ObjectStore | undefined, key: string): Promise<boolean> {
  if (!objects || (await objects.get(key, { from: 0, to: 1 })) === null) return false
  await objects.delete(key)
  return true
}
