/** The damage of one tenant, in its rows or in its keys, is nobody else's. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openKeyFile } from '../../src/db/keyfile.ts'
import { keyedDb, openKeyring } from '../../src/db/keyring.ts'
import type { Db } from '../../src/db/port.ts'
import { startSweeping } from '../../src/journal/retention.shell.ts'
import { retentionStore } from '../../src/journal/retention.store.ts'
import { Fault } from '../../src/kernel/fault.ts'
import type { RunId } from '../../src/kernel/ids.ts'
import type { Actor } from '../../src/kernel/scope.ts'
import { systemClock, systemRandom } from '../../src/kernel/system.shell.ts'
import type { Forgetting } from '../../src/memory/derivatives.shell.ts'
import { forgetDue } from '../../src/memory/forget.shell.ts'
import { forgetStore } from '../../src/memory/forget.store.ts'
import { actorFrom, scopeOf } from '../../src/request/actor.ts'
import { agent } from '../../src/run/agent.ts'
import { backgroundOf } from '../../src/run/background.shell.ts'
import { doErrands, type Errands } from '../../src/run/errand.shell.ts'
import { errandStore } from '../../src/run/errand.store.ts'
import type { Run } from '../../src/run/state.ts'
import { createRuntime, type Runtime } from '../../src/runtime.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { tool } from '../../src/tool/define.ts'
import { sweepObjects } from '../../src/tool/result/sweep.shell.ts'
import { ENGINES, openStore, type TestStore } from '../setup/engines.ts'
import { play, type Said } from '../setup/stage.ts'

const BUDGET = { steps: 8, toolCalls: 12, tokens: 200_000, costCents: 1_000, seconds: 60 }
const who = (tenant: string, kind: Actor['kind'] = 'end_user'): Actor =>
  actorFrom({ kind, tenant, environment: 'production', user: 'ann', subject: 'ann', permissions: ['*'] })

let store: TestStore
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'plimsoll-one-tenant-'))
  store = await openStore(ENGINES[0] ?? 'embedded')
})
afterAll(async () => {
  await store?.close()
  rmSync(folder, { recursive: true, force: true })
})

interface RunNow {
  readonly status: string
  readonly wait: string | null
  readonly end: string | null
  readonly attempts: number
  readonly later: boolean
}
const rowOf = async (run: string): Promise<RunNow> => {
  const [row] = await store.admin(
    `select status, wait_reason as wait, end_reason as end, attempts, due_at > now() as later from plimsoll.run where id = $1`,
    [run],
  )
  return row as unknown as RunNow
}
async function untilRow(run: string, wanted: (row: RunNow) => boolean): Promise<RunNow> {
  for (;;) {
    const row = await rowOf(run)
    if (wanted(row)) return row
    await systemClock.sleep(30)
  }
}
const isOver = ({ status }: RunNow): boolean => ['succeeded', 'failed', 'canceled'].includes(status)

describe('damaged rows', () => {
  const damage = (said: Said) =>
    store.admin(`update plimsoll.effect set arguments = '\\x01dead' where run_id = $1`, [said.run])
  const ship = tool('crate.send@1', {
    input: z.strictObject({ key: z.string() }),
    effect: 'irreversible',
    unknown: 'manual',
    commit: () => ({ ok: true }),
  })
  const stageOf = (concurrency: number) =>
    play(store, {
      tools: [ship],
      attempts: 2,
      worker: { concurrency },
      script: (request, turn) =>
        turn === 0 && JSON.stringify(request.messages).includes('send')
          ? { calls: [{ name: ship.exposedName, arguments: { key: 'k' } }] }
          : { text: 'done' },
    })

  it('L4 a run whose call cannot be opened ends, tells it, and gives its place to others', async () => {
    const stage = await stageOf(1)
    const whole = await stage.say('send')
    const said = await stage.say('send')
    for (const one of [whole, said]) {
      const [card] = await one.asked(1)
      if (one === said) await damage(one)
      await store.admin(
        `update plimsoll.confirmation set status = 'approved', decided_by = 'ann', decided_at = now(),
           execute_by = now() + interval '1 hour' where id = $1`,
        [card?.id],
      )
    }
    const wake = `update plimsoll.run set status = 'queued', wait_reason = null, due_at = now() where id = $1`
    for (const one of [said, whole]) await store.admin(wake, [one.run])
    const other = await stage.runtime.submit(who('globex'), { agent: stage.name, text: 'hi' })
    expect(await untilRow(other.run, isOver)).toMatchObject({ status: 'succeeded' })
    expect(await untilRow(said.run, isOver)).toMatchObject({ status: 'failed', end: 'attempts_exhausted' })
    expect(await untilRow(whole.run, isOver)).toMatchObject({ status: 'succeeded' })
    expect(await said.effects()).toMatchObject([{ status: 'settled', outcome: 'error', code: 'not_started' }])
    // the conversation and its books are closed as those of any run
    const [held] = await store.admin('select reserved_tokens::int as tokens from plimsoll.run where id = $1', [
      said.run,
    ])
    expect(held).toEqual({ tokens: 0 })
    const events = await store.admin('select type from plimsoll.event where run_id = $1 order by seq desc', [said.run])
    expect(events[0]).toEqual({ type: 'run_ended' })
    expect(await said.results()).toHaveLength(1)
    await stage.stop()
  })

  it('L4 J4 one that has started waits as unknown, for an operator, who can end it', async () => {
    const stage = await stageOf(1)
    const said = await stage.say('send')
    await said.asked(1)
    await damage(said)
    await store.admin(
      `update plimsoll.confirmation set status = 'consumed', decided_by = 'ann', decided_at = now(),
         execute_by = now() + interval '1 hour', consumed_at = now() where run_id = $1`,
      [said.run],
    )
    await store.admin(
      `update plimsoll.effect set status = 'started', started_at = now(), attempt = 1 where run_id = $1`,
      [said.run],
    )
    const wake = `update plimsoll.run set status = 'queued', wait_reason = null, due_at = now() where id = $1`
    await store.admin(wake, [said.run])
    expect(await untilRow(said.run, (row) => row.wait === 'unknown_effect')).toMatchObject({
      status: 'waiting_confirmation',
    })
    const at = { run: said.run, step: 1, position: 0 }
    const [effect] = await said.effects()
    const ended = await stage.runtime.resolve(
      who('acme', 'operator'),
      { ...at, step: effect?.step ?? 0, position: effect?.position ?? 0 },
      { outcome: 'leave', reason: 'nobody knows' },
    )
    expect(ended.end).toBe('unknown_effect')
    expect(await said.effects()).toMatchObject([{ status: 'unknown' }])
    await stage.stop()
  })

  it('L4 K1 a person cancels a run whose call cannot be opened; its plan is never decided on', async () => {
    const stage = await stageOf(1)
    const said = await stage.say('send')
    const [card] = await said.asked(1)
    await damage(said)
    await store.admin(`update plimsoll.confirmation set resource_version = '1' where id = $1`, [card?.id])
    await expect(said.decide(card as NonNullable<typeof card>, true)).rejects.toMatchObject({ code: 'content_damaged' })
    await said.cancel()
    expect(await rowOf(said.run)).toMatchObject({ status: 'canceled' })
    await stage.stop()
  })
})

describe.skipIf(ENGINES[0] === undefined)('keys that cannot be had', () => {
  const keysOf = (name: string) => openKeyFile(join(folder, `${name}.json`), true)
  const make = async (name: string): Promise<Runtime> =>
    createRuntime({
      db: store.db,
      keys: await keysOf(name),
      agents: [agent('talks', { budget: BUDGET, model: scripted([{ text: 'done' }]) })],
    })
  const keyed = async (name: string): Promise<{ db: Db; ring: ReturnType<typeof openKeyring> }> => {
    const ring = openKeyring({
      db: store.db,
      keys: await keysOf(name),
      clock: systemClock,
      random: systemRandom,
      refusePlain: false,
    })
    return { db: keyedDb(store.db, ring), ring }
  }

  it('L4 a run whose key cannot be unwrapped holds no place, is tried later each time, and goes on with the key', async () => {
    const [mine, others] = [await make('mine'), await make('others')]
    const { run } = await mine.submit(who('lost'), { agent: 'talks', text: 'hi' })
    const codes: string[] = []
    const how = { pollMs: 50, concurrency: 1, onError: (error: unknown) => void codes.push((error as Fault).code) }
    const worker = await others.work(how)
    expect(await untilRow(run, (row) => row.attempts > 0)).toMatchObject({ status: 'queued', attempts: 1, later: true })
    const fine = await others.submit(who('fine'), { agent: 'talks', text: 'hi' })
    expect(await untilRow(fine.run, isOver)).toMatchObject({ status: 'succeeded' })
    expect(new Set(codes)).toEqual(new Set(['sealing_key_unfit']))
    await expect(others.cancel(who('lost'), run, 'user', null)).rejects.toMatchObject({ code: 'sealing_key_unfit' })
    await worker.stop()
    await store.admin('update plimsoll.run set due_at = now() where id = $1', [run])
    const owner = await mine.work({ pollMs: 50 })
    expect(await untilRow(run, isOver)).toMatchObject({ status: 'succeeded' })
    await owner.stop()
  })

  it('L4 keys that are out of reach for longer than a lease take no place either', async () => {
    const mine = await make('mine')
    const { run } = await mine.submit(who('away'), { agent: 'talks', text: 'hi' })
    const keys = await keysOf('mine')
    const out = createRuntime({
      db: store.db,
      keys: { ...keys, id: keys.id, wrap: keys.wrap, unwrap: () => Promise.reject(new Error('the service is away')) },
      agents: [agent('talks', { budget: BUDGET, model: scripted([{ text: 'done' }]) })],
    })
    const worker = await out.work({ pollMs: 50, heartbeatMs: 100, leaseMs: 400, onError: () => {} })
    expect(await untilRow(run, (row) => row.attempts > 0)).toMatchObject({ status: 'queued', later: true })
    await worker.stop()
  })

  it('L9 a sweep that fails for one tenant goes on with the others, and comes last the next time', async () => {
    const mine = await make('mine')
    await mine.retention.set(who('lost2', 'operator'), 'event', 1, 'policy')
    const others = await make('others')
    await others.retention.set(who('fine2', 'operator'), 'event', 1, 'policy')
    await store.admin(
      `update plimsoll.retention set swept_at = now() - case tenant_id when 'lost2' then interval '3 days' else interval '2 days' end`,
    )
    const { db, ring } = await keyed('others')
    const retention = retentionStore(db, ring)
    expect(await retention.due(1)).toMatchObject([{ tenant: 'lost2' }])
    const codes: string[] = []
    let hours = 0
    const sweeping = startSweeping(
      {
        retention,
        messagesGone: () => Promise.resolve(),
        ids: others.ids,
        scopeOf,
        clock: {
          ...systemClock,
          sleep: (ms, signal) => ((hours += 1) === 1 ? Promise.resolve() : systemClock.sleep(ms, signal)),
        },
      },
      (error) => void codes.push((error as Fault).code),
    )
    const swept = `select swept_at > now() - interval '1 day' as swept from plimsoll.retention where tenant_id = 'fine2'`
    while ((await store.admin(swept))[0]?.swept !== true) await systemClock.sleep(20)
    await sweeping.stop()
    expect(codes).toEqual(['sealing_key_unfit'])
    await store.admin(`update plimsoll.retention set swept_at = now() - interval '2 days' where tenant_id = 'fine2'`)
    expect((await retention.due(2)).map(({ tenant }) => tenant)).toEqual(['fine2', 'lost2'])
  })

  it('L9 a rule, a hold and its release are the first acts of a process for a tenant', async () => {
    const operator = who('first', 'operator')
    const fresh = async () => (await make('mine')).retention
    await (await fresh()).set(operator, 'event', 3, 'policy')
    const hold = await (await fresh()).hold(operator, 'ann', 'case 1')
    await (await fresh()).release(operator, hold, 'closed')
    expect(await (await fresh()).holds(operator)).toEqual([])
  })

  it('D4 an errand that nobody can take for want of keys holds up no other, and is looked at later', async () => {
    const [mine, others] = [await make('mine'), await make('others')]
    for (const [runtime, tenant] of [
      [mine, 'lost3'],
      [others, 'fine3'],
    ] as const) {
      await runtime.submit(who(tenant), { agent: 'talks', text: 'hi' })
      await store.admin(
        `insert into plimsoll.errand (tenant_id, id, environment, kind, agent, session_id, user_id, subject_id,
           from_generation, to_generation, upto, due_at)
         values ($1, $2, 'production', 'other', 'talks', 'ses_1', 'ann', 'ann', 1, 1, 'm', now() - $3::interval)`,
        [tenant, `ern_${tenant}`, tenant === 'lost3' ? '2 minutes' : '1 minute'],
      )
    }
    const { db, ring } = await keyed('others')
    const codes: string[] = []
    const parts = {
      store: errandStore(db, ring),
      kinds: {},
      ids: others.ids,
      onError: (error: unknown) => void codes.push((error as Fault).code),
    } as unknown as Errands
    await doErrands(parts, new AbortController().signal)
    expect(codes).toEqual(['sealing_key_unfit'])
    const rows = await store.admin(
      `select id, state, due_at > now() as later from plimsoll.errand where id in ('ern_lost3', 'ern_fine3') order by id`,
    )
    expect(rows).toEqual([
      { id: 'ern_fine3', state: 'running', later: true },
      { id: 'ern_lost3', state: 'due', later: true },
    ])
  })

  it('G2 a deletion that nobody can carry on with for want of keys holds up no other, and is looked at later', async () => {
    const [mine, others] = [await make('mine'), await make('others')]
    for (const [runtime, tenant] of [
      [mine, 'lost4'],
      [others, 'fine4'],
    ] as const) {
      await runtime.submit(who(tenant), { agent: 'talks', text: 'hi' })
      await store.admin(
        `insert into plimsoll.deletion (tenant_id, id, environment, subject_id, kind, target, actor_kind, actor, due_at)
         values ($1, $2, 'production', 'ann', 'memory', 'mem_1', 'end_user', 'ann', now() - $3::interval)`,
        [tenant, `del_${tenant}`, tenant === 'lost4' ? '2 minutes' : '1 minute'],
      )
    }
    const { db, ring } = await keyed('others')
    const codes: string[] = []
    const forgetting = { store: forgetStore(db, ring), ids: others.ids, others: {} } as unknown as Forgetting
    await forgetDue(forgetting, new AbortController().signal, (error) => void codes.push((error as Fault).code))
    expect(codes).toEqual(['sealing_key_unfit'])
    const rows = await store.admin(
      `select id, done_at is not null as done, due_at > now() as later from plimsoll.deletion where id in ('del_lost4', 'del_fine4')
       order by id`,
    )
    expect(rows).toEqual([
      { id: 'del_fine4', done: true, later: true },
      { id: 'del_lost4', done: false, later: true },
    ])
  })
})

it('D4 an end of a run that cannot be seen to holds up no other', async () => {
  const woken: string[] = []
  const errors: unknown[] = []
  let looks = 0
  const background = backgroundOf({
    store: {
      wake: (_: unknown, run: RunId) => {
        if (run === 'run_lost') return Promise.reject(new Fault('sealing_key_unfit'))
        if (run === 'run_away' && looks === 1) return Promise.reject(new Fault('store_unavailable'))
        woken.push(run)
        return Promise.resolve()
      },
      due: () => Promise.resolve([]),
    },
    served: new Map(),
    extracting: {},
    onError: (error: unknown) => void errors.push(error),
    clock: {
      ...systemClock,
      sleep: (ms: number, signal?: AbortSignal) =>
        (looks += 1) <= 2 ? Promise.resolve() : systemClock.sleep(ms, signal),
    },
  } as unknown as Parameters<typeof backgroundOf>[0])
  for (const run of ['run_lost', 'run_away', 'run_fine'])
    background.moved({ agent: 'talks/extract', status: 'succeeded', key: { run } } as unknown as Run)
  const started = background.start(3_600_000)
  while (woken.length < 2) await systemClock.turn()
  await started.stop()
  expect(woken).toEqual(['run_fine', 'run_away'])
  expect(errors).toHaveLength(2)
})

it('I5 objects of a tenant whose rows cannot be had hold up no other', async () => {
  const removed: string[] = []
  const errors: unknown[] = []
  const sweeping = {
    objects: {
      list: async function* () {
        await systemClock.turn()
        for (const tenant of ['lost', 'fine']) yield { key: `${tenant}/production/run_1/art_1`, at: 0 }
      },
      delete: (key: string) => Promise.resolve(void removed.push(key)),
    },
    artifacts: {
      drop: ({ tenant }: { tenant: string }, keys: readonly string[]) =>
        tenant === 'lost' ? Promise.reject(new Fault('sealing_key_unfit')) : Promise.resolve(keys),
    },
    clock: systemClock,
    onError: (error: unknown) => void errors.push(error),
  } as unknown as Parameters<typeof sweepObjects>[0]
  expect(await sweepObjects(sweeping)).toBe(1)
  expect(removed).toEqual(['fine/production/run_1/art_1'])
  expect(errors).toMatchObject([{ code: 'sealing_key_unfit' }])
})
