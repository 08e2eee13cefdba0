/**
 * An effect of which nobody knows whether it happened, and what a person may say about it.
 *
 * J4   it parks the run and is never repeated with a new key, nor by itself
 */
import { endRun } from './end.ts'
import { park } from './park.ts'
import type { Report } from './report.ts'
import { type Call, isOpenEffect, type Run } from './state.ts'
import { type Moved, type NewEvent, NOTHING, type SettledCall, type Writes } from './writes.ts'

export function absorbUnknown(run: Run, position: number): Moved | null {
  const call = run.calls.find((c) => c.position === position)
  if (!call || call.status === 'unknown' || !isOpenEffect(call)) return null
  const told: NewEvent = {
    seq: run.eventSeq + 1,
    type: 'effect_unknown',
    body: { step: run.step, position, tool: call.tool },
  }
  const calls = run.calls.map((c): Call => (c === call ? { ...c, status: 'unknown' } : c))
  const writes: Writes = { ...NOTHING, settled: [{ position, status: 'unknown', outcome: null }], events: [told] }
  return park({ ...run, calls, eventSeq: told.seq }, 'unknown_effect', null, writes)
}

/** An operator knows what happened: the outcome is stored, and the run goes on from it. */
export function resolveUnknown(run: Run, report: Extract<Report, { kind: 'unknown_resolved' }>): Moved | null {
  const { outcome, position } = report
  const call = unknownAt(run, position)
  if (!call) return null
  return goOn(run, call, {
    call: { ...call, status: 'settled', outcome },
    settled: { position, status: 'settled', outcome },
    said: outcome.ok ? 'happened' : 'did_not_happen',
  })
}

/** It is sent once more under its key, by somebody who knows that this is safe. A canceled run starts nothing (J7). */
export function retryUnknown(run: Run, position: number): Moved | null {
  const call = unknownAt(run, position)
  if (!call || run.cancel) return null
  return goOn(run, call, {
    call: { ...call, status: 'started', again: true },
    settled: { position, status: 'started', outcome: null },
    said: 'retry',
  })
}

/** Nobody will find out: the run ends and says so, and the effect stays on record as unknown. */
export function leaveUnknown(run: Run, position: number): Moved | null {
  const call = unknownAt(run, position)
  if (!call || run.calls.some((c) => c !== call && isOpenEffect(c))) return null
  const told = resolved(run, position, 'left')
  return endRun({ ...run, eventSeq: told.seq }, 'unknown_effect', { ...NOTHING, events: [told] })
}

const unknownAt = (run: Run, position: number): Call | undefined =>
  run.wait === 'unknown_effect' ? run.calls.find((c) => c.position === position && c.status === 'unknown') : undefined

const resolved = (run: Run, position: number, outcome: string): NewEvent => ({
  seq: run.eventSeq + 1,
  type: 'effect_resolved',
  body: { step: run.step, position, outcome },
})

interface Word {
  readonly call: Call
  readonly settled: SettledCall
  readonly said: 'happened' | 'did_not_happen' | 'retry'
}

function goOn(run: Run, unknown: Call, { call, settled, said }: Word): Moved {
  const told = resolved(run, call.position, said)
  const calls = run.calls.map((c) => (c === unknown ? call : c))
  return {
    run: { ...run, status: 'queued', wait: null, calls, eventSeq: told.seq },
    writes: { ...NOTHING, settled: [settled], events: [told] },
  }
}
