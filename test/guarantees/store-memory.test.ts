/** The store in memory answers every probe as the databases do: what a simulation finds on it is worth no more than that. */
import { describe, expect, it } from 'vitest'
import { type AllGuards, GUARDS, memoryVerbs } from '../../src/testing/memory/store.ts'
import { ANSWER } from '../setup/answer-guards.ts'
import { ALONE, ATTEND, RESTING } from '../setup/attention-guards.ts'
import { DECIDE, START_CONSENT, START_LEASE } from '../setup/effect-guards.ts'
import { openMemory } from '../setup/engines.ts'
import { CANCEL, CLOSE, COMMIT_BUDGET, COMMIT_LEASE, COMMIT_STATE, COMMIT_WALL, OPEN, SUBMIT } from '../setup/guards.ts'
import type { Guard } from '../setup/guards.ts'
import { CLAIM, DRIVEN, REAP } from '../setup/queue-guards.ts'
import { TELL, WAIT } from '../setup/signal-guards.ts'
import {
  commit,
  picture,
  seedConfirmation,
  seedEffect,
  seedRun,
  start,
  starting,
  transition,
  ms,
} from '../setup/seed.ts'

const store = openMemory()

describe('the store in memory', () => {
  it.each([...COMMIT_STATE, ...COMMIT_LEASE, ...COMMIT_BUDGET])(
    'A3 L2 Q1 commits nothing that the databases refuse: $name',
    (probe) => probe.run(store),
  )

  it.each(COMMIT_WALL)('H1 moves only what each row of a batch owns: $name', (probe) => probe.run(store))

  it.each([...CANCEL, ...SUBMIT, ...CLOSE, ...OPEN])(
    'A3 C5 takes no message and no stop that comes too late: $name',
    (probe) => probe.run(store),
  )

  it.each([...START_LEASE, ...START_CONSENT])('J1 J6 starts no effect that the databases refuse: $name', (probe) =>
    probe.run(store),
  )

  it.each(ANSWER)('J7 answers each compensation alike: $name', (probe) => probe.run(store))

  it.each([...ATTEND, ...ALONE, ...RESTING])('K2 knows who is alone alike: $name', (probe) => probe.run(store))

  it.each(DECIDE)('J1 J2 answers each wrong decision alike: $name', (probe) => probe.run(store))

  it.each([...CLAIM, ...REAP, ...DRIVEN])('L2 L4 keeps the queue alike: $name', (probe) => probe.run(store))

  it.each([...TELL, ...WAIT])('A3 tells and waits alike: $name', (probe) => probe.run(store))

  it('A3 a row that cannot be written leaves its whole batch as it was', async () => {
    const key = await seedRun(store)
    await seedEffect(store, key)
    const other = await seedRun(store, { worker_id: key.worker })
    const before = await picture(store)
    const broken = transition(key, { effects: [{ ...transition(key).effects[0]!, step: 1 }] })
    await expect(commit(store.db, [transition(other), broken], { worker: key.worker })).rejects.toThrow(/constraint/)
    expect(await picture(store)).toEqual(before)
  })

  it('J1 of two starts in one call the second meets the first', async () => {
    const key = await seedRun(store)
    await seedEffect(store, key)
    const confirmation = await seedConfirmation(store, key, { status: 'approved', execute_by: ms(60_000) })
    const sent = starting(key, { confirmation })
    const rows = await start(store.db, [sent, sent], { worker: key.worker })
    expect(rows.map((r) => r.outcome).sort()).toEqual(['conflict', 'started'])
  })
})

type Verb = keyof AllGuards
const PROBES: Readonly<Partial<Record<Verb, readonly Guard[]>>> = {
  step: [...COMMIT_STATE, ...COMMIT_LEASE, ...COMMIT_BUDGET],
  answer: ANSWER,
  start: [...START_LEASE, ...START_CONSENT],
  decide: DECIDE,
  cancel: CANCEL,
  submit: SUBMIT,
  replace: SUBMIT,
  close: CLOSE,
  claim: CLAIM,
  reap: REAP,
  wake: TELL,
}
/** A CHECK of the table refuses the rows that would tell: a run that does not run has no worker. */
const HELD = new Set(['start status'])

const dropped = Object.entries(PROBES).flatMap(([verb, probes]) =>
  Object.keys(GUARDS[verb as Verb])
    .filter((name) => !HELD.has(`${verb} ${name}`))
    .map((name) => ({ verb: verb as Verb, name, probes })),
)

describe('a guard that is taken away', () => {
  it.each(dropped)('A3 is missed by a probe: $verb $name', async ({ verb, name, probes }) => {
    const { [name]: _, ...rest } = GUARDS[verb] as Readonly<Record<string, () => boolean>>
    const holed = openMemory(memoryVerbs({ ...GUARDS, [verb]: rest }))
    let missed = 0
    for (const probe of probes)
      missed += await probe.run(holed).then(
        () => 0,
        () => 1,
      )
    expect(missed).toBeGreaterThan(0)
  })
})
