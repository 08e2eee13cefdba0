/**
 * How large a picture is, how many pages a document has, how long a sound is: read from the header alone, nothing is decoded.
 * A file may lie about itself; what comes out is an estimate of what it costs and never trusted further.
 */

export interface Pixels {
  readonly width: number
  readonly height: number
}

const view = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** No provider takes a side that is longer, so a header that says so is damaged. */
const MOST_SIDE = 65_535
const pixels = (width: number, height: number): Pixels | null =>
  width > 0 && height > 0 && width <= MOST_SIDE && height <= MOST_SIDE ? { width, height } : null

export const pngSize = (bytes: Uint8Array): Pixels | null =>
  bytes.byteLength < 24 ? null : pixels(view(bytes).getUint32(16), view(bytes).getUint32(20))

export const gifSize = (bytes: Uint8Array): Pixels | null =>
  bytes.byteLength < 10 ? null : pixels(view(bytes).getUint16(6, true), view(bytes).getUint16(8, true))

/** Goes from segment to segment up to the frame header. */
export function jpegSize(bytes: Uint8Array): Pixels | null {
  const at = view(bytes)
  for (let i = 2; i + 9 < bytes.byteLength; ) {
    if (at.getUint8(i) !== 0xff) return null
    const mark = at.getUint8(i + 1)
    const isFrame = mark >= 0xc0 && mark <= 0xcf && mark !== 0xc4 && mark !== 0xc8 && mark !== 0xcc
    if (isFrame) return pixels(at.getUint16(i + 7), at.getUint16(i + 5))
    // a filler, or a mark without a length
    i += mark === 0xff ? 1 : mark === 0x01 || (mark >= 0xd0 && mark <= 0xd8) ? 2 : 2 + at.getUint16(i + 2)
  }
  return null
}

/** The three forms of it: with features, lossless, plain. */
export function webpSize(bytes: Uint8Array): Pixels | null {
  if (bytes.byteLength < 30) return null
  const at = view(bytes)
  const form = String.fromCharCode(...bytes.subarray(12, 16))
  const three = (i: number): number => at.getUint16(i, true) + (at.getUint8(i + 2) << 16)
  if (form === 'VP8X') return pixels(three(24) + 1, three(27) + 1)
  if (form === 'VP8L') {
    const packed = at.getUint32(21, true)
    return pixels((packed & 0x3fff) + 1, ((packed >>> 14) & 0x3fff) + 1)
  }
  return form === 'VP8 ' ? pixels(at.getUint16(26, true) & 0x3fff, at.getUint16(28, true) & 0x3fff) : null
}

/** Counts the page objects that stand in the clear; null when there is none, or when there may be others, since newer writers pack them. */
export function pdfPages(bytes: Uint8Array): number | null {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  if (/\/Type\s{0,8}\/ObjStm(?![A-Za-z])/.test(text)) return null
  let pages = 0
  for (const _ of text.matchAll(/\/Type\s{0,8}\/Page(?![A-Za-z])/g)) pages += 1
  return pages > 0 ? pages : null
}

export const audioSeconds = (type: 'audio/wav' | 'audio/mpeg', head: Uint8Array, bytes: number): number | null =>
  type === 'audio/wav' ? wavSeconds(head, bytes) : mpegSeconds(head, bytes)

/** Between telephone speech, packed, and four channels of a studio; what is outside is damaged. */
const LEAST_WAV_RATE = 4_000
const MOST_WAV_RATE = 1_536_000

function wavSeconds(head: Uint8Array, bytes: number): number | null {
  if (head.byteLength < 44) return null
  const rate = view(head).getUint32(28, true)
  return rate < LEAST_WAV_RATE || rate > MOST_WAV_RATE ? null : bytes / rate
}

/** kbit/s of layer III by index, of version 1 and of versions 2 and 2.5. */
const RATES_1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
const RATES_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]

/** By the rate of the first frame behind the tag; null for a file of changing rate, which says so in that frame. */
function mpegSeconds(head: Uint8Array, bytes: number): number | null {
  let at = 0
  if (head[0] === 0x49 && head[1] === 0x44 && head[2] === 0x33) {
    const [a = 0, b = 0, c = 0, d = 0] = head.subarray(6, 10)
    at = 10 + ((a & 0x7f) << 21) + ((b & 0x7f) << 14) + ((c & 0x7f) << 7) + (d & 0x7f)
  }
  const frame = head.subarray(at, at + 256)
  if (frame.byteLength < 4 || frame[0] !== 0xff || ((frame[1] ?? 0) & 0xe6) !== 0xe2) return null
  const start = String.fromCharCode(...frame)
  if (start.includes('Xing') || start.includes('VBRI')) return null
  const rates = ((frame[1] ?? 0) & 0x18) === 0x18 ? RATES_1 : RATES_2
  const rate = rates[(frame[2] ?? 0) >> 4] ?? 0
  return rate === 0 ? null : (bytes - at) / (rate * 125)
}
