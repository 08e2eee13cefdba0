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
