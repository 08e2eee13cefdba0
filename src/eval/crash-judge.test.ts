import { describe, expect, it } from 'vitest'
import { CANARY, type CrashCase, type CrashResult } from './crash-case.ts'
import type { Invariant } from './crash-invariants.ts'
import { judge, takeovers, verdicts } from './crash-judge.ts'
import type { Change, Evidence } from '../db/witness.ts'

const change = (version: number, more: Partial<Change> = {}): Change => ({
  version,
  before: version - 1,
  epoch: 1,
  worker: 'wrk_1',
  was: 'running',
  status: 'running',
  own: true,
  leaseLeft: 500,
  pid: 7,
  since: 0,
  at: version * 100,
  ...more,
})

const evidence = (more: Partial<Evidence> = {}): Evidence => ({
  agent: 'crash',
  run: {
    status: 'succeeded',
    wait: null,
    end: 'completed',
    attempts: 0,
    epoch: 1,
    eventSeq: 2,
    messageSeq: 2,
    usedTokens: 30,
    heldTokens: 0,
    maxTokens: 100,
    usedCost: 30,
    heldCost: 0,
    maxCost: 100,
  },
  changes: [change(2), change(3)],
  events: [1, 2].map((seq) => ({ seq, type: 'step_planned', at: seq, text: '{}' })),
  messages: [
    { seq: 1, place: '0/user' },
    { seq: 2, place: '1/assistant' },
  ],
  effects: [{ status: 'settled', outcome: 'ok', code: null, startedAt: 1 }],
  ledger: [
    { kind: 'open', tokens: 0, held: 40, cost: 0, heldCost: 40 },
    { kind: 'model', tokens: 30, held: -40, cost: 30, heldCost: -40 },
  ],
  audit: [],
  ...more,
})

const result = (more: Partial<CrashResult> = {}): CrashResult =>
  ({
    status: 'succeeded',
    reason: 'completed',
    effects: 1,
    keys: ['k'],
    requests: 1,
    stuck: false,
    evidence: evidence(),
    met: [['ext.replied']],
    kills: [],
    companion: null,
    politeEnd: null,
    finisherSince: null,
    said: '',
    ...more,
  }) as CrashResult

const READY = [200, 503, 503]
const kill: CrashCase = { mode: 'keyed', victims: ['ext.replied:1:kill'] }
const lost = (one: CrashCase, found: CrashResult): readonly Invariant[] =>
  [...verdicts(one, found)].filter(([, holds]) => !holds).map(([n]) => n)
const run = (more: Partial<Evidence['run']>): Evidence => evidence({ run: { ...evidence().run, ...more } })

