import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plainSealer, type Sealer } from '../../db/seal.ts'
import { systemIds } from '../../kernel/system.shell.ts'
import type { Kept } from './artifact.ts'
import { fetchArtifact } from './fetch.shell.ts'
import { folderObjects } from './folder-objects.shell.ts'
import { PIECE } from './frames.ts'
import { keep, keepValue, type Taken, takeRaw } from './keep.shell.ts'
import type { ObjectStore } from './objects.ts'
import { file, rawOf } from './raw.ts'
import { NO_SCRUB, scrubOf } from './scrub.ts'

const place = {
  tenant: 'acme',
  environment: 'test',
  run: systemIds.next('run'),
  step: 2,
  position: 0,
  tool: 'orders.list',
}

/** Every byte turned over: nothing of what it seals is readable, and a frame is longer than its piece. */
const turning: Sealer = {
  seal: (_, plain) => Uint8Array.from([7, ...plain].map((b) => b ^ 0xff)),
  open: (_, sealed) => sealed.slice(1).map((b) => b ^ 0xff),
}

let root = ''
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'plimsoll-objects-'))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

const partsOf = (sealer: Sealer = plainSealer, objects: ObjectStore = folderObjects(root)) => ({
  objects,
  sealer,
  ids: systemIds,
})
const limits = {
  maxResultBytes: 1_000,
  maxRawBytes: 64 * 1024 * 1024,
  signal: new AbortController().signal,
  scrub: NO_SCRUB,
}

async function* pieces<T>(...all: readonly T[]): AsyncGenerator<T> {
  yield* all
}
const take = (value: unknown, changes: Partial<typeof limits> = {}, parts = partsOf()): Promise<Taken> => {
  const raw = rawOf(value)
  if (!raw) throw new Error('a plain value')
  return takeRaw(parts, place, raw, { ...limits, ...changes })
}
const keptOf = (taken: Taken): Kept => {
  if (taken.is !== 'kept') throw new Error('was returned as a value')
  return taken.kept
}
const back = async (kept: Kept, from = 0, to = kept.bytes, parts = partsOf()): Promise<Buffer> => {
  const all: Uint8Array[] = []
  for await (const bytes of fetchArtifact(parts, 'acme', kept, { from, to })) all.push(bytes)
  return Buffer.concat(all)
}
const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((e) => (e.isFile() ? [e.name] : []))
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'none',
    (error: unknown) => (error as { code?: unknown }).code,
  )

