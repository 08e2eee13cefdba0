/** Retention of large results: the row goes first and the object after it, whoever dies in between, in a folder and in a bucket. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { plainSealer } from '../../src/db/seal.ts'
import type { Runtime } from '../../src/runtime.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { artifactStore, type ArtifactView } from '../../src/tool/result/artifact.store.ts'
import { tool } from '../../src/tool/define.ts'
import { folderObjects } from '../../src/tool/result/folder-objects.shell.ts'
import type { ObjectStore } from '../../src/tool/result/objects.ts'
import { s3Objects } from '../../src/tool/result/s3-objects.shell.ts'
import { sweepObjects } from '../../src/tool/result/sweep.shell.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { operator } from '../setup/relay.ts'
import { type S3Server, startS3 } from '../setup/s3.ts'
import { person, play, type Said } from '../setup/stage.ts'

const thrown = (error: unknown): never => {
  throw error
}

const DAY = 86_400_000
const PROGRAM = fileURLToPath(new URL('./objects.worker.ts', import.meta.url))
const none = { type: 'object', properties: {}, additionalProperties: false } as const
const large = tool('rows.large@1', {
  input: none,
  effect: 'read',
  maxResultBytes: 512,
  run: () => 'the same bytes '.repeat(1_000),
})
const model = scripted((request) =>
  request.messages.at(-1)?.role === 'user' ? { calls: [{ name: large.exposedName, arguments: {} }] } : { text: 'done' },
)

/** Two ended conversations that have kept the same bytes; the first is past its days. */
async function twins(store: TestStore, objects: ObjectStore) {
  const stage = await play(store, { tools: [large], model, more: { objects } })
  const sayOne = async (): Promise<[Said, ArtifactView]> => {
    const said = await stage.say('go')
    expect(await said.rest()).toMatchObject({ end: 'completed' })
    const [kept] = await stage.runtime.reads.artifacts(person(), said.run)
    return [said, kept!]
  }
  const [[old, gone], [, stays]] = [await sayOne(), await sayOne()]
  await stage.stop()
  expect(stays.sha256).toBe(gone.sha256)
  await store.admin(`update plimsoll.run set ended_at = now() - interval '11 days' where id = $1`, [old.run])
  return { runtime: stage.runtime, old, gone, stays }
}

const sizeOf = async (runtime: Runtime, view: ArtifactView): Promise<number> => {
  let bytes = 0
  for await (const piece of await runtime.download(person(), view, { from: 0, to: view.bytes }))
    bytes += piece.byteLength
  return bytes
}

describe('large results past their days', { timeout: 120_000 }, () => {
  const root = mkdtempSync(join(tmpdir(), 'plimsoll-keep-'))
  let server: S3Server | null = null
  beforeAll(async () => {
    server = await startS3()
  }, 120_000)
  afterAll(async () => {
    await server?.close()
    rmSync(root, { recursive: true, force: true })
  })

  it.skipIf(!inject('postgres'))(
    'L9 I5 a process killed between the tombstone and the object leaves nothing promised and nothing for ever: the next sweep ends it',
    async () => {
      const store = await openStore('postgres')
      const folder = join(root, 'killed')
      const objects = folderObjects(folder)
      const { runtime, old, gone, stays } = await twins(store, objects)
      const who = operator('acme')
      const long = new Date(Date.now() - 2 * DAY)
      for (const { objectKey } of [gone, stays]) utimesSync(join(folder, objectKey), long, long)

      await runtime.retention.set(who, 'artifact', 10, 'policy 9')
      const hold = await runtime.retention.hold(who, 'ann', 'case 4')
      expect(await runtime.retention.run(who, false)).toMatchObject([{ class: 'artifact', kept: 1, changed: 0 }])
      expect(await runtime.reads.artifacts(person(), old.run)).toHaveLength(1)
      await runtime.retention.release(who, hold, 'closed')
      expect(await runtime.retention.run(who, false)).toMatchObject([{ class: 'artifact', runs: 1, changed: 1 }])
      expect(await runtime.reads.artifacts(person(), old.run)).toEqual([])
      await expect(runtime.reads.artifact(person(), gone.id as 'art_')).rejects.toMatchObject({ code: 'not_found' })

      const child = spawn(process.execPath, ['--import', 'tsx', PROGRAM, store.url, folder], { stdio: 'inherit' })
      expect(await new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)))).toBe('SIGKILL')
      expect(await objects.get(gone.objectKey)).not.toBeNull()

      expect(await runtime.sweep()).toMatchObject({ objects: 1 })
      expect(await objects.get(gone.objectKey)).toBeNull()
      expect(await runtime.sweep()).toMatchObject({ objects: 0 })
      expect(await sizeOf(runtime, stays)).toBe(stays.bytes)
      const books = await store.admin(
        `select (select count(*) from plimsoll.effect where run_id = $1)::int as effects, (select count(*) from plimsoll.ledger where run_id = $1)::int > 0 as ledger,
           (select bytes from plimsoll.artifact where run_id = $1)::int as bytes`,
        [old.run],
      )
      expect(books).toEqual([{ effects: 1, ledger: true, bytes: gone.bytes }])
      await store.close()
    },
  )

  it('L9 I5 an object of a bucket goes when its row has gone, and not before, though removing it fails the first time', async ({
    skip,
  }) => {
    if (!server) return skip()
    const store = await openStore(ENGINES[0] ?? 'embedded')
    const objects = s3Objects({ url: server.url, ...server.keys })
    const { runtime, gone, stays } = await twins(store, objects)
    const artifacts = artifactStore(store.db, plainSealer)
    const sweep = (objects: ObjectStore) =>
      sweepObjects({ objects, artifacts, clock: runtime.clock, onError: thrown }, -1)
    expect(await sweep(objects)).toBe(0)
    await runtime.retention.set(operator('acme'), 'artifact', 10, 'policy 9')
    await runtime.retention.run(operator('acme'), false)
    const away: ObjectStore = { ...objects, delete: () => Promise.reject(new Error('the bucket is away')) }
    await expect(sweep(away)).rejects.toThrow('the bucket is away')
    expect(await objects.get(gone.objectKey)).not.toBeNull()
    expect(await sweep(objects)).toBe(1)
    expect(await objects.get(gone.objectKey)).toBeNull()
    expect(await sizeOf(runtime, stays)).toBe(stays.bytes)
    await store.close()
  })

  it('L9 I5 what has expired stays with its bytes as long as a hold covers its subject', async () => {
    const store = await openStore(ENGINES[0] ?? 'embedded')
    const objects = folderObjects(join(root, 'held'))
    const { runtime, gone } = await twins(store, objects)
    const artifacts = artifactStore(store.db, plainSealer)
    const sweep = () => sweepObjects({ objects, artifacts, clock: runtime.clock, onError: thrown }, -1)
    await store.admin(`update plimsoll.artifact set expires_at = now() - interval '1 second' where id = $1`, [gone.id])
    const hold = await runtime.retention.hold(operator('acme'), 'ann', 'case 5')
    expect(await sweep()).toBe(0)
    expect(await objects.get(gone.objectKey)).not.toBeNull()
    await runtime.retention.release(operator('acme'), hold, 'closed')
    expect(await sweep()).toBe(1)
    await store.close()
  })
})
