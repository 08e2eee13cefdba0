/**
 * The machine against whoever would bring it down: models that loop, lie, flood and break off, people who decide late, twice
 * or never, workers that die at any point. The judge of every commit is test/unit/simulated-store.ts.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { aCall, anEffect, answered, aRun, asks, bad, failed, ok, plans, says, settles } from '../../test/unit/runs.ts'
import { type Chance, type Later, simulate, type Told, type World } from '../../test/unit/simulated-shell.ts'
import type { Store } from '../../test/unit/simulated-store.ts'
import { END_REASONS, type EndReason } from './reasons.ts'
import { isFinal, type Call, type Run } from './state.ts'
import type { Report } from './report.ts'

/** mulberry32: the same story for the same seed. */
function chanceOf(seed: number): Chance {
  let a = seed >>> 0
  const fraction = (): number => {
    a = (a + 0x6d2b79f5) >>> 0
    let t = a
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  return { yes: (p) => fraction() < p, below: (n) => Math.floor(fraction() * n) }
}

const ERRORS = ['tool_failed', 'not_found', 'tool_timeout', 'conflict'] as const
const REASONS = Object.keys(END_REASONS) as EndReason[]
const CAUSES = ['user', 'superseded', 'disconnect', 'operator', 'parent'] as const

function someCall(chance: Chance, run: Run, position: number, variety: number): Call {
  const what = `w${chance.below(variety)}`
  const labels = { callId: chance.yes(0.3) ? 'same' : `id_${position}`, key: `run_1/${run.step + 1}/${position}` }
  const stops = chance.yes(0.1) ? { stops: ['conflict'] } : {}
  switch (chance.below(6)) {
    case 0:
    case 1:
      return aCall(
        position,
        { ...labels, ...stops, ...(chance.yes(0.05) ? { ends: 'handed_over' as const } : {}) },
        what,
      )
    case 2:
      return aCall(
        position,
        { ...labels, approval: 'refused', status: 'settled', outcome: failed('invalid_arguments') },
        what,
      )
    case 3:
      return anEffect(position, { ...labels, ...stops, level: 'write', approval: 'auto' }, what)
    default:
      return anEffect(position, { ...labels, ...stops }, what)
  }
}

/** `variety` of 1 is a model that asks for the same again and again; a large one never repeats itself. */
function planner(chance: Chance, variety: number) {
  return (run: Run): Report => {
    const usage = chance.yes(0.3) ? {} : { input: chance.below(2 * run.promptTokens + 10), output: chance.below(400) }
    const kind = chance.below(20)
    if (kind === 0) return answered(says(chance.yes(0.5) ? 'confirmed: done' : 'x', usage), [], chance.yes(0.8))
    if (kind === 1)
      return answered(
        bad(
          (['empty_final', 'truncated', 'content_filtered', 'protocol_error'] as const)[chance.below(4)]!,
          chance.yes(0.5) ? 'half' : '',
        ),
      )
    if (kind === 2)
      return {
        kind: 'model_failed',
        reason: 'model_unavailable',
        usage,
        partial: chance.yes(0.5) ? 'ha' : '',
        sent: chance.yes(0.7),
      }
    const many = chance.yes(0.05) ? 200 : 1 + chance.below(4)
    const calls = Array.from({ length: many }, (_, position) => someCall(chance, run, position, variety))
    return answered(asks(calls, usage), calls)
  }
}

const later = (chance: Chance): Later => ({ signal: chance.yes(0.5) ? 'told' : null, ms: chance.below(100_000) })

function meanwhile(chance: Chance) {
  return (store: Store, idle: boolean): 'die' | 'go_on' => {
    if (chance.yes(idle ? 0.6 : 0.3)) store.now += chance.below(idle ? 200_000 : 3_000)
    const open = [...store.asked].filter(([, a]) => a.status === 'pending').map(([id]) => id)
    for (const id of open) {
      if (chance.yes(idle ? 0.5 : 0.15)) store.decide(id, chance.yes(0.75))
      else if (chance.yes(0.02)) store.supersede(id)
    }
    if (chance.yes(0.1)) store.tell(chance.below(4))
    if (chance.yes(0.03)) store.mark(CAUSES[chance.below(CAUSES.length)]!)
    return !idle && chance.yes(0.08) ? 'die' : 'go_on'
  }
}

/** Reports that no honest worker would send now. Those that only mirror a row are left out: the store sends them itself. */
function intruder(chance: Chance): (run: Run) => Report | null {
  return (run) => {
    if (!chance.yes(0.1)) return null
    const position = chance.below(4)
    const outcome = chance.yes(0.5) ? ok() : failed()
    switch (chance.below(9)) {
      case 0:
        return { kind: 'reserved' }
      case 1:
        return planner(chance, 5)(run)
      case 2:
        return { ...plans(...Array.from({ length: chance.below(3) }, () => chance.below(4))) }
      case 3:
        return settles(...Array.from({ length: chance.below(4) }, () => [chance.below(4), outcome] as const))
      case 4:
        return { kind: 'effect_unknown', position }
      case 5:
        return { kind: 'probe_later', ms: chance.below(5_000) }
      case 6:
        return { kind: 'parked' }
      case 7:
        return { kind: 'unknown_resolved', position, outcome }
      default:
        return chance.yes(0.2) ? { kind: 'ended', reason: REASONS[chance.below(REASONS.length)]! } : null
    }
  }
}

function hostile(seed: number): World & { readonly given: Partial<Run>; readonly seconds: number } {
  const chance = chanceOf(seed)
  const outcome = () =>
    chance.yes(0.7) ? ok('r'.repeat(chance.below(200))) : failed(ERRORS[chance.below(ERRORS.length)])
  const base = aRun()
  return {
    chance,
    model: planner(chance, [1, 2, 3, 50, 1_000][chance.below(5)]!),
    read: () => (chance.yes(0.05) ? later(chance) : outcome()),
    commit: () => (chance.yes(0.3) ? 'no_reply' : chance.yes(0.2) ? later(chance) : outcome()),
    resume: () => (chance.yes(0.1) ? 'silent' : chance.yes(0.3) ? later(chance) : outcome()),
    probe: () => (chance.yes(0.4) ? outcome() : (['not_there', 'cannot_tell', 'later'] as const)[chance.below(3)]!),
    plan: (_, p) => (chance.yes(0.1) ? failed() : p),
    meanwhile: meanwhile(chance),
    ...(chance.yes(0.4) ? { intrude: intruder(chance) } : {}),
    seconds: 1 + chance.below(1_000),
    given: {
      limits: {
        steps: 1 + chance.below(6),
        toolCalls: chance.below(12),
        tokens: 1_100 + chance.below(8_000),
        cost: 5_300 + chance.below(60_000),
        attempts: 1 + chance.below(3),
      },
      // the run may have been queued while the conversation went on
      promptTokens: 100 + (chance.yes(0.2) ? chance.below(3_000) : 0),
      rules: {
        ...base.rules,
        onReject: chance.yes(0.3) ? 'end' : 'observe',
        price: { inputCentsPerMillion: chance.below(40) / 10, outputCentsPerMillion: chance.below(50) / 10 },
      },
    },
  }
}

const seeds = fc.integer({ min: 0, max: 0xffffffff })
const RUNS = 1_500

function tell(seed: number): Told & { readonly given: Partial<Run> } {
  const world = hostile(seed)
  return { ...simulate(world.given, world.seconds, world), given: world.given }
}

describe('a run against the world', () => {
  it('B1 B4 A1 ends, whatever the model, the people and the workers do, within its limits and with one reason', () => {
    const ends = new Set<string>()
    fc.assert(
      fc.property(seeds, (seed) => {
        const { store, given, modelCalls } = tell(seed)
        const { run } = store
        expect(isFinal(run.status)).toBe(true)
        expect(run.step).toBeLessThanOrEqual(given.limits!.steps)
        expect(run.used.toolCalls).toBeLessThanOrEqual(given.limits!.toolCalls)
        // a lost worker may have asked in vain; each loss is one of its attempts
        expect(modelCalls).toBeLessThanOrEqual((given.limits!.steps + 1) * given.limits!.attempts)
        ends.add(run.end!)
      }),
      // one fixed walk, because it is counted below how the stories end
      { numRuns: RUNS, seed: 1 },
    )
    // the stories are worth something only when they end in many ways
    expect([...ends].sort()).toEqual(
      expect.arrayContaining([
        'attempts_exhausted',
        'completed',
        'confirmation_expired',
        'confirmation_rejected',
        'cost_limit',
        'deadline',
        'empty_final',
        'handed_over',
        'invalid_final',
        'model_unavailable',
        'repeated_action',
        'repeated_error',
        'step_limit',
        'stopped_by_tool',
        'token_limit',
        'tool_call_limit',
        'truncated',
        'user_canceled',
      ]),
    )
  })

  it('J1 J6 no effect starts without its approval, twice at a time, or once it has an outcome', () => {
    let effects = 0
    fc.assert(
      fc.property(seeds, (seed) => {
        const { store } = tell(seed)
        for (const e of store.effects.values()) {
          effects += e.starts
          expect(e.starts === 0 || e.approval !== 'refused').toBe(true)
        }
        const consumed = [...store.asked.values()].filter((a) => a.status === 'consumed').length
        const confirmed = [...store.effects.values()].filter((e) => e.starts > 0 && e.approval === 'confirm').length
        expect(consumed).toBe(confirmed)
      }),
      { numRuns: RUNS },
    )
    expect(effects).toBeGreaterThan(RUNS / 10)
  })

  it('A1 the same seed tells the same story', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        expect(tell(seed).store.run).toEqual(tell(seed).store.run)
      }),
      { numRuns: 50 },
    )
  })
})
