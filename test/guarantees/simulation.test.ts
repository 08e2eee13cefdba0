/** The modules that are shipped, in a simulated world: `npm run simulate` tells more stories of the same kind. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { simulateSeeds, tell } from '../../src/eval/simulate.ts'
import { theatre } from '../../src/testing/simulation/play.ts'
import { implausible } from '../../src/testing/simulation/reference.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const stage = theatre()
const SEEDS = 2_000

describe('a simulated world', () => {
  it('J3 J4 L3 B4 no seed breaks a promise: workers die and stand still, replies are lost, people press twice', async () => {
    const broken: string[] = []
    const ends = new Set<string>()
    let effects = 0
    await simulateSeeds(stage, { from: 1, seeds: SEEDS }, (played) => {
      if (played.violation) broken.push(tell(played).join('\n'))
      for (const run of played.world.tables.run.all()) ends.add(run.end_reason ?? run.status)
      effects += played.world.provider.log.length
    })
    expect(broken.slice(0, 2)).toEqual([])
    // the stories are worth something only when much happens in them
    expect(effects).toBeGreaterThan(SEEDS / 2)
    expect([...ends]).toEqual(
      expect.arrayContaining([
        'completed',
        'attempts_exhausted',
        'confirmation_expired',
        'confirmation_rejected',
        'deadline',
        'protocol_error',
        'repeated_action',
        'step_limit',
        'superseded',
        'token_limit',
        'truncated',
        'user_canceled',
      ]),
    )
  }, 600_000)

  it('L3 the same seed tells the same story, to the last step', async () => {
    const other = theatre()
    for (let seed = 1; seed <= 20; seed++) {
      const first = await stage.play(seed)
      const second = await other.play(seed)
      expect([seed, second.hash, second.steps]).toEqual([seed, first.hash, first.steps])
    }
  }, 300_000)

  it('L3 two seeds tell two stories', async () => {
    const hashes = new Set<string>()
    await simulateSeeds(stage, { from: 1, seeds: 40 }, ({ hash }) => hashes.add(hash))
    expect(hashes.size).toBe(40)
  }, 300_000)
})

describe('the reference story of a run', () => {
  const story = (...types: readonly (readonly [string, object?])[]) =>
    implausible(
      types.map(([type, body]) => ({ type, body: (body ?? {}) as never })),
      (tool) => tool === 'look',
    )
  const planned = ['step_planned', { step: 1, calls: [{ position: 0, tool: 'do' }] }] as const
  const looked = ['step_planned', { step: 1, calls: [{ position: 0, tool: 'look' }] }] as const
  const settled = ['calls_settled', { step: 1, calls: [{ position: 0, outcome: 'ok' }] }] as const
  const started = ['effect_started', { step: 1, position: 0 }] as const
  const done = { status: 'succeeded', reason: 'completed', done: [{ step: 1, position: 0 }] }
  const ended = ['run_ended', done] as const
  const over = ['run_ended', { ...done, done: [] }] as const
  const canceled = ['cancel_requested', { cause: 'user' }] as const
  const asked = ['confirmation_requested', { confirmations: [{ id: 'c', position: 0 }] }] as const
  const approved = ['confirmation_decided', { confirmation: 'c', outcome: 'approved' }] as const
  const waits = (reason: string) => ['run_parked', { reason }] as const
  const taken = ['calls_waiting', { step: 1, calls: [{ position: 0 }] }] as const
  const unknown = ['effect_unknown', { step: 1, position: 0 }] as const
  const resolved = ['effect_resolved', { step: 1, position: 0, outcome: 'happened' }] as const

  it.each([
    ['an effect', [['run_queued'], planned, started, settled, ended]],
    ['a read, and the word that closes its step', [['run_queued'], looked, settled, settled, over]],
    ['a confirmation', [['run_queued'], planned, asked, waits('confirmation'), approved, started, settled, ended]],
    ['a wait', [['run_queued'], planned, started, taken, waits('external'), settled, ended]],
    ['what nobody knew', [['run_queued'], planned, started, unknown, waits('unknown_effect'), resolved, ended]],
    [
      'a deadline',
      [['run_queued'], looked, ['run_ended', { ...done, status: 'failed', reason: 'deadline', done: [] }]],
    ],
  ] as const)('B4 A1 accepts what can be true: %s', (_, types) => {
    expect(story(...types)).toBeNull()
  })

  it.each([
    ['an effect that nobody planned', [['run_queued'], started]],
    ['an end beside an open effect', [['run_queued'], planned, started, over]],
    ['an end that hides what was done', [['run_queued'], planned, started, settled, over]],
    ['an end that boasts', [['run_queued'], planned, settled, ended]],
    ['a second end', [['run_queued'], over, over]],
    [
      'an end whose status is of another reason',
      [['run_queued'], ['run_ended', { ...done, status: 'failed', done: [] }]],
    ],
    ['a success after a cancel', [['run_queued'], canceled, over]],
    ['a start after a cancel', [['run_queued'], planned, canceled, started, settled, ended]],
    ['a start of a read', [['run_queued'], looked, started, settled, over]],
    ['an effect that never left', [['run_queued'], planned, settled, ended]],
    ['an effect that nobody approved', [['run_queued'], planned, asked, started, settled, ended]],
    ['a decision for a canceled run', [['run_queued'], planned, asked, canceled, approved]],
    ['a start while nobody knows', [['run_queued'], planned, started, unknown, waits('unknown_effect'), started]],
    ['a wait of what never left, told as done', [['run_queued'], planned, taken, waits('timer'), settled, ended]],
    ['a step that is left out', [['run_queued'], ['step_planned', { step: 2, calls: [] }]]],
    ['a step while a call is open', [['run_queued'], planned, ['step_planned', { step: 2, calls: [] }]]],
    ['a decision that nobody asked for', [['run_queued'], planned, ['confirmation_decided', { confirmation: 'c' }]]],
    ['no end', [['run_queued'], planned]],
  ] as const)('B4 refuses %s', (_, types) => {
    expect(story(...types)).not.toBeNull()
  })
})

/** The files that a file imports at run time, without packages and types. */
function importsOf(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest)
  return source.statements.flatMap((s) => {
    const isImport = ts.isImportDeclaration(s) && s.importClause?.phaseModifier !== ts.SyntaxKind.TypeKeyword
    const from = (isImport || ts.isExportDeclaration(s)) && s.moduleSpecifier
    return from && ts.isStringLiteral(from) && from.text.startsWith('.') ? [join(dirname(file), from.text)] : []
  })
}

