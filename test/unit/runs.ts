/** Runs, calls and reports for tests of the machine: everything has a plain value, and a test says what matters to it. */
import { expect } from 'vitest'
import { envelope } from '../../src/tool/outcome.ts'
import type { ModelAnswer, ModelCall, Usage } from '../../src/model/port.ts'
import type { ToolOutcome } from '../../src/tool/contract.ts'
import type { FaultCode } from '../../src/kernel/fault.ts'
import { DEFAULT_BREAKER, pastOf } from '../../src/run/breaker.ts'
import { step } from '../../src/run/machine.ts'
import type { PlannedCall, Report } from '../../src/run/report.ts'
import type { Call, CallConfirmation, Run } from '../../src/run/state.ts'
import type { Moved } from '../../src/run/writes.ts'

/** A running run before its first model call, whose money is held. */
export function aRun(with_: Partial<Run> = {}): Run {
  return {
    key: { tenant: 'acme', environment: 'test', run: 'run_1' },
    session: 'ses_1',
    branch: 'main',
    generation: 1,
    user: 'u1',
    subject: 'u1',
    permissions: ['*'],
    agent: 'support',
    release: 'r1',
    status: 'running',
    wait: null,
    phase: 'planning',
    step: 0,
    version: 1,
    commits: 0,
    eventSeq: 1,
    messageSeq: 1,
    epoch: 1,
    attempts: 0,
    lost: false,
    limits: { steps: 8, toolCalls: 8, tokens: 100_000, cost: 1_000_000_000, attempts: 3 },
    used: { toolCalls: 0, tokens: 0, cost: 0 },
    reserved: { tokens: 1_100, cost: 5_300 },
    cancel: null,
    integrity: 'user',
    confidentiality: 'public',
    watermarkFrom: null,
    calls: [],
    past: [],
    context: {
      // no window: what a context leaves out is proved with contexts
      limits: {
        most: Infinity,
        low: Infinity,
        hard: Infinity,
        window: Infinity,
        memory: 0,
        summary: 0,
        evidence: 0,
        recent: 0,
      },
      fixedTokens: 100,
      transcript: [],
      memory: [],
      memoryTokens: 0,
      summaries: [],
    },
    promptTokens: 100,
    end: null,
    rules: {
      maxOutputTokens: 1_000,
      contextTokens: 50_000,
      price: { inputCentsPerMillion: 3, outputCentsPerMillion: 5 },
      onReject: 'observe',
      handOver: null,
    },
    ...with_,
  }
}

export const ok = (result: string = 'fine'): ToolOutcome => ({
  ok: true,
  result,
  bytes: result.length,
  truncated: false,
  mended: false,
})
export const failed = (code: FaultCode = 'tool_failed'): ToolOutcome => ({ ok: false, error: envelope(code) })

/** An intended read; `what` tells fingerprints apart. */
export function aCall(position: number, with_: Partial<Call> = {}, what = `call ${position}`): Call {
  return {
    position,
    callId: `call_${position}`,
    tool: 'orders.get',
    toolVersion: 1,
    exposedName: 'orders__get',
    level: 'read',
    approval: 'auto',
    raw: '{}',
    canonical: '{}',
    argumentsHash: what,
    fingerprint: what,
    key: `run_1/1/${position}/orders.get@1`,
    ends: null,
    stops: [],
    breaker: DEFAULT_BREAKER,
    retryByKey: false,
    status: 'intended',
    attempt: 0,
    again: false,
    startedMs: null,
    compensates: null,
    confirmation: null,
    wait: null,
    outcome: null,
    ...with_,
  }
}

export const anEffect = (position: number, with_: Partial<Call> = {}, what?: string): Call =>
  aCall(position, { tool: 'orders.refund', level: 'irreversible', approval: 'confirm', ...with_ }, what)

export const aConfirmation = (status: CallConfirmation['status'], leftMs = 300_000): CallConfirmation => ({
  id: `cnf_${status}`,
  status,
  leftMs,
  resourceVersion: 'v1',
})

/** A run in the middle of its first step, with these calls open; nothing is held. */
export function aStep(calls: readonly Call[], with_: Partial<Run> = {}): Run {
  return aRun({
    step: 1,
    phase: 'tool_running',
    messageSeq: 2,
    eventSeq: 2,
    reserved: { tokens: 0, cost: 0 },
    used: { toolCalls: calls.length, tokens: 120, cost: 400 },
    calls,
    past: calls.map((c) => pastOf(1, c)),
    ...with_,
  })
}

export const asks = (
  calls: readonly Pick<Call, 'callId' | 'exposedName' | 'raw'>[],
  usage: Usage = { input: 100, output: 20 },
): ModelAnswer => ({
  kind: 'calls',
  text: '',
  calls: calls.map((c): ModelCall => ({ id: c.callId, name: c.exposedName, arguments: c.raw })),
  reasoning: null,
  usage,
  model: null,
})

export const says = (text: string, usage: Usage = { input: 100, output: 20 }): ModelAnswer => ({
  kind: 'final',
  text,
  reasoning: null,
  usage,
  model: null,
})

export const bad = (
  reason: 'empty_final' | 'truncated' | 'content_filtered' | 'protocol_error',
  text = '',
): ModelAnswer => ({
  kind: 'bad',
  reason,
  detail: '',
  text,
  usage: {},
  model: null,
})

export const answered = (answer: ModelAnswer, calls: readonly Call[] = [], finalValid = true): Report => ({
  kind: 'model_answered',
  answer,
  calls,
  finalValid,
})

export const asked = (...calls: readonly Call[]): Report => answered(asks(calls), calls)

export const settles = (...outcomes: readonly (readonly [number, ToolOutcome])[]): Report => ({
  kind: 'calls_settled',
  calls: outcomes.map(([position, outcome]) => ({ position, outcome })),
})

export const aPlan = (position: number, openMs = 300_000): PlannedCall => ({
  position,
  plan: { summary: 'Refund o1' },
  resourceVersion: 'v1',
  repeats: null,
  answers: null,
  confirmation: `cnf_${position}`,
  nonce: 'n',
  openMs,
})

export const plans = (...positions: readonly number[]): Report => ({
  kind: 'calls_planned',
  plans: positions.map((p) => aPlan(p)),
  failed: [],
  confirmers: ['u1'],
})

/** The next state; a refusal fails the test. */
export function moved(run: Run, report: Report): Moved {
  const result = step(run, report)
  if ('refused' in result) throw new Error(`${report.kind} was refused while ${run.status}`)
  return result
}

/** The run after all of these reports. */
export const after = (run: Run, ...reports: readonly Report[]): Run =>
  reports.reduce((r, report) => moved(r, report).run, run)

const freeze = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const member of Object.values(value)) freeze(member)
  }
  return value
}

/** The report is refused, says so, and changes nothing. */
export function refused(run: Run, report: Report): void {
  const before = structuredClone(run)
  expect(step(freeze(run), report)).toEqual({ refused: { status: run.status, report: report.kind } })
  expect(run).toEqual(before)
}
