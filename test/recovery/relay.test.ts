/** Processes that relay, killed and stopped while a message is on its way. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { compiled } from '../setup/compiled.ts'
import { openStore, type TestStore } from '../setup/engines.ts'
import { until } from '../setup/plane.ts'
import { openReceiver, operator, type Receiver, runtimeFor, runWith } from '../setup/relay.ts'

const STORY = ['run_queued', 'step_planned', 'calls_settled', 'run_ended']
const PROGRAM = join(compiled(), 'test/recovery/relay.worker.js')

describe.skipIf(!inject('postgres'))('a relay in a process of its own', { timeout: 120_000 }, () => {
  let store: TestStore
  let receiver: Receiver
  const children: { readonly child: ChildProcess; readonly gone: Promise<number | string> }[] = []
  beforeAll(async () => {
    store = await openStore('postgres')
  })
  afterAll(() => store?.close())
  beforeEach(async () => {
    receiver = await openReceiver()
    await runtimeFor(store, { receivers: [receiver] }).endpoints.create(operator(), { url: receiver.url, types: null })
  })
  afterEach(async () => {
    for (const { child } of children) child.kill('SIGKILL')
    await Promise.all(children.splice(0).map((c) => c.gone))
    await receiver.close()
    await store.admin('delete from plimsoll.endpoint')
  })

  function relay(faults = '') {
    const child = spawn(process.execPath, [PROGRAM, store.url, receiver.url], {
      stdio: ['pipe', 'ignore', 'inherit'],
      env: { ...process.env, PLIMSOLL_FAULT: faults },
    })
    const gone = new Promise<number | string>((resolve) =>
      child.once('exit', (code, signal) => resolve(signal ?? code ?? -1)),
    )
    children.push({ child, gone })
    return { child, gone }
  }
  /** The lease of the dead is over at once: how long it lasts is not what is looked at here. */
  async function killed(faults: string): Promise<number | string> {
    const how = await relay(faults).gone
    await store.admin(`update plimsoll.worker set lease_until = now() - interval '1 second'`)
    return how
  }
  const sentOf = (run: string) => receiver.got.filter((m) => m.run === run).map((m) => m.seq)

  it('J9 22 killed between sending and marking, another repeats the same id and goes on in order', async () => {
    const run = await runWith(store, STORY)
    expect(await killed('outbox.afterPublish:2:kill')).toBe('SIGKILL')
    expect(sentOf(run)).toEqual([1, 2])
    relay()
    await until(
      async () => sentOf(run),
      (all) => all.at(-1) === 4,
    )
    expect(sentOf(run)).toEqual([1, 2, 2, 3, 4])
    const ids = receiver.got.filter((m) => m.run === run).map((m) => m.id)
    expect(ids[1]).toBe(ids[2])
    expect(new Set(ids).size).toBe(4)
  })

  it('J9 22 killed before it was sent, another sends it', async () => {
    const run = await runWith(store, STORY)
    expect(await killed('outbox.beforePublish:3:kill')).toBe('SIGKILL')
    expect(sentOf(run)).toEqual([1, 2])
    relay()
    await until(
      async () => sentOf(run),
      (all) => all.length === 4,
    )
    expect(sentOf(run)).toEqual([1, 2, 3, 4])
  })

  it('P6 asked to stop, it lets the message that is under way arrive, marks it, and ends', async () => {
    let open = (_: number): void => {}
    receiver.answer = () => new Promise((resolve) => (open = resolve))
    const run = await runWith(store, STORY)
    const { child, gone } = relay()
    await until(
      async () => receiver.got.length,
      (n) => n === 1,
    )
    child.kill('SIGTERM')
    await new Promise((resolve) => setTimeout(resolve, 50))
    open(204)
    expect(await gone).toBe(0)
    expect(sentOf(run)).toEqual([1])
    const rows = await store.admin(`select sent, worker_id from plimsoll.delivery where run_id = '${run}'`)
    expect(rows).toEqual([{ sent: 1, worker_id: null }])
  })
})