describe('what a tool returns piece by piece', () => {
  it('I5 bytes of any size come back as they were, whole and in every range', async () => {
    const sizes = fc.oneof(
      fc.integer({ min: 0, max: 3 * PIECE }),
      fc.constantFrom(0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE),
    )
    await fc.assert(
      fc.asyncProperty(
        sizes,
        fc.integer({ min: 700, max: 100_000 }),
        fc.array(fc.nat(), { maxLength: 4 }),
        async (size, step, cuts) => {
          const bytes = randomBytes(size)
          const chunks = Array.from({ length: Math.ceil(size / step) }, (_, i) =>
            bytes.subarray(i * step, (i + 1) * step),
          )
          const content = { source: pieces(...chunks), name: 'x.bin', mediaType: 'application/octet-stream' }
          const kept = await keep(partsOf(), place, content, { maxRawBytes: size, kind: 'result' })
          expect([kept.bytes, kept.sha256]).toEqual([size, createHash('sha256').update(bytes).digest('hex')])
          expect((await back(kept)).equals(bytes)).toBe(true)
          for (const cut of cuts) {
            const from = size === 0 ? 0 : cut % size
            const to = from + ((cut * 7) % (size - from + 1))
            if (to > from) expect((await back(kept, from, to)).equals(bytes.subarray(from, to))).toBe(true)
          }
        },
      ),
      { numRuns: 25 },
    )
  })

  it('I5 rows become lines, with what can be said of them; the text of a stored object is sealed', async () => {
    const rows = Array.from({ length: 5_000 }, (_, i) => ({
      id: i,
      name: `customer ${i}`,
      cents: i === 77 ? 1e9 : i % 100,
    }))
    const parts = partsOf(turning)
    const kept = keptOf(await take(pieces(...rows), {}, parts))
    const text = (await back(kept, 0, kept.bytes, parts)).toString()
    expect(text).toBe(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
    expect(kept).toMatchObject({ name: 'orders.list-2-0.ndjson', mediaType: 'application/x-ndjson', kind: 'result' })
    expect(kept.summary).toMatchObject({ rows: 5_000, outliers: [{ column: 'cents', row: 78, value: 1e9 }] })
    expect(kept.summary?.columns.map((c) => c.name)).toEqual(['id', 'name', 'cents'])
    expect(readFileSync(join(root, kept.objectKey)).includes('customer')).toBe(false)
  })

  it('I5 what fits is no artifact but the value itself', async () => {
    expect(await take(pieces({ a: 1 }, { a: 2 }))).toEqual({ is: 'value', value: [{ a: 1 }, { a: 2 }] })
    expect(await take(pieces('one ', 'text'))).toEqual({ is: 'value', value: 'one text' })
    expect(await take(pieces())).toEqual({ is: 'value', value: [] })
    // what has a name is meant to be downloaded
    const named = keptOf(await take(file('a,b\n1,2\n', { name: 'orders.csv', mediaType: 'text/csv' })))
    expect([named.name, named.mediaType, (await back(named)).toString()]).toEqual([
      'orders.csv',
      'text/csv',
      'a,b\n1,2\n',
    ])
  })

  it('I5 a name or type that could end a header or a path is not taken over', async () => {
    const odd = keptOf(
      await take(file(pieces(randomBytes(4)), { name: '../../etc/passwd', mediaType: 'text/html\r\nx: y' })),
    )
    expect([odd.name, odd.mediaType]).toEqual(['orders.list-2-0.bin', 'application/octet-stream'])
  })

  it('I5 the beginning of a long text is read, the whole is kept, a character is never halved', async () => {
    const text = 'Zeile ü\n'.repeat(2_000)
    const taken = await take(pieces(text.slice(0, 5_003), text.slice(5_003)))
    expect(taken.is === 'kept' && text.startsWith(taken.head?.replace(/\uFFFD+$/, '') ?? 'x')).toBe(true)
    expect((await back(keptOf(taken))).toString()).toBe(text)
  })

  it.each([
    [
      'more than the contract lets it store',
      'result_too_large',
      () => take(pieces(...Array(20).fill(randomBytes(100))), { maxRawBytes: 1_999 }),
    ],
    [
      'a row that is no JSON',
      'result_not_serialisable',
      () => take(pieces({ at: 'x'.repeat(2_000) }, { at: new Date(0) })),
    ],
    ['text among bytes', 'result_not_serialisable', () => take(pieces<unknown>(randomBytes(3), 'text'))],
    ['a source that fails', 'ECONNRESET', () => take(failing())],
  ])('I5 nothing is left of a source with %s', async (_, code, work) => {
    const before = filesBelow(root)
    expect(await codeOf(work())).toBe(code)
    expect(filesBelow(root)).toEqual(before)
  })

  async function* failing(): AsyncGenerator<Uint8Array> {
    yield randomBytes(2 * PIECE)
    throw Object.assign(new Error('gone'), { code: 'ECONNRESET' })
  }

  it('I5 a store that fails is said to have kept nothing, and the source is told to stop', async () => {
    const objects: ObjectStore = { ...folderObjects(root), put: () => Promise.reject(new Error('no space at /srv/x')) }
    let isClosed = false
    async function* source() {
      try {
        for (;;) yield randomBytes(1_000)
      } finally {
        isClosed = true
      }
    }
    expect(await codeOf(take(source(), {}, partsOf(plainSealer, objects)))).toBe('result_not_kept')
    expect(isClosed).toBe(true)
  })

  it('K1 a source that hangs is left when the call is over, and told', async () => {
    const stop = new AbortController()
    const over = new Error('over')
    let isTold = false
    const hanging = {
      [Symbol.asyncIterator]: () => ({
        next: () => (setImmediate(() => stop.abort(over)), new Promise<never>(() => {})),
        return: () => ((isTold = true), Promise.resolve({ done: true as const, value: undefined })),
      }),
    }
    await expect(take(hanging, { signal: stop.signal })).rejects.toBe(over)
    expect(isTold).toBe(true)
  })

  it('I6 a credential is taken out of rows and bytes, also where two pieces meet', async () => {
    const scrub = scrubOf(['s3cr3t-value-of-acme'])
    const rows = keptOf(
      await take(pieces({ note: 'key s3cr3t-value-of-acme!', 's3cr3t-value-of-acme': 1 }, { x: 'y'.repeat(2_000) }), {
        scrub,
      }),
    )
    expect((await back(rows)).toString()).not.toContain('s3cr3t')
    const bytes = Buffer.from(`${'.'.repeat(50)}s3cr3t-value-of-acme${'.'.repeat(50)}`)
    for (let cut = 45; cut < 80; cut++) {
      const kept = keptOf(await take(pieces(bytes.subarray(0, cut), bytes.subarray(cut)), { scrub }))
      expect((await back(kept)).toString()).toBe(`${'.'.repeat(50)}${'*'.repeat(20)}${'.'.repeat(50)}`)
    }
  })
})

describe('a stored object', () => {
  const large = () => keepValue(partsOf(), place, 'x'.repeat(3 * PIECE), limits)

  it.each([
    ['a byte is another', (bytes: Buffer) => (bytes.fill('y', 1_000, 1_001), bytes)],
    ['its end is missing', (bytes: Buffer) => bytes.subarray(0, -10)],
    ['its last frame is missing', (bytes: Buffer) => bytes.subarray(0, Math.ceil(bytes.length / 3) * 2)],
    ['a frame is there twice', (bytes: Buffer) => Buffer.concat([bytes.subarray(0, bytes.length / 3), bytes])],
  ])('I5 is not given out as if nothing were wrong when %s', async (_, damage) => {
    const kept = await large()
    const path = join(root, kept.objectKey)
    writeFileSync(path, damage(readFileSync(path)))
    expect(await codeOf(back(kept))).toBe('content_damaged')
  })

  it('I5 that is gone is a fault, and a link in its place is not followed', async () => {
    const kept = await large()
    await folderObjects(root).delete(kept.objectKey)
    expect(await codeOf(back(kept))).toBe('content_damaged')
    symlinkSync('/etc/passwd', join(root, kept.objectKey))
    expect(await codeOf(back(kept))).toBe('ELOOP')
  })

  it('H1 a key that is none is neither a path nor an address', async () => {
    const objects = folderObjects(root)
    const run = systemIds.next('run')
    for (const key of [
      '',
      '../x',
      `acme/test/${run}/../../../x`,
      `/etc/${run}`,
      `acme//${run}/${systemIds.next('art')}`,
      `acme/test/${run}/art_1\0`,
    ]) {
      expect(await codeOf(objects.get(key))).toBe('internal')
      expect(await codeOf(objects.put(key, pieces(randomBytes(1))))).toBe('internal')
      expect(await codeOf(objects.delete(key))).toBe('internal')
    }
  })
})
