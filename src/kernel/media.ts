/**
 * Pictures, documents and sounds: the closed list of what is taken, and what a file is by its own first bytes. A name or a
 * declared type is somebody's word and never believed (T2).
 */
import { audioSeconds, gifSize, jpegSize, pdfPages, type Pixels, pngSize, webpSize } from './media-size.ts'

export type MediaKind = 'image' | 'pdf' | 'audio'
export const MEDIA_KINDS: readonly MediaKind[] = ['image', 'pdf', 'audio']

/** `null` where the file does not say it in a place that is cheap to read. `bytes` is the size of the file. */
export type MediaFacts =
  | { readonly kind: 'image'; readonly mediaType: ImageType; readonly bytes: number; readonly pixels: Pixels | null }
  | {
      readonly kind: 'pdf'
      readonly mediaType: 'application/pdf'
      readonly bytes: number
      readonly pages: number | null
    }
  | { readonly kind: 'audio'; readonly mediaType: AudioType; readonly bytes: number; readonly seconds: number | null }

type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'
type AudioType = 'audio/wav' | 'audio/mpeg'

export const MEDIA_EXTENSIONS: Readonly<Record<MediaFacts['mediaType'], string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'application/pdf': 'pdf',
  'audio/wav': 'wav',
  'audio/mpeg': 'mp3',
}

/** What a message may carry, and what of a result is shown to a model. In bytes as they are stored, before base64. */
export const MEDIA_LIMITS = { parts: 8, partBytes: 5 * 1024 * 1024, messageBytes: 8 * 1024 * 1024 } as const

/** The beginning of a file that says what it is; the size of a JPEG may stand behind a preview of 64 kB. */
export const MEDIA_HEAD = 128 * 1024

/** What the file is; null when it is none of the list. `bytes`: its whole size, when `head` is only its beginning. */
export function mediaFacts(head: Uint8Array, bytes = head.byteLength): MediaFacts | null {
  const image = imageOf(head)
  if (image) return { kind: 'image', mediaType: image.type, bytes, pixels: image.size(head) }
  if (begins(head, '%PDF-')) {
    // pages stand anywhere in it: of a beginning nobody can tell
    const pages = bytes === head.byteLength ? pdfPages(head) : null
    return { kind: 'pdf', mediaType: 'application/pdf', bytes, pages }
  }
  const mediaType = audioOf(head)
  return mediaType && { kind: 'audio', mediaType, bytes, seconds: audioSeconds(mediaType, head, bytes) }
}

interface Image {
  readonly type: ImageType
  readonly size: (head: Uint8Array) => Pixels | null
}

function imageOf(head: Uint8Array): Image | null {
  if (begins(head, '\x89PNG\r\n\x1a\n')) return { type: 'image/png', size: pngSize }
  if (begins(head, '\xff\xd8\xff')) return { type: 'image/jpeg', size: jpegSize }
  if (begins(head, 'GIF87a') || begins(head, 'GIF89a')) return { type: 'image/gif', size: gifSize }
  if (begins(head, 'RIFF') && begins(head, 'WEBP', 8)) return { type: 'image/webp', size: webpSize }
  return null
}

function audioOf(head: Uint8Array): AudioType | null {
  if (begins(head, 'RIFF') && begins(head, 'WAVE', 8)) return 'audio/wav'
  // a tag before the sound, or the mark of a frame of layer III
  const isFrame = head[0] === 0xff && ((head[1] ?? 0) & 0xe6) === 0xe2
  return begins(head, 'ID3') || isFrame ? 'audio/mpeg' : null
}

/** `mark` holds one byte per character. */
const begins = (head: Uint8Array, mark: string, at = 0): boolean =>
  Buffer.from(head.buffer, head.byteOffset, head.byteLength)
    .subarray(at, at + mark.length)
    .toString('latin1') === mark

/** `image/jpg` and the like are names that clients use for types of the list. */
const ALIASES: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'audio/x-wav': 'audio/wav',
  'audio/wave': 'audio/wav',
  'audio/mp3': 'audio/mpeg',
}

/** Whether what was declared is what the file is. */
export const isDeclared = (facts: MediaFacts, kind: string, mediaType: string): boolean =>
  facts.kind === kind && facts.mediaType === (ALIASES[mediaType.toLowerCase()] ?? mediaType.toLowerCase())
