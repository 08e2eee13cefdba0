/**
 * Where raw bytes are kept: a folder, or a bucket. Rows hold the key, never the bytes (I5).
 *
 * A key is `tenant/environment/run/artifact`, so that nothing of one tenant can be named by a key of another, and that
 * what belongs to a run lies together.
 */
export interface ObjectStore {
  /**
   * Stores what `source` gives under a new key, as it comes. Nothing is there until all of it is: when the source fails,
   * or the process dies, there is no object.
   */
  put(key: string, source: AsyncIterable<Uint8Array>): Promise<void>
  /** The bytes from `from` up to, not including, `to`; all without a range. Null when there is no such object. */
  get(key: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | null>
  /** Removes an object; one that is not there is removed already. */
  delete(key: string): Promise<void>
  /** Every object, what was left half written included, for the sweep. */
  list(): AsyncIterable<StoredObject>
}

export interface ByteRange {
  readonly from: number
  readonly to: number
}

export interface StoredObject {
  readonly key: string
  /** When it was written, in milliseconds since the epoch. */
  readonly at: number
}

const KEY = /^[a-z0-9_]{1,40}\/[a-z0-9_]{1,40}\/run_[0-9a-z]{26}\/art_[0-9a-z]{26}(\.part)?$/

/** True for the key of an object, and of one that is half written. Whatever is not is never made a path or an address. */
export const isObjectKey = (key: string): boolean => KEY.test(key)

export interface ObjectPlace {
  readonly tenant: string
  readonly environment: string
  readonly run: string
}

export const objectKey = (place: ObjectPlace, artifact: string): string =>
  `${place.tenant}/${place.environment}/${place.run}/${artifact}`
