/** Walks the table of loops: for each a script that would run for ever, and the end that stops it. */
import { describe, expect, it } from 'vitest'
import { aCall, anEffect, answered, aRun, asked, asks, bad, failed, moved } from '../../test/unit/runs.ts'
import { KIND, NO_CHANCE, simulate, type Told, type World } from '../../test/unit/simulated-shell.ts'
import { simulatedStore } from '../../test/unit/simulated-store.ts'
import { Fault } from '../kernel/fault.ts'
import type { Lease } from '../journal/lease.store.ts'
import { attempt } from '../model/attempt.shell.ts'
import { scripted } from '../testing/scripted.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { agent } from './agent.ts'
import { type Driving, drive, noMemory } from './loop.shell.ts'
import { LOOPS, type LoopName, MOST_CONFLICTS, MOST_STARTS, MOST_WAITS } from './loops.ts'
import { next } from './next.ts'
import type { Call, Run } from './state.ts'

const limits = (with_: Partial<Run['limits']>): Partial<Run> => ({
  limits: { ...aRun().limits, steps: 1_000, toolCalls: 1_000, ...with_ },
})
const key = (run: Run, position: number): Partial<Call> => ({ key: `run_1/${run.step + 1}/${position}` })

/** A model that always asks for one more call; `what` of the step says which. */
const always =
  (what: (step: number) => string, with_: Partial<Call> = {}): World['model'] =>
  (run) => {
    const call = aCall(0, { ...with_, ...key(run, 0) }, what(run.step))
    return answered(asks([call], { input: run.promptTokens, output: 20 }), [call])
  }
const restless = always((step) => `call ${step}`)
const refunding = always(() => 'refund', anEffect(0))

function runs(model: World['model'], given: Partial<Run>, world: Partial<World> = {}, seconds = 1_000_000): Told {
  return simulate(given, seconds, { ...KIND, chance: NO_CHANCE, model, ...world })
}
const end = (told: Told): unknown => ({ run: told.store.run.end })

/** What a script came to, and how often it went round. */
type Script = () =>
  | { readonly end: unknown; readonly rounds: number }
  | Promise<{ readonly end: unknown; readonly rounds: number }>
const ofModel = (told: Told) => ({ end: end(told), rounds: told.modelCalls })

const SCRIPTS: { readonly [name in LoopName]: { readonly rounds: number; readonly script: Script } } = {
  steps: { rounds: 3, script: () => ofModel(runs(restless, limits({ steps: 3 }))) },
  tool_calls: { rounds: 5, script: () => ofModel(runs(restless, limits({ toolCalls: 4 }))) },
  tokens: { rounds: 7, script: () => ofModel(runs(restless, limits({ tokens: 1_200 }))) },
  cost: { rounds: 9, script: () => ofModel(runs(restless, limits({ cost: 6_000 }))) },
  time: {
    rounds: 10,
    script: () =>
      ofModel(runs(restless, limits({}), { meanwhile: (store, idle) => ((store.now += idle ? 0 : 500), 'go_on') }, 10)),
  },
  same_call: {
    rounds: 3,
    script: () =>
      ofModel(
        runs(
          always(() => 'ls'),
          limits({}),
        ),
      ),
  },
  alternation: {
    rounds: 4,
    script: () =>
      ofModel(
        runs(
          always((step) => `call ${step % 2}`),
          limits({}),
        ),
      ),
  },
  same_error: { rounds: 3, script: () => ofModel(runs(restless, limits({}), { read: () => failed('not_found') })) },
  stale_plans: { rounds: 3, script: () => ofModel(runs(refunding, limits({}), { plan: () => failed('stale_plan') })) },
  questions: { rounds: 1, script: () => ofModel(runs(refunding, limits({}))) },
  empty_finals: { rounds: 1, script: () => ofModel(runs(() => answered(bad('empty_final')), limits({}))) },
  recoveries: { rounds: 3, script: () => ofModel(runs(() => 'die', limits({ attempts: 3 }))) },
  effect_starts: { rounds: MOST_STARTS, script: startsForEver },
  waits: { rounds: MOST_WAITS, script: waitsForEver },
  commit_conflicts: { rounds: MOST_CONFLICTS, script: conflictsForEver },
  model_attempts: { rounds: 3, script: failsForEver },
}

/** A provider that never answers and never knows: started again under one key, then left to people. */
function waitsForEver() {
  const world: Partial<World> = {
    commit: () => ({ signal: null, ms: 1_000 }),
    resume: () => ({ signal: null, ms: 1_000 }),
    meanwhile: (store) => {
      // here the story has come to its end, and somebody has to tell how it goes on
      if (store.run.wait === 'unknown_effect') throw new Error('unknown')
      resumed += store.run.wait === 'timer' ? 1 : 0
      return 'go_on'
    },
  }
  let resumed = 0
  expect(() =>
    runs(
      always((step) => `call ${step}`, anEffect(0, { approval: 'auto' })),
      limits({}),
      world,
    ),
  ).toThrow('unknown')
  return { end: { waits: 'unknown_effect' }, rounds: resumed }
}

