import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startS3 } from '../../../test/setup/s3.ts'
import { systemIds } from '../../kernel/system.shell.ts'
import { objectKey, type ObjectStore } from './objects.ts'
import { openObjects } from './objects.shell.ts'

const server = await startS3()
const keyOf = (tenant = 'acme') =>
  objectKey({ tenant, environment: 'test', run: systemIds.next('run') }, systemIds.next('art'))
const MB = 1024 * 1024

async function* pieces(bytes: Uint8Array, size = 300_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size)
}
async function all(source: AsyncIterable<Uint8Array> | null): Promise<Buffer | null> {
  if (!source) return null
  const parts: Uint8Array[] = []
  for await (const part of source) parts.push(part)
  return Buffer.concat(parts)
}
async function listed(objects: ObjectStore): Promise<string[]> {
  const keys: string[] = []
  for await (const { key, at } of objects.list()) {
    expect(at).toBeGreaterThan(0)
    keys.push(key)
  }
  return keys.sort()
}

describe.skipIf(!server)('objects in a bucket', () => {
  let objects: ObjectStore
  beforeAll(() => {
    objects = openObjects(server?.url ?? '', server?.keys)
  })
  afterAll(() => server?.close())

  it('I5 what was put comes back, whole, in ranges, in one request or in parts', async () => {
    for (const size of [0, 1, 8 * MB - 1, 8 * MB, 20 * MB + 7]) {
      const key = keyOf()
      const bytes = randomBytes(size)
      await objects.put(key, pieces(bytes))
      expect((await all(await objects.get(key)))?.equals(bytes)).toBe(true)
      if (size < 1_000) continue
      expect((await all(await objects.get(key, { from: 500, to: 900 })))?.equals(bytes.subarray(500, 900))).toBe(true)
      const tail = await all(await objects.get(key, { from: size - 10, to: Number.MAX_SAFE_INTEGER }))
      expect(tail?.equals(bytes.subarray(-10))).toBe(true)
    }
  })

  it('I5 a source that fails half way leaves no object, and what is gone is null', async () => {
    const before = await listed(objects)
    for (const size of [MB, 17 * MB]) {
      const key = keyOf()
      async function* failing() {
        yield* pieces(randomBytes(size))
        throw new Error('the source failed')
      }
      await expect(objects.put(key, failing())).rejects.toThrow('the source failed')
      expect(await objects.get(key)).toBeNull()
    }
    expect(await listed(objects)).toEqual(before)
    const key = keyOf()
    await objects.put(key, pieces(randomBytes(10)))
    expect(await listed(objects)).toEqual([...before, key].sort())
    await objects.delete(key)
    await objects.delete(key)
    expect(await objects.get(key)).toBeNull()
    expect(await listed(objects)).toEqual(before)
  })

  it('I5 wrong keys are an error without an address or a key in it, and never a missing object', async () => {
    const key = keyOf()
    await objects.put(key, pieces(randomBytes(10)))
    const stranger = openObjects(server?.url ?? '', { accessKeyId: 'NOBODY', secretAccessKey: 'not the one' })
    for (const work of [() => stranger.get(key), () => stranger.put(key, pieces(randomBytes(10)))])
      await expect(work()).rejects.toThrow(/^the object store answered 403$/)
  })
})

describe('an object store behind an address', () => {
  it('I5 that answers with errors or elsewhere is told as such', async () => {
    const odd = createServer((_, answer) => answer.writeHead(302, { location: 'http://127.0.0.1:1/' }).end())
    await new Promise<void>((resolve) => odd.listen(0, '127.0.0.1', resolve))
    const { port } = odd.address() as AddressInfo
    const objects = openObjects(`http://127.0.0.1:${port}/bucket`, { accessKeyId: 'a', secretAccessKey: 'b' })
    await expect(objects.get(keyOf())).rejects.toThrow()
    await expect(objects.delete(keyOf())).rejects.toThrow()
    await new Promise((resolve) => odd.close(resolve))
  })

  it('H1 a key that is none is no address, and an address without a bucket none either', async () => {
    const objects = openObjects('https://s3.example.com/bucket', { accessKeyId: 'a', secretAccessKey: 'b' })
    await expect(objects.get('acme/../x')).rejects.toMatchObject({ code: 'internal' })
    for (const place of [
      'https://s3.example.com',
      'https://s3.example.com/',
      'https://me@s3.example.com/bucket',
      'https://s3.example.com/b?x',
    ])
      expect(() => openObjects(place, { accessKeyId: 'a', secretAccessKey: 'b' })).toThrow(/address of an object store/)
  })
})
