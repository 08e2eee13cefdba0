/**
 * Faults planted by name, so that a test says where a process dies: `PLIMSOLL_FAULT='ext.replied:2:kill,claim.after:1:throw'
 *
 * `kill` is SIGKILL, `stop` is SIGSTOP until somebody sends SIGCONT, `throw` an error of the program. `cut_before` and
 * `cut_after` lose the next commit, or its reply, when the process reaches its database through a proxy; `hold` waits for
 * a line on standard input. Before it acts, one line is written to standard output,
 * `{"fault":"ext.replied","pass":2,"action":"kill"}`, so that whoever started the process need not guess.
 */
import { writeSync } from 'node:fs'
import { Fault } from '../kernel/fault.ts'
import { FAULT_POINTS, type FaultHook, type FaultPoint } from '../kernel/faultpoint.ts'

const FAULT_ACTIONS = ['throw', 'kill', 'stop', 'cut_before', 'cut_after', 'hold'] as const
export type FaultAction = (typeof FAULT_ACTIONS)[number]

export interface PlantedFault {
  readonly point: FaultPoint
  /** From 1. */
  readonly pass: number
  readonly action: FaultAction
}

const ACTIONS: ReadonlySet<string> = new Set<FaultAction>(FAULT_ACTIONS)
const POINTS: ReadonlySet<string> = new Set(FAULT_POINTS)

/** @throws Fault `invalid_definition` for a place or an action that does not exist: a fault that never comes proves nothing. */
export function parseFaults(text: string): readonly PlantedFault[] {
  return text
    .split(',')
    .filter((one) => one.trim() !== '')
    .map((one) => {
      const [point = '', pass = '', action = ''] = one.trim().split(':')
      if (!POINTS.has(point) || !ACTIONS.has(action) || !/^[1-9]\d*$/.test(pass))
        throw new Fault(
          'invalid_definition',
          `A planted fault is written point:pass:${FAULT_ACTIONS.join('|')}; there is no "${one}".`,
        )
      return { point: point as FaultPoint, pass: Number(pass), action: action as FaultAction }
    })
}

/** What only the process itself can do. */
export interface Reach {
  /** Arms its proxy. */
  cut(when: 'before' | 'after'): void
}

const NO_REACH: Reach = {
  cut() {
    throw new Fault('invalid_definition', 'There is no proxy here that could cut a connection.')
  },
}

/** A hook that plants these faults, each once. */
export function plantFaults(planted: readonly PlantedFault[], reach: Reach = NO_REACH): FaultHook {
  const passes = new Map<FaultPoint, number>()
  return async (point) => {
    const pass = (passes.get(point) ?? 0) + 1
    passes.set(point, pass)
    const due = planted.find((f) => f.point === point && f.pass === pass)
    if (due) await act(due, reach)
  }
}

/** The faults of `PLIMSOLL_FAULT`; none when it is not set. */
export const faultsFromEnv = (env: NodeJS.ProcessEnv = process.env, reach?: Reach): FaultHook =>
  plantFaults(parseFaults(env['PLIMSOLL_FAULT'] ?? ''), reach)

/** A hook that counts how often each place was passed. */
export function countPasses(): { readonly hook: FaultHook; readonly passes: ReadonlyMap<FaultPoint, number> } {
  const passes = new Map<FaultPoint, number>()
  return { passes, hook: (point) => void passes.set(point, (passes.get(point) ?? 0) + 1) }
}

async function act({ point, pass, action }: PlantedFault, reach: Reach): Promise<void> {
  writeSync(1, `${JSON.stringify({ fault: point, pass, action })}\n`)
  switch (action) {
    case 'throw':
      throw new Error(`planted at ${point}`)
    case 'kill':
      process.kill(process.pid, 'SIGKILL')
      // nothing runs on after a kill, not even for the instant until the signal arrives
      return new Promise(() => {})
    case 'stop':
      return void process.kill(process.pid, 'SIGSTOP')
    case 'hold':
      return new Promise((resolve) => process.stdin.once('data', () => resolve()).resume())
    case 'cut_before':
      return reach.cut('before')
    case 'cut_after':
      return reach.cut('after')
    default:
      return action satisfies never
  }
}
