import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Db } from '../../src/db/port.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { crashActor } from '../../src/eval/crash-case.ts'
import type { FaultHook, FaultPoint } from '../../src/kernel/faultpoint.ts'
import { createRuntime } from '../../src/runtime.ts'
import type { ProviderMode } from '../../src/testing/effect-provider.ts'
import { type Proxy, proxyTo } from '../../src/testing/proxy.ts'
import { type Ground, openGround } from './ground.ts'
import { COMPLETED, newAgent, tell } from './story.ts'

const url = inject('postgres')

describe.skipIf(!url)('a database connection that breaks', () => {
  let ground: Ground
  let proxy: Proxy
  let db: Db
  beforeAll(async () => {
    ground = await openGround()
    proxy = await proxyTo(ground.url)
    db = await openPostgres({ url: proxy.url, connections: 4 })
  })
  afterAll(async () => {
    await db.close()
    await proxy.stop()
    await ground.close()
  })

  /** A run of which one request, or its reply, is lost. */
  async function cut(
    when: 'before' | 'after',
    statement: string,
    { nth = 1, mode = 'keyed' }: { nth?: number; mode?: ProviderMode } = {},
  ) {
    const before = proxy.cuts()
    const told = await tell(ground, { db, mode, begin: () => proxy.cut(when, statement, nth) })
    return { ...told, cuts: proxy.cuts() - before }
  }
  const well = { cuts: 1, end: COMPLETED, effects: 1 }

  it('A3 between a commit and its reply is no failure: the worker reads again and goes on, without a second row or effect', {
    timeout: 90_000,
  }, async () => {
    for (const nth of [1, 2, 3, 4, 5]) {
      const { run, ...told } = await cut('after', 'run_step', { nth })
      expect({ nth, ...told }).toEqual({ nth, ...well })
      const rows = await ground.store.admin(
        'select role, count(*) as n from plimsoll.message where run_id = $1 group by role order by role',
        [run],
      )
      expect(rows).toEqual([
        { role: 'assistant', n: 3 },
        { role: 'tool', n: 2 },
        { role: 'user', n: 1 },
      ])
    }
  })

  it.each(['keyed', 'keyed_blind', 'state', 'manual'] as const)(
    'J4 after the statement that starts a %s effect costs nothing: the effect has not left the house',
    async (mode) => {
      const { run: _, ...told } = await cut('after', 'effect_start', { mode })
      expect(told).toEqual(well)
    },
  )

  it('L2 after a claim: its worker finds the run, though its lease lives on', async () => {
    const { run, ...told } = await cut('after', 'lease_claim')
    expect(told).toEqual(well)
    // by the same worker: one claim at the start and one after the confirmation
    expect(await ground.store.admin('select epoch, attempts from plimsoll.run where id = $1', [run])).toEqual([
      { epoch: 2, attempts: 0 },
    ])
  })

  it('J1 after a decision: it is recorded once, and who decided hears so', async () => {
    const { run, ...told } = await cut('after', 'confirmation_decide')
    expect(told).toEqual(well)
    const audit = await ground.store.admin('select action, outcome from plimsoll.audit where run_id = $1', [run])
    expect(audit).toEqual([{ action: 'confirmation.decide', outcome: 'approved' }])
  })

  it.each(['run_step', 'effect_start', 'lease_claim', 'confirmation_decide'])(
    'A3 before %s reaches the server only costs time',
    async (statement) => {
      const { run: _, ...told } = await cut('before', statement)
      expect(told).toEqual(well)
    },
  )

  it('L3 Q1 before a model answer is stored: the answer is billed, and asked for anew', async () => {
    const { run, ...told } = await cut('before', 'run_step')
    expect(told).toEqual(well)
    const ledger = await ground.store.admin(
      'select kind, input_tokens + output_tokens > 0 as spent from plimsoll.ledger where run_id = $1 order by seq',
      [run],
    )
    expect(ledger.slice(0, 3)).toEqual([
      { kind: 'open', spent: false },
      { kind: 'recovery', spent: true },
      { kind: 'model', spent: true },
    ])
  })

  it('A13 after a submission or a cancellation: there is one run, and the caller hears of it', async () => {
    const agent = newAgent(ground, 'keyed')
    const runtime = createRuntime({ db, agents: [agent] })
    proxy.cut('after', 'run_submit')
    const { run, sessionVersion, generation } = await runtime.submit(crashActor(), { agent: agent.name, text: 'x' })
    const rows = await ground.store.admin(
      'select r.id, s.version, s.generation from plimsoll.run r join plimsoll.session s on s.id = r.session_id where r.agent = $1',
      [agent.name],
    )
    expect(rows).toEqual([{ id: run, version: sessionVersion, generation }])
    proxy.cut('after', 'run_step')
    expect(await runtime.cancel(crashActor(), run, 'user', null)).toMatchObject({
      status: 'canceled',
      end: 'user_canceled',
    })
  })

  it('L1 by the end of its backend, between all steps: nothing is lost', { timeout: 60_000 }, async () => {
    // each once: a place before a commit is passed again after it
    const places = new Set(['step.afterIntent', 'plan.after', 'preflight.after', 'result.before', 'final.before'])
    let ended = 0
    const fault: FaultHook = async (point) => {
      if (!places.delete(point)) return
      const rows = await ground.store.admin(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'plimsoll'`,
      )
      ended += rows.length
    }
    const { end, effects } = await tell(ground, { db, mode: 'state', fault })
    expect({ end, effects, places }).toEqual({ end: COMPLETED, effects: 1, places: new Set() })
    expect(ended).toBeGreaterThan(4)
  })

  it('L4 and so does an error of the program, at any place: it costs an attempt and no run', {
    timeout: 60_000,
  }, async () => {
    const places: readonly FaultPoint[] = [
      'claim.before',
      'claim.after',
      'context.built',
      'step.beforeIntent',
      'preflight.after',
      'ext.replied',
      'result.before',
      'final.before',
    ]
    const left = new Set(places)
    const fault: FaultHook = (point) => {
      if (left.delete(point)) throw new Error('planted')
    }
    const { end, effects } = await tell(ground, { db, mode: 'keyed', fault })
    expect({ end, effects, left }).toEqual({ end: COMPLETED, effects: 1, left: new Set() })
  })

  it('L2 for longer than a lease costs time and no run', { timeout: 60_000 }, async () => {
    let errors = 0
    let away = false
    const lapsed = async () =>
      (await ground.store.admin('select count(*) as n from plimsoll.worker where lease_until > now()'))[0]?.n === 0
    const comesBack = async (): Promise<void> => {
      while (errors < 3 || !(await lapsed())) await ground.store.admin('select pg_sleep(0.05)')
      proxy.open()
    }
    const fault: FaultHook = (point) => {
      if (point !== 'result.before' || away) return
      away = true
      proxy.close()
      void comesBack()
    }
    const { end, effects } = await tell(ground, { db, mode: 'keyed', fault, onError: () => void errors++ })
    expect({ away, end, effects }).toEqual({ away: true, end: COMPLETED, effects: 1 })
  })
})
