import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addToKeyFile, openKeyFile } from './keyfile.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-key-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const refusal = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => (error as { code?: unknown }).code,
  )
const KEY = Buffer.alloc(32, 7)

it('G7 a key file is made once, for its owner alone, and two processes that make it hold the same key', async () => {
  const path = join(folder, 'made.json')
  expect(await refusal(openKeyFile(path))).toBe('sealing_key_missing')
  const all = await Promise.all([openKeyFile(path, true), openKeyFile(path, true), openKeyFile(path, true)])
  expect(new Set(all.map((one) => one.id)).size).toBe(1)
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

it('G7 what it wraps is bound to the tenant, and to its key', async () => {
  const file = await openKeyFile(join(folder, 'one.json'), true)
  const other = await openKeyFile(join(folder, 'other.json'), true)
  const wrapped = await file.wrap('acme', KEY)
  expect(Buffer.from(await file.unwrap('acme', wrapped))).toEqual(KEY)
  expect(Buffer.from(wrapped.bytes).includes(KEY)).toBe(false)
  expect(await refusal(file.unwrap('birch', wrapped))).toBe('sealing_key_unfit')
  expect(await refusal(other.unwrap('acme', wrapped))).toBe('sealing_key_unfit')
  expect(await refusal(file.unwrap('acme', { kek: file.id, bytes: wrapped.bytes.subarray(0, 5) }))).toBe(
    'sealing_key_unfit',
  )
})

it('G7 after a change of the key the older one still opens what it has wrapped', async () => {
  const path = join(folder, 'changed.json')
  const before = await openKeyFile(path, true)
  const wrapped = await before.wrap('acme', KEY)
  const after = await addToKeyFile(path)
  expect(after.id).not.toBe(before.id)
  expect([...after.ids].sort()).toEqual([before.id, after.id].sort())
  expect(Buffer.from(await after.unwrap('acme', wrapped))).toEqual(KEY)
  expect((await openKeyFile(path)).id).toBe(after.id)
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

it('G7 a file that others can read, or that is damaged, is refused and never written over', async () => {
  const path = join(folder, 'open.json')
  await openKeyFile(path, true)
  const text = readFileSync(path, 'utf8')
  chmodSync(path, 0o640)
  expect(await refusal(openKeyFile(path, true))).toBe('sealing_key_unfit')
  chmodSync(path, 0o600)
  for (const damaged of [
    '',
    '{}',
    'null',
    text.slice(0, 40),
    text.replace(/"kek_\w{16}":/, '"kek_0000000000000000":'),
  ]) {
    writeFileSync(path, damaged)
    expect([damaged, await refusal(openKeyFile(path, true))]).toEqual([damaged, 'sealing_key_unfit'])
    expect(readFileSync(path, 'utf8')).toBe(damaged)
  }
})
