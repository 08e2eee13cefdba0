/**
 * docs/design/run-table.md is what the machine does, not what somebody remembers of it: each cell is computed by giving
 * every sample of a report to every sample of a status. `UPDATE_DOCS=1` writes the page again.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  aConfirmation,
  aCall,
  anEffect,
  answered,
  aRun,
  asked,
  aStep,
  bad,
  failed,
  moved,
  ok,
  plans,
  says,
  settles,
} from '../../test/unit/runs.ts'
import { LOOPS } from './loops.ts'
import { step } from './machine.ts'
import { END_OF_CANCEL, END_REASONS, type EndReason } from './reasons.ts'
import type { Report } from './report.ts'
import { sessionState, type Call, type Run, type Status } from './state.ts'

const PAGE = 'docs/design/run-table.md'

const pending = anEffect(0, { confirmation: aConfirmation('pending') })
const calls: readonly Call[] = [
  aCall(0),
  aCall(0, { stops: ['tool_failed'] }),
  aCall(0, { ends: 'handed_over' }),
  aCall(0, { status: 'settled', outcome: ok() }),
  anEffect(0),
  pending,
  anEffect(0, { confirmation: aConfirmation('approved') }),
  anEffect(0, { status: 'started', attempt: 1 }),
  anEffect(0, { status: 'unknown', attempt: 1 }),
  anEffect(0, { status: 'waiting', attempt: 1, wait: { signal: 'told', leftMs: 1_000, count: 1, arrived: null } }),
]
const shapes: readonly Run[] = [
  aRun(),
  aRun({ reserved: { tokens: 0, cost: 0 } }),
  aRun({ reserved: { tokens: 0, cost: 0 }, step: 8 }),
  aRun({ lost: true, attempts: 1 }),
  aRun({ limits: { ...aRun().limits, toolCalls: 0 } }),
  ...calls.map((c) => aStep([c])),
  ...calls.map((c) => aStep([c, anEffect(1, { confirmation: aConfirmation('pending') })])),
]
const canceled = (runs: readonly Run[]): readonly Run[] => [
  ...runs,
  ...runs.map((r) => ({ ...r, cancel: 'user' as const })),
]
const waits = (wait: Run['wait']): readonly Run[] =>
  canceled(shapes.filter((r) => r.calls.length > 0).map((r) => ({ ...r, status: 'waiting_confirmation', wait })))

const ROWS: Readonly<Record<string, readonly Run[]>> = {
  queued: canceled(shapes.map((r) => ({ ...r, status: 'queued' }))),
  running: canceled(shapes),
  'waiting: confirmation': waits('confirmation'),
  'waiting: unknown_effect': waits('unknown_effect'),
  'waiting: timer': waits('timer'),
  'waiting: question': waits('question'),
  'waiting: external': waits('external'),
  'waiting: follower': waits('follower'),
  succeeded: shapes.map((r) => ({ ...r, status: 'succeeded', end: 'completed' })),
  failed: shapes.map((r) => ({ ...r, status: 'failed', end: 'deadline' })),
  canceled: shapes.map((r) => ({ ...r, status: 'canceled', end: 'user_canceled' })),
}

const REPORTS: { readonly [K in Report['kind']]: readonly (Report & { kind: K })[] } = {
  claimed: [{ kind: 'claimed' }],
  reserved: [{ kind: 'reserved' }],
  model_answered: [
    answered(says('hi')),
    answered(says('hi'), [], false),
    answered(bad('truncated', 'h')),
    asked(aCall(0)),
    asked(anEffect(0)),
  ] as never,
  model_failed: [{ kind: 'model_failed', reason: 'model_unavailable', usage: {}, partial: '', sent: true }],
  calls_planned: [plans(0), { ...plans(), failed: [{ position: 0, outcome: failed() }] }] as never,
  calls_settled: [settles([0, ok()]), settles([0, failed()]), settles()] as never,
  effect_started: [{ kind: 'effect_started', position: 0 }],
  effect_unknown: [{ kind: 'effect_unknown', position: 0 }],
  probe_later: [{ kind: 'probe_later', ms: 1_000 }],
  parked: [{ kind: 'parked' }],
  confirmation_decided: [true, false].map((approved) => ({ kind: 'confirmation_decided', position: 0, approved })),
  plan_stale: [{ kind: 'plan_stale', position: 0 }],
  unknown_retried: [{ kind: 'unknown_retried', position: 0 }],
  unknown_left: [{ kind: 'unknown_left', position: 0 }],
  unknown_resolved: [ok(), failed()].map((outcome) => ({ kind: 'unknown_resolved', position: 0, outcome })),
  cancel_requested: [{ kind: 'cancel_requested', cause: 'user' }],
  lease_lost: [{ kind: 'lease_lost' }],
  handed_back: [true, false].map((asked) => ({ kind: 'handed_back', asked })),
  left_alone: [true, false].map((asked) => ({ kind: 'left_alone', asked, leftMs: 1_000 })),
  ended: (Object.keys(END_REASONS) as EndReason[]).map((reason) => ({ kind: 'ended', reason })),
}

/** When an accepted report is refused all the same; the machine's own tests prove each. */
const CONDITIONS: Partial<Record<Report['kind'], string>> = {
  reserved: 'no call is open, and no reservation is held that covers the next request',
  model_answered: 'no call is open, and its reservation is held',
  model_failed: 'no call is open, and its reservation is held',
  calls_planned: 'each plan is of an open call that needs one and has none',
  calls_settled:
    'each settlement is of an open call, and only what started can have succeeded; an empty one closes a step whose calls are all settled',
  effect_started: 'approved or automatic, not canceled, no other effect started or unknown; or started before',
  effect_unknown: 'the call is started',
  probe_later: 'a call is started',
  parked: 'a call is open; the run stays `running` when somebody has decided meanwhile',
  confirmation_decided: 'the confirmation is pending and open, the run is not canceled and waits for nothing else',
  plan_stale: 'the confirmation is pending',
  unknown_resolved: 'the call is unknown',
  unknown_retried: 'the call is unknown and the run is not canceled',
  unknown_left: 'the call is unknown, and no other effect is open',
  cancel_requested: 'the run is not marked yet, or can end at once',
  ended: 'the reason is no success, and no effect is started or unknown',
}

