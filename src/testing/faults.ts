/**
 * Planted faults: a process that dies, stops or throws at the n-th pass of a named place.
 *
 *   PLIMSOLL_FAULT='ext.replied:2:kill,claim.after:1:throw'
 *
 * `kill` is SIGKILL, `stop` is SIGSTOP until somebody sends SIGCONT. Before it acts, one line is written to standard
 * output, `{"fault":"ext.replied","pass":2,"action":"kill"}`, so that whoever started the process need not guess.
 */
import { writeSync } from 'node:fs'
import { Fault } from '../kernel/fault.ts'
import { FAULT_POINTS, type FaultHook, type FaultPoint } from '../kernel/faultpoint.ts'

export type FaultAction = 'throw' | 'kill' | 'stop'

export interface PlantedFault {
  readonly point: FaultPoint
  /** From 1. */
  readonly pass: number
  readonly action: FaultAction
}

const ACTIONS: ReadonlySet<string> = new Set<FaultAction>(['throw', 'kill', 'stop'])
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
          `A planted fault is written point:pass:throw|kill|stop; there is no "${one}".`,
        )
      return { point: point as FaultPoint, pass: Number(pass), action: action as FaultAction }
    })
}

/** A hook that plants these faults, each once. */
export function plantFaults(planted: readonly PlantedFault[]): FaultHook {
  const passes = new Map<FaultPoint, number>()
  return async (point) => {
    const pass = (passes.get(point) ?? 0) + 1
    passes.set(point, pass)
    const due = planted.find((f) => f.point === point && f.pass === pass)
    if (due) await act(due)
  }
}

/** The faults of `PLIMSOLL_FAULT`; none when it is not set. */
export const faultsFromEnv = (env: NodeJS.ProcessEnv = process.env): FaultHook =>
  plantFaults(parseFaults(env['PLIMSOLL_FAULT'] ?? ''))

/** A hook that counts how often each place was passed. */
export function countPasses(): { readonly hook: FaultHook; readonly passes: ReadonlyMap<FaultPoint, number> } {
  const passes = new Map<FaultPoint, number>()
  return { passes, hook: (point) => void passes.set(point, (passes.get(point) ?? 0) + 1) }
}

async function act({ point, pass, action }: PlantedFault): Promise<void> {
  if (action === 'throw') throw new Error(`planted at ${point}`)
  writeSync(1, `${JSON.stringify({ fault: point, pass, action })}\n`)
  process.kill(process.pid, action === 'kill' ? 'SIGKILL' : 'SIGSTOP')
  // nothing runs on after a kill, not even for the instant until the signal arrives
  if (action === 'kill') await new Promise(() => {})
}