describe('the judge of the crash matrix', () => {
  it('J5 finds nothing wrong with what is as promised', () => {
    expect(judge(kill, result())).toBe('ok')
    expect(lost(kill, result())).toEqual([])
  })

  it.each<[string, CrashCase, Partial<CrashResult>]>([
    ['duplicate', kill, { effects: 2 }],
    ['duplicate', kill, { keys: ['k', 'l'] }],
    ['stuck', kill, { stuck: true }],
    ['lost', kill, { effects: 0 }],
    ['lost', kill, { reason: 'unknown_effect', status: 'waiting_confirmation' }],
    ['lost', kill, { evidence: evidence({ effects: [] }) }],
    [
      'lost',
      { ...kill, held: 'cancel' },
      { reason: 'user_canceled', status: 'canceled', evidence: evidence({ effects: [] }) },
    ],
    ['lost', { mode: 'keyed', victims: ['ext.replied:1:throw'] }, { reason: 'model_unavailable', effects: 0 }],
  ])('J5 J4 says %s of %o', (verdict, one, found) => expect(judge(one, result(found))).toBe(verdict))

  it.each<[Invariant, string, CrashCase, Partial<CrashResult>]>([
    [3, 'money is held after the end', kill, { evidence: run({ heldTokens: 5 }) }],
    [3, 'the ledger is not what was used', kill, { evidence: run({ usedTokens: 31 }) }],
    [4, 'a version is missing', kill, { evidence: evidence({ changes: [change(2), change(4)] }) }],
    [4, 'a version is counted twice at once', kill, { evidence: evidence({ changes: [change(3, { before: 1 })] }) }],
    [4, 'an event is missing', kill, { evidence: evidence({ events: [] }) }],
    [
      4,
      'a message is there twice',
      kill,
      { evidence: evidence({ messages: [1, 2].map((seq) => ({ seq, place: 'x' })) }) },
    ],
    [16, 'more is held than there is', kill, { evidence: run({ maxTokens: 35 }) }],
    [
      25,
      'an event shows a value',
      kill,
      { evidence: evidence({ events: [1, 2].map((seq) => ({ seq, type: 'x', at: 1, text: CANARY })) }) },
    ],
    [25, 'a log shows a value', kill, { said: CANARY }],
    [
      5,
      'a run is taken from the living',
      { mode: 'keyed', victims: ['ext.replied:1:stop'] },
      { evidence: evidence({ changes: [change(2), change(3, { status: 'queued', own: false })] }) },
    ],
    [
      9,
      'the provider is called again',
      { mode: 'keyed', victims: [], refusal: { sqlstate: '40001', nth: 1 } },
      { requests: 2 },
    ],
    [
      14,
      'an effect starts after the cancel',
      { ...kill, held: 'cancel' },
      { evidence: evidence({ events: [1, 2].map((seq) => ({ seq, type: 'cancel_requested', at: 0, text: '' })) }) },
    ],
    [
      27,
      'the process ends badly',
      { ...kill, held: 'term' },
      { politeEnd: { code: 1, hasLease: false, attemptsBefore: 0, ready: READY, evidence: evidence() } },
    ],
    [
      27,
      'a lease is left',
      { ...kill, held: 'term' },
      { politeEnd: { code: 0, hasLease: true, attemptsBefore: 0, ready: READY, evidence: evidence() } },
    ],
    [
      27,
      'the stop counts as a loss',
      { ...kill, held: 'term' },
      { politeEnd: { code: 0, hasLease: false, attemptsBefore: 0, ready: READY, evidence: run({ attempts: 1 }) } },
    ],
    [
      27,
      'somebody is sent here while it ends',
      { ...kill, held: 'term' },
      { politeEnd: { code: 0, hasLease: false, attemptsBefore: 0, ready: [200, 200, 503], evidence: evidence() } },
    ],
    [
      27,
      'the door is closed while work goes on',
      { ...kill, held: 'term' },
      { politeEnd: { code: 0, hasLease: false, attemptsBefore: 0, ready: [200, 503, null], evidence: evidence() } },
    ],
  ])('J5 sees invariant %i broken when %s', (n, _, one, found) => expect(lost(one, result(found))).toContain(n))

  /** The lease of 800 ms was over at 1 900, so it was renewed at 1 100. */
  const taken = (claim: Partial<Change>): Evidence =>
    evidence({
      changes: [
        change(2, { at: 1_000 }),
        change(3, { at: 2_000, status: 'queued', own: false, leaseLeft: -100, pid: null, since: null }),
        change(4, { at: 2_050, was: 'queued', ...claim }),
      ],
    })

  it('L2 measures a takeover by the living from the last renewal of the lease, on the clock of the database', () => {
    expect(takeovers(result({ evidence: taken({ since: 1_099 }) }))).toEqual([{ ms: 950, from: 'death' }])
    expect(takeovers(result({ evidence: taken({ pid: process.pid, since: 1_990 }) }))).toEqual([
      { ms: 950, from: 'death' },
    ])
  })

  it('L2 measures who came after the death from its own start, and apart', () => {
    expect(takeovers(result({ evidence: taken({ since: 1_700 }) }))).toEqual([{ ms: 350, from: 'start' }])
    const mine = taken({ pid: process.pid, since: 1_990 })
    expect(takeovers(result({ evidence: mine, finisherSince: 1_500 }))).toEqual([{ ms: 550, from: 'start' }])
  })
})
