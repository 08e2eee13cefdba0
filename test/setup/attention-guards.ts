/** The guards of being followed: whom it keeps alive, and whom its end cancels. See guards.ts for what a probe is. */
import { expect } from 'vitest'
import { abandonRuns } from '../../src/journal/lease.store.ts'
import { attend } from '../../src/run/run.sql.ts'
import type { TestStore } from './engines.ts'
import { type Guard, guard, QUEUED, unchanged, WAITING } from './guards.ts'
import { type Key, ms, runOf, seedRun, VERSION } from './seed.ts'

type Fields = Readonly<Record<string, unknown>>
const LEFT = { followed_until: ms(-1_000) }

const follow = async (store: TestStore, { tenant, environment, run }: Key, lasts: number) => {
  const [row] = await store.db.call(attend, { tenant, environment, run, ms: lasts })
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
  guard('a run of another tenant or environment, and one that has ended, is not followed', async (store) => {
    const key = await seedRun(store)
    const ended = await seedRun(store, { status: 'succeeded', worker_id: null, end_reason: 'completed' })
    await unchanged(store, async () => {
      for (const other of [{ ...key, tenant: 'globex' }, { ...key, environment: 'test' }, ended])
        expect(await follow(store, other, 1_000)).toBe(0)
    })
  }),
]

export const ABANDON: readonly Guard[] = [
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