function cell(runs: readonly Run[], reports: readonly Report[]): string {
  const found = new Set<string>()
  for (const run of runs) {
    for (const report of reports) {
      const result = step(run, report)
      if ('run' in result) found.add(result.run.wait ? `waiting: ${result.run.wait}` : result.run.status)
    }
  }
  return [...found].sort().join(', ') || '·'
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

const kinds = Object.keys(REPORTS) as Report['kind'][]
const statuses = Object.keys(ROWS)

function stepKinds(): string {
  const read = asked(aCall(0))
  const rows: [string, string, Report][] = [
    ['final', 'the model asks for nothing more, or what it said is not accepted', answered(says('hi'))],
    ['read_calls', 'all calls of the turn are reads, or refused', read],
    ['write_calls', 'at least one call is an effect', asked(aCall(0), anEffect(1))],
    ['retryable_error', 'the attempts of the model call failed', REPORTS.model_failed[0]!],
  ]
  return table(
    ['kind', 'when', 'the run is then'],
    rows.map(([kind, when, report]) => {
      const { run, writes } = moved(aRun(), report)
      expect(writes.events[0]?.body.kind).toBe(kind)
      return [
        kind,
        when,
        run.status === 'running'
          ? `running, phase ${run.phase}`
          : run.status === 'succeeded'
            ? 'final: succeeded, or failed by its reason'
            : `final: ${run.status}`,
      ]
    }),
  )
}

function sessionStates(): string {
  const state = (closed: boolean, ...runs: readonly Partial<Run>[]): string =>
    sessionState(
      closed,
      runs.map((r) => aRun(r)),
    )
  return table(
    ['the runs of the conversation', 'state'],
    [
      ['none, or all are final', state(false, { status: 'succeeded' })],
      ['one is queued, or running in another phase', state(false, { status: 'queued' })],
      [
        'one is running in phase `tool_running`',
        state(false, { status: 'queued' }, { status: 'running', phase: 'tool_running' }),
      ],
      ['the active ones all wait', state(false, { status: 'waiting_confirmation' })],
      ['the conversation is closed', state(true, {})],
    ],
  )
}

const ended = (end: (typeof LOOPS)[keyof typeof LOOPS]['end']): string =>
  'run' in end
    ? `\`${end.run}\``
    : 'waits' in end
      ? `waits as \`${end.waits}\``
      : `fault \`${end.fault}\`; the run is read again, until its deadline`

const page = (): string => `# What a run can do

Written by \`src/run/table.test.ts\` from the machine itself (\`UPDATE_DOCS=1\` writes it again).

## Statuses and reports

A cell names the statuses that the report can lead to; \`·\` is a refusal, which changes nothing.

${table(
  ['report', ...statuses],
  kinds.map((kind) => [`\`${kind}\``, ...statuses.map((s) => cell(ROWS[s]!, REPORTS[kind]))]),
)}

