/** The guards of being followed: whom it keeps alive, and whom its end cancels. See guards.ts for what a probe is. */
import { expect } from 'vitest'
import type { WorkerId } from '../../src/kernel/ids.ts'
import { abandonRuns, drivenRuns } from '../../src/journal/lease.store.ts'
import { attend } from '../../src/run/run.sql.ts'
import type { TestStore } from './engines.ts'
import { type Guard, guard, QUEUED, unchanged, WAITING } from './guards.ts'
import { type Key, keyText, ms, runOf, seedRun, submission, submit, unique, VERSION } from './seed.ts'

type Fields = Readonly<Record<string, unknown>>
const LEFT = { followed_until: ms(-1_000) }

const follow = async (store: TestStore, { tenant, environment, run }: Key, lasts: number, parks = false) => {
  const [row] = await store.db.call(attend, { tenant, environment, run, ms: lasts, parks })
  return row?.followed
}
const followedUntil = async (store: TestStore, key: Key) => Number((await runOf(store, key)).followed_until)

/** Nothing about the run is changed. */
const leaves = (name: string, run: Fields): Guard =>
  guard(name, async (store) => {
    await seedRun(store, run)
    await unchanged(store, async () => {
      expect(await abandonRuns(store.db, 10)).toBe(0)
    })
  })

export const ATTEND: readonly Guard[] = [
  guard('a run is followed for as long as somebody says, and never for less than another said', async (store) => {
    const key = await seedRun(store)
    expect(await follow(store, key, 60_000)).toBe(1)
    const long = await followedUntil(store, key)
    expect(await follow(store, key, 1_000)).toBe(1)
    expect(await followedUntil(store, key)).toBe(long)
    expect(await runOf(store, key)).toMatchObject({ version: VERSION })
  }),
  guard(
    'a follower says what becomes of the run, and wakes one that waits for him and for nothing else',
    async (store) => {
      const later = { due_at: ms(60_000), ...LEFT }
      const resting = await seedRun(store, { ...WAITING, ...later, wait_reason: 'follower' })
      const asked = await seedRun(store, { ...WAITING, ...later })
      const before = Number((await runOf(store, resting)).due_at)
      for (const key of [resting, asked]) expect(await follow(store, key, 60_000, true)).toBe(1)
      expect(Number((await runOf(store, resting)).due_at)).toBeLessThan(before)
      expect(await runOf(store, resting)).toMatchObject({ parks_alone: true, version: VERSION })
      expect(Number((await runOf(store, asked)).due_at)).toBeGreaterThan(before - 1_000)
      expect(await follow(store, asked, 60_000, false)).toBe(1)
      expect(await runOf(store, asked)).toMatchObject({ parks_alone: false })
    },
  ),
  guard('a run of another tenant or environment, and one that has ended, is not followed', async (store) => {
    const key = await seedRun(store)
    const ended = await seedRun(store, { status: 'succeeded', worker_id: null, end_reason: 'completed' })
    await unchanged(store, async () => {
      for (const other of [{ ...key, tenant: 'globex' }, { ...key, environment: 'test' }, ended])
        expect(await follow(store, other, 1_000)).toBe(0)
    })
  }),
]

export const ALONE: readonly Guard[] = [
  guard('a worker is told of a run that nobody follows any more, and that parks then', async (store) => {
    const told = async (run: Fields) => {
      const key = await seedRun(store, run)
      return (await drivenRuns(store.db, key.worker as WorkerId)).map((one) => one.alone)
    }
    expect(await told({ ...LEFT, parks_alone: true })).toEqual([true])
    expect(await told(LEFT)).toEqual([false])
    expect(await told({ followed_until: ms(60_000), parks_alone: true })).toEqual([false])
    expect(await told({ parks_alone: true })).toEqual([false])
  }),
]

export const RESTING: readonly Guard[] = [
  guard('a message wakes the run of its conversation that waits for a follower, and none else', async (store) => {
    const rest = { ...LEFT, ...WAITING, wait_reason: 'follower', parks_alone: true, due_at: ms(60_000) }
    const key = await seedRun(store, rest)
    const waiting = await seedRun(store, {
      ...rest,
      wait_reason: 'confirmation',
      session_id: key.session,
      generation: 9,
    })
    const stranger = await seedRun(store, rest)
    const runs = [key, waiting, stranger]
    const before = await Promise.all(runs.map((k) => runOf(store, k)))
    const next = { ...key, run: unique('run') }
    const sent = submission(next, key.session, { session_version: 2, resting: runs.map((k) => k.run) })
    const keys = [keyText(next), keyText({ ...key, run: key.session }), ...runs.map(keyText)]
    expect(await submit(store.db, [sent], { keys })).toMatchObject([{ outcome: 'created' }])
    const now = await runOf(store, key)
    expect(now).toMatchObject({
      followed_until: null,
      version: VERSION + 1,
      cancel_cause: null,
      wait_reason: 'follower',
    })
    expect(Number(now.due_at)).toBeLessThan(Number(before[0]?.due_at))
    for (const [i, k] of [waiting, stranger].entries()) expect(await runOf(store, k)).toEqual(before[i + 1])
  }),
]

export const ABANDON: readonly Guard[] = [
  leaves('a run that parks instead', { ...LEFT, parks_alone: true }),
  guard('a run that nobody follows any more is marked, and one that waits is due at once', async (store) => {
    const driven = await seedRun(store, LEFT)
    const waiting = await seedRun(store, { ...LEFT, ...WAITING })
    expect(await abandonRuns(store.db, 10)).toBe(2)
    expect(await runOf(store, driven)).toMatchObject({
      cancel_cause: 'disconnect',
      version: VERSION + 1,
      status: 'running',
    })
    const [row] = await store.admin('select due_at <= now() as due, cancel_cause from plimsoll.run where id = $1', [
      waiting.run,
    ])
    expect(row).toEqual({ due: true, cancel_cause: 'disconnect' })
  }),
  guard('a run that waits for an operator is marked and sleeps on', async (store) => {
    const key = await seedRun(store, { ...LEFT, ...WAITING, wait_reason: 'unknown_effect' })
    await abandonRuns(store.db, 10)
    const [row] = await store.admin('select due_at <= now() as due from plimsoll.run where id = $1', [key.run])
    expect(row).toEqual({ due: false })
  }),
  guard('no more than asked for', async (store) => {
    for (let i = 0; i < 3; i++) await seedRun(store, LEFT)
    expect(await abandonRuns(store.db, 2)).toBe(2)
    expect(await abandonRuns(store.db, 2)).toBe(1)
  }),
  leaves('a run that is followed', { followed_until: ms(60_000) }),
  leaves('a run that nobody ever followed', {}),
  leaves('a run that has ended', { ...LEFT, status: 'succeeded', worker_id: null, end_reason: 'completed' }),
  leaves('a run that was canceled for another reason', { ...LEFT, ...QUEUED, cancel_cause: 'user' }),
]