function startsForEver() {
  let starts = 0
  let end: unknown = null
  const told = runs(
    always(() => 'x', anEffect(0, { level: 'write', approval: 'auto' })),
    limits({ steps: 1 }),
    {
      commit: () => ((starts += 1), 'no_reply'),
      probe: () => 'not_there',
      meanwhile: (store) => ((end ??= store.run.wait && { waits: store.run.wait }), 'go_on'),
    },
  )
  expect([...told.store.effects.values()].map((e) => e.starts)).toEqual([starts])
  return { end, rounds: starts }
}

/** A run that is moved by others each time its worker wants to commit. */
async function conflictsForEver() {
  const support = agent('support', {
    model: scripted([]),
    budget: { steps: 8, toolCalls: 8, tokens: 20_000, costCents: 25, seconds: 60 },
  })
  const lease = { tenant: 'acme', environment: 'test', run: 'run_1', worker: 'wrk_1', epoch: 1 } as unknown as Lease
  let commits = 0
  const parts = {
    agents: new Map([['support', support]]),
    clock: virtualClock(),
    fault: async () => {},
    committed: () => {},
    leaving: () => {},
    sealer: { open: (_: string, b: Uint8Array) => b, unveil: (_: string, text: string) => text },
    runs: {
      load: async () => ({
        run: row(commits),
        deadline_ms: 60_000,
        messages: [],
        effects: [],
        confirmations: [],
        summaries: [],
      }),
      commit: async () => ((commits += 1), { applied: false }),
    },
  } as unknown as Driving
  const { signal } = new AbortController()
  const error: unknown = await drive(
    parts,
    lease,
    { signal, firm: signal, patient: signal, owned: signal },
    noMemory(),
  ).catch((e: unknown) => e)
  return { end: { fault: Fault.is(error) ? error.code : error }, rounds: commits }
}

const row = (version: number) => {
  const { limits: l, ...run } = aRun()
  const max = {
    max_steps: l.steps,
    max_tool_calls: l.toolCalls,
    max_tokens: l.tokens,
    max_cost: l.cost,
    max_attempts: l.attempts,
  }
  const counts = {
    used_tool_calls: 0,
    used_tokens: 0,
    used_cost: 0,
    reserved_tokens: 0,
    reserved_cost: 0,
    event_seq: 1,
    message_seq: 1,
  }
  return {
    ...run,
    ...max,
    ...counts,
    version,
    session_id: 'ses_1',
    user_id: 'u1',
    subject_id: 'u1',
    wait_reason: null,
    cancel_cause: null,
    end_reason: null,
    watermark_from: null,
  }
}

/** A provider that fails before any output: asked three times, and then the run ends. */
async function failsForEver() {
  const model = scripted(() => ({ fault: 'model_transient' }))
  let rounds = 0
  const counted = {
    ...model,
    stream: (...args: Parameters<typeof model.stream>) => ((rounds += 1), model.stream(...args)),
  }
  const clock = virtualClock()
  const asking = attempt({
    model: counted,
    request: { messages: [], tools: [], maxOutputTokens: 16 },
    signal: new AbortController().signal,
    clock,
    random: { bytes: (n) => new Uint8Array(n), fraction: () => 0.5 },
    deadlineMs: clock.now() + 3_600_000,
  })
  let over = false
  void asking.finally(() => (over = true))
  while (!over) await clock.advance(1_000)
  const result = await asking
  if (!('fault' in result)) throw new Error('the script never answers')
  const { run } = moved(aRun(), {
    kind: 'model_failed',
    reason: 'model_unavailable',
    usage: {},
    partial: '',
    sent: true,
  })
  return { end: { run: run.end }, rounds }
}

describe('no loop without an end', () => {
  it.each(Object.keys(LOOPS) as LoopName[])('B7 %s', async (name) => {
    const { rounds, script } = SCRIPTS[name]
    expect(await script()).toEqual({ end: LOOPS[name].end, rounds })
  })

  it('B7 a call that is answered from store cannot go round either', () => {
    const told = runs(
      always(() => 'x'),
      limits({}),
      { read: () => failed('tool_timeout') },
    )
    expect(told.store.run).toMatchObject({ end: 'repeated_action', step: 3 })
  })

  it('B7 a tool that polls is bounded by its own number and by the budget', () => {
    const polling = { breaker: { identicalCalls: 20, identicalErrors: 20, alternation: false, ignore: [] } }
    expect(
      runs(
        always(() => 'poll', polling),
        limits({}),
      ).store.run,
    ).toMatchObject({ end: 'repeated_action', step: 20 })
    expect(
      runs(
        always(() => 'poll', polling),
        limits({ steps: 5 }),
      ).store.run,
    ).toMatchObject({ end: 'step_limit', step: 5 })
  })

  it('L4 BR-062 a started effect that kills every worker is left to people after as many tries as the limit', () => {
    const store = simulatedStore({ ...limits({ attempts: 2 }) }, 1_000)
    store.claim()
    const before = store.load()
    store.commit(before, moved(before, asked(anEffect(0, { level: 'write', approval: 'auto' }))))
    let kills = 0
    for (;;) {
      const run = store.load()
      const action = next(run, 1_000)
      if (action.do === 'give_up') break
      if (action.do === 'start') store.start(run, action.call)
      kills += 1
      store.reap()
      store.claim()
    }
    expect(kills).toBe(2)
    expect(moved(store.load(), { kind: 'effect_unknown', position: 0 }).run).toMatchObject({ wait: 'unknown_effect' })
  })
})
