/** The list of crash cases: every named place × what may happen there × who is beside × what kind of provider. */
import { WORKER_POINTS, type FaultPoint } from '../kernel/faultpoint.ts'
import type { ProviderMode, Trouble } from '../testing/effect-provider.ts'
import { type CrashCase, caseAt } from './crash-case.ts'
import type { WrongClock } from './crash-process.ts'

/** `keyed` is where every place is struck; the others where the kind of the provider makes a difference. */
const OTHERS: readonly ProviderMode[] = ['keyed_blind', 'state', 'manual']
const MODES: readonly ProviderMode[] = ['keyed', ...OTHERS]
const AROUND_EFFECT: readonly FaultPoint[] = [
  'preflight.after',
  'ext.before',
  'ext.committedNoReply',
  'ext.replied',
  'result.before',
]
/** An effect comes second: these are struck in the read before it, too. */
const PASSED_TWICE: readonly FaultPoint[] = [
  'step.beforeIntent',
  'step.afterIntent',
  'result.before',
  'result.after',
  'model.end',
  'claim.after',
]
const TROUBLES: readonly Trouble['kind'][] = ['no_reply', 'status_500', 'slow']
const CLOCKS: readonly WrongClock[] = ['ahead', 'behind', 'frozen', 'stepping']
/** Changes of a run from its claim to its end; more than there are leave the last ones unrefused. */
const CHANGES = 9

type Action = Parameters<typeof caseAt>[1]

export interface Matrix {
  readonly cases: readonly CrashCase[]
  /** These need a database that is restarted. */
  readonly restarts: readonly CrashCase[]
}

/** Each of `points` killed once. */
export const killedOnce = (points: readonly FaultPoint[]): readonly CrashCase[] =>
  points.map((point) => caseAt(point, 'kill'))

const beside = (one: CrashCase): CrashCase => ({ ...one, beside: true })

/** Everything that there is to do at `points`. */
export function matrixOf(points: readonly FaultPoint[]): Matrix {
  const keyed = (action: Action) => points.map((point) => caseAt(point, action))
  const others = (action: Action) =>
    points
      .filter((point) => AROUND_EFFECT.includes(point))
      .flatMap((point) => OTHERS.map((mode) => caseAt(point, action, mode)))
  return {
    cases: [
      ...keyed('kill'),
      ...keyed('kill').map(beside),
      ...others('kill').map(beside),
      ...keyed('stop').map(beside),
      ...others('stop'),
      ...keyed('cut_before'),
      ...keyed('cut_after'),
      ...others('cut_after').map(beside),
      ...keyed('throw'),
      ...keyed('term'),
      ...others('term'),
      ...keyed('cancel'),
      ...others('cancel').map(beside),
      ...keyed('cancel_kill'),
    ],
    restarts: [...keyed('restart'), ...others('restart').map(beside)],
  }
}

export function wholeMatrix(): Matrix {
  const { cases, restarts } = matrixOf(WORKER_POINTS)
  const second = MODES.flatMap((mode) => PASSED_TWICE.map((point) => caseAt(point, 'kill', mode, 2)))
  const troubled = MODES.flatMap((mode) =>
    TROUBLES.flatMap((kind): CrashCase[] => [
      { mode, victims: [], trouble: { kind, ms: 300 } },
      { mode, victims: ['ext.replied:1:kill'], trouble: { kind, ms: 300 } },
    ]),
  )
  const wrongClocks = CLOCKS.flatMap((clock): CrashCase[] => [
    { ...caseAt('ext.replied', 'kill', 'state'), beside: true, clock },
    { ...caseAt('ext.before', 'stop', 'manual'), beside: true, clock },
  ])
  const refused = (['40001', '40P01'] as const).flatMap((sqlstate) =>
    Array.from({ length: CHANGES }, (_, i): CrashCase => {
      const mode = MODES[i % MODES.length] ?? 'keyed'
      return { mode, victims: [], refusal: { sqlstate, nth: i + 1 } }
    }),
  )
  const poison: CrashCase[] = (['read', 'write'] as const).map((deadly) => ({
    mode: 'keyed',
    victims: ['', '', ''],
    deadly,
    attempts: 2,
  }))
  return { cases: [...cases, ...second, ...troubled, ...wrongClocks, ...refused, ...poison], restarts }
}

export const nameOf = ({
  mode,
  victims,
  held,
  beside: isBeside,
  companion,
  trouble,
  deadly,
  clock,
  refusal,
}: CrashCase): string =>
  [
    mode,
    ...victims,
    held ?? '',
    isBeside ? 'beside another' : '',
    companion ? 'with a second run' : '',
    trouble?.kind ?? '',
    deadly ? `deadly ${deadly}` : '',
    clock ? `clock ${clock}` : '',
    refusal ? `refused ${refusal.sqlstate} ${refusal.nth}` : '',
  ]
    .filter(Boolean)
    .join(' ')