Where a cell names statuses, the report is refused all the same unless:

${table(
  ['report', 'condition'],
  kinds.flatMap((kind) => (CONDITIONS[kind] ? [[`\`${kind}\``, CONDITIONS[kind]]] : [])),
)}

## Ends

${table(
  ['reason', 'status', 'for people'],
  Object.entries(END_REASONS).map(([reason, end]) => [`\`${reason}\``, end.status, end.sentence]),
)}

${table(
  ['cancel cause', 'reason'],
  Object.entries(END_OF_CANCEL).map(([cause, reason]) => [`\`${cause}\``, `\`${reason}\``]),
)}

## Kinds of a step

${stepKinds()}

## States of a conversation

${sessionStates()}

## Loops

Nothing goes round without a limit, a counter and a named end.

${table(
  ['loop', 'limit', 'counter', 'end'],
  Object.values(LOOPS).map((l) => [l.loop, l.limit, l.counter, ended(l.end)]),
)}
`

describe('the table of a run', () => {
  it('A1 A11 A12 B4 B7 the printed page is what the machine does', () => {
    if (process.env.UPDATE_DOCS === '1') writeFileSync(PAGE, page())
    expect(readFileSync(PAGE, 'utf8'), 'stale: UPDATE_DOCS=1 npx vitest run src/run/table.test.ts').toBe(page())
  })

  it.each(['succeeded', 'failed', 'canceled'] as const)(
    'B4 %s is the end: no report of any kind moves the run again',
    (status) => {
      for (const kind of kinds) expect(cell(ROWS[status]!, REPORTS[kind])).toBe('·')
    },
  )

  it('A1 a refused report changes nothing and says which status refused it', () => {
    const all = Object.values(REPORTS).flat() as readonly Report[]
    for (const run of Object.values(ROWS).flat()) {
      const before = JSON.stringify(run)
      for (const report of all) {
        const result = step(run, report)
        if ('refused' in result) expect(result.refused).toEqual({ status: run.status, report: report.kind })
      }
      expect(JSON.stringify(run)).toBe(before)
    }
  })

  it('A1 a wait carries its reason, and nothing else does', () => {
    for (const run of Object.values(ROWS).flat()) {
      for (const report of Object.values(REPORTS).flat() as readonly Report[]) {
        const result = step(run, report)
        if ('run' in result) expect(result.run.wait !== null).toBe(result.run.status === 'waiting_confirmation')
        if ('run' in result) expect(result.run.end !== null).toBe(END_STATUSES.includes(result.run.status))
      }
    }
  })

  it('A1 only a decision about a confirmation moves a waiting run by approval', () => {
    for (const wait of ['unknown_effect', 'timer', 'question', 'external'])
      expect(cell(ROWS[`waiting: ${wait}`]!, REPORTS.confirmation_decided)).toBe('·')
  })
})

const END_STATUSES: readonly Status[] = ['succeeded', 'failed', 'canceled']