function graphOf(entry: string, seen = new Set<string>()): Set<string> {
  if (seen.has(entry)) return seen
  seen.add(entry)
  for (const next of importsOf(entry)) graphOf(next, seen)
  return seen
}

/** What a run is made of; nothing of it may be replaced but seams. */
const SHIPPED = ['run', 'gate', 'tool', 'journal', 'stream', 'model', 'context', 'session']
/** Seen from outside only: doors, adapters of providers and of definitions. */
const ELSEWHERE = /(openai|aisdk|yaml|mcp|redis|objects|oauth)[\w-]*(\.shell)?\.ts$/

describe('what is simulated', () => {
  const graph = [...graphOf(join(ROOT, 'src/eval/simulate.ts'))].map((file) => relative(ROOT, file))
  const shipped = SHIPPED.flatMap((slice) =>
    readdirSync(join(ROOT, 'src', slice))
      .filter((name) => /\.(shell|store)\.ts$/.test(name) && !ELSEWHERE.test(name))
      .map((name) => `src/${slice}/${name}`),
  )

  it('L3 is every shell and store of the product that a run goes through, and src/runtime.ts that joins them', () => {
    expect(shipped.filter((file) => !graph.includes(file))).toEqual([])
    expect(shipped.length).toBeGreaterThan(15)
    expect(graph).toEqual(
      expect.arrayContaining([...shipped, 'src/runtime.ts', 'src/run/machine.ts', 'src/run/next.ts']),
    )
  })

  it('L3 is no copy: no file of the simulation has the name or a function of one that it runs', () => {
    const functions = (file: string): string[] =>
      readFileSync(join(ROOT, file), 'utf8').match(/(?<=^export (async )?function\*? )\w+/gm) ?? []
    const own = graph.filter((file) => file.startsWith('src/testing/'))
    const real = new Set(shipped.flatMap(functions))
    expect(real.size).toBeGreaterThan(15)
    for (const file of own) for (const name of functions(file)) expect([file, real.has(name)]).toEqual([file, false])
  })
})
