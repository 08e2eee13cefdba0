/** A stream of a real Redis as a sink: what a consumer group reads, also after the server was away. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { redisStream } from '../../src/journal/redis.shell.ts'
import { openStore, type TestStore } from '../setup/engines.ts'
import { until } from '../setup/plane.ts'
import { relaying, runWith } from '../setup/relay.ts'

const PORT = 54_420
const STORY = ['run_queued', 'step_planned', 'run_ended']

function hasRedis(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    console.log('redis-server is not installed: the tests of the Redis sink are skipped')
    return false
  }
}

describe.skipIf(!hasRedis())('a stream of Redis', () => {
  let store: TestStore
  let client: Redis
  let server: ChildProcess | null = null
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-redis-'))
  async function startRedis(): Promise<void> {
    const args = ['--port', String(PORT), '--bind', '127.0.0.1', '--dir', folder, '--appendonly', 'yes', '--save', '']
    server = spawn('redis-server', args, { stdio: 'ignore' })
    await until(
      () => client.ping().catch(() => ''),
      (said) => said === 'PONG',
    )
  }
  async function stopRedis(): Promise<void> {
    const gone = new Promise((resolve) => server?.once('exit', resolve))
    server?.kill('SIGTERM')
    await gone
  }
  beforeAll(async () => {
    client = new Redis({ port: PORT, host: '127.0.0.1', retryStrategy: () => 50, maxRetriesPerRequest: 0 })
    client.on('error', () => {})
    store = await openStore('embedded')
    await startRedis()
  })
  afterAll(async () => {
    client?.disconnect()
    await stopRedis()
    await store?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const entries = async () =>
    (await client.xrange('events', '-', '+')).map(([, fields]) =>
      Object.fromEntries(fields.flatMap((name, i) => (i % 2 === 0 ? [[name, fields[i + 1] ?? '']] : []))),
    )

  it('J9 holds every event once, in the order of its run, with the id of the message', async () => {
    const { stop } = await relaying(store, { sinks: [redisStream(client, { stream: 'events' })] })
    await until(
      () => store.admin('select name from plimsoll.sink'),
      (rows) => rows.length === 1,
    )
    const runs = [await runWith(store, STORY), await runWith(store, STORY, { tenant_id: 'birch' })]
    const found = await until(entries, (all) => all.length >= 6)
    await stop()
    for (const run of runs)
      expect(found.filter((e) => e.run_id === run).map((e) => [e.seq, e.type, e.id])).toEqual(
        STORY.map((type, i) => [String(i + 1), type, `evt_${run.replace('run_', '')}_${i + 1}`]),
      )
    expect(found[0]).toMatchObject({
      environment: 'production',
      at: expect.stringMatching(/^\d{13}$/),
      body: '{"step":0}',
    })
  })

  it('J9 a Redis that is away holds events up and loses none', async () => {
    await client.del('events')
    const { stop } = await relaying(store, { sinks: [redisStream(client, { stream: 'events' })] })
    await stopRedis()
    const run = await runWith(store, STORY)
    await until(
      () => store.admin(`select attempt from plimsoll.delivery where run_id = '${run}'`),
      (rows) => Number(rows[0]?.attempt) > 0,
    )
    await startRedis()
    const found = await until(entries, (all) => all.length >= 3)
    await stop()
    expect(found.map((e) => e.seq).filter((seq, i, all) => all.indexOf(seq) === i)).toEqual(['1', '2', '3'])
  })
})
