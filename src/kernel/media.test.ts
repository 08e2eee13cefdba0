import { describe, expect, it } from 'vitest'
import { pdf, png, wav } from '../../test/setup/media.ts'
import { isDeclared, MEDIA_KINDS, mediaFacts } from './media.ts'

const bytes = (...parts: readonly (string | readonly number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))))

/** Another segment before the frame, as cameras write it. */
const jpeg = bytes(
  [0xff, 0xd8],
  [0xff, 0xe0, 0, 4, 1, 2],
  [0xff, 0xff],
  [0xc0, 0, 11, 8, 0x02, 0x58, 0x03, 0x20, 3],
  [0, 0, 0],
)
const gif = bytes('GIF89a', [0x40, 0x01, 0xf0, 0x00], [0, 0, 0])
const webp = (form: string, rest: readonly number[]): Buffer =>
  bytes('RIFF', [0, 0, 0, 0], 'WEBP', form, [10, 0, 0, 0], rest, new Array<number>(16).fill(0))
/** 128 kbit/s, layer III. */
const frame = [0xff, 0xfb, 0x90, 0x00]

describe('what a file is', () => {
  it.each([
    ['png', png(800, 600), { kind: 'image', mediaType: 'image/png', pixels: { width: 800, height: 600 } }],
    ['jpeg', jpeg, { kind: 'image', mediaType: 'image/jpeg', pixels: { width: 800, height: 600 } }],
    ['gif', gif, { kind: 'image', mediaType: 'image/gif', pixels: { width: 320, height: 240 } }],
    [
      'webp with features',
      webp('VP8X', [0, 0, 0, 0, 0x1f, 3, 0, 0x57, 2, 0]),
      { kind: 'image', mediaType: 'image/webp', pixels: { width: 800, height: 600 } },
    ],
    [
      'webp without loss',
      webp('VP8L', [0x2f, 0x1f, 0xc3, 0x95, 0]),
      { kind: 'image', mediaType: 'image/webp', pixels: { width: 800, height: 600 } },
    ],
    [
      'webp',
      webp('VP8 ', [0, 0, 0, 0x9d, 1, 0x2a, 0x20, 3, 0x58, 2]),
      { kind: 'image', mediaType: 'image/webp', pixels: { width: 800, height: 600 } },
    ],
    ['pdf', pdf(3), { kind: 'pdf', mediaType: 'application/pdf', pages: 3 }],
    ['wav', wav(2), { kind: 'audio', mediaType: 'audio/wav', seconds: 2.00275 }],
    [
      'mp3',
      bytes(frame, new Array<number>(16_000 - 4).fill(0)),
      { kind: 'audio', mediaType: 'audio/mpeg', seconds: 1 },
    ],
    [
      'mp3 behind a tag',
      bytes('ID3', [4, 0, 0, 0, 0, 0, 10], new Array<number>(10).fill(0), frame, new Array<number>(15_996).fill(0)),
      { kind: 'audio', mediaType: 'audio/mpeg', seconds: 1 },
    ],
  ] as const)('T2 %s is known by its own bytes, and its size read from its header', (_, file, facts) => {
    expect(mediaFacts(file)).toEqual({ ...facts, bytes: file.byteLength })
  })

  it('T2 what is not on the list is nothing, whatever it says it is', () => {
    const others = [
      '',
      'MZ\x90\x00',
      '<svg xmlns="http://www.w3.org/2000/svg"/>',
      '<html>%PDF-',
      'RIFF....AVI ',
      'PK\x03\x04',
      'image/png',
    ]
    for (const text of others) expect(mediaFacts(bytes(text)), text).toBeNull()
  })

  it('T2 a file that is cut off or lies about its size has none, and reading it ends', () => {
    const whole = [png(800, 600), jpeg, gif, webp('VP8X', []), wav(1), bytes('ID3', [4, 0, 0, 0x7f, 0x7f, 0x7f, 0x7f])]
    for (const file of whole)
      for (let end = 0; end <= Math.min(64, file.byteLength); end += 1)
        expect(() => mediaFacts(file.subarray(0, end))).not.toThrow()
    expect(mediaFacts(png(0, 600))).toMatchObject({ pixels: null })
    expect(mediaFacts(png(4_000_000_000, 600))).toMatchObject({ pixels: null })
    // a segment of length 0 stands still for ever, unless each step goes on
    expect(mediaFacts(bytes([0xff, 0xd8, 0xff, 0xe0, 0, 0], new Array<number>(64).fill(0)))).toMatchObject({
      pixels: null,
    })
    expect(mediaFacts(bytes(frame, 'Xing', new Array<number>(64).fill(0)))).toMatchObject({ seconds: null })
    // one page in the clear says nothing of those that are packed
    expect(mediaFacts(Buffer.concat([pdf(1), bytes('7 0 obj << /Type /ObjStm /N 900 >>')]))).toMatchObject({
      pages: null,
    })
    // of a beginning nobody counts the pages
    expect(mediaFacts(pdf(3), 1_000_000)).toMatchObject({ pages: null, bytes: 1_000_000 })
  })

  it('T2 what is declared must be what the file is, under the names that clients have for it', () => {
    const facts = mediaFacts(jpeg)!
    expect(isDeclared(facts, 'image', 'image/jpeg')).toBe(true)
    expect(isDeclared(facts, 'image', 'IMAGE/JPG')).toBe(true)
    expect(isDeclared(facts, 'image', 'image/png')).toBe(false)
    for (const kind of MEDIA_KINDS.filter((k) => k !== 'image'))
      expect(isDeclared(facts, kind, 'image/jpeg')).toBe(false)
  })
})
