/**
 * Artifacts: what a call returned and nobody reads whole, kept as an object and named by an id (I5, I6).
 *
 * A row names its object and the outcome that refers to it, by the hash of that outcome. It counts only when the effect
 * at its place was settled with exactly that outcome: what a lost worker has stored refers to nothing and is swept. What
 * came with a message counts the same way, by the hash of the message.
 */
import type { ArtifactId } from '../../kernel/ids.ts'
import type { Json } from '../../kernel/json.ts'
import type { MediaFacts } from '../../kernel/media.ts'
import type { RowsSummary } from './summary.ts'

/** What an outcome, the model and a program know of an artifact. */
export interface ArtifactRef {
  readonly id: ArtifactId
  readonly name: string
  readonly mediaType: string
  /** Plain bytes, as they are downloaded. */
  readonly bytes: number
  /** Of the plain bytes, in hex. */
  readonly sha256: string
  /** What it is by its own bytes, when it is a picture, document or sound that a model may be shown. */
  readonly media?: MediaFacts
}

/** `result`: returned by a tool; `file`: kept by a tool from its session's folder; `upload`: came with a message. */
export type ArtifactKind = 'result' | 'file' | 'upload'

/** What is stored, before the outcome that refers to it is. */
export interface Kept extends ArtifactRef {
  readonly kind: ArtifactKind
  readonly objectKey: string
  /** Stored bytes of each frame but the last. */
  readonly frame: number
  /** Of rows; null for other content. */
  readonly summary: RowsSummary | null
}

export const refOf = ({ id, name, mediaType, bytes, sha256, media }: Kept): ArtifactRef => ({
  id,
  name,
  mediaType,
  bytes,
  sha256,
  ...(media && { media }),
})

/** The part of a row that is sealed. */
export interface ArtifactAbout {
  readonly name: string
  readonly frame: number
  readonly summary: RowsSummary | null
}

/** How the model reads a reference. */
export const shownRef = ({ id, name, mediaType, bytes }: ArtifactRef): Readonly<Record<string, Json>> => ({
  id,
  name,
  media_type: mediaType,
  bytes,
})

const EXTENSIONS: Readonly<Record<string, string>> = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'text/plain': 'txt',
  'text/csv': 'csv',
  'application/pdf': 'pdf',
}

/** The name of a result that its tool did not name: `orders.list-2-0.ndjson`. */
export const nameOf = (tool: string, place: { readonly step: number; readonly position: number }, type: string) =>
  `${tool}-${place.step}-${place.position}.${EXTENSIONS[type.split(';')[0] ?? ''] ?? 'bin'}`

/**
 * Everything that hangs on an artifact and holds something of it. Whoever removes one removes, or makes unreadable,
 * each of these (G2); ledger and audit keep its id and no value.
 */
export const HANGS_ON_ARTIFACT = [
  'object', // the bytes, by `artifact.object_key`
  'artifact.about', // name, columns, statistics, first rows
  'effect.result', // the outcome that refers to it: the same summary, as the model has read it
  'message.body', // the tool message with that text, and the id in the message that carries or shows it
  'sandbox', // a kept file, restored into the folder of its session on any node
] as const
