/**
 * The gateway runs what the gate has let through, inside a time and under a signal.
 *
 * J4  a commit that ends in any way but a result or a declared refusal is unknown, never failed
 * J8  a commit reads its input from the stored bytes that its permit names
 * K5  a late result is dropped here; it is adopted by key or refused by epoch elsewhere
 */
import { hashArguments } from '../kernel/canonical.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Random } from '../kernel/random.ts'
import { freezeJson, type Json, type JsonObject, parseStrict } from '../kernel/json.ts'
import { checkJson } from '../kernel/plain.ts'
import type { Permit } from '../gate/decide.ts'
import type { CallContext, Contract, ErrorEnvelope, Plan, ToolContext, ToolOutcome } from './contract.ts'
import type { Egress, Fetch } from './egress/egress.shell.ts'
import { type Arrived, type Later, laterOf } from './later.ts'
import { envelope, errorEnvelope, happened } from './outcome.ts'
import { gathered } from './result/result.shell.ts'
import { retryWait } from './retry.ts'
import { Fault } from '../kernel/fault.ts'
import { scrubJson } from './result/scrub.ts'
import { type CallServices, contextWith, NO_SERVICES } from './services.ts'
import { leavesOpen } from './taxonomy.ts'
import { declaredError } from './toolerror.ts'

export interface CallOptions {
  readonly clock: Clock
  /** The way out of every call. */
  readonly egress: Egress
  /** For the jitter between attempts of a read; without it each waits for the longest time. */
  readonly random?: Random
  /** Shorter than the contract's when the run has less time left. */
  readonly timeoutMs?: number
  /** What this call is given: credentials, a folder, a place for what it returns. */
  readonly services?: CallServices
}

export type PlanOutcome =
  | { readonly ok: true; readonly plan: Plan; readonly resourceVersion: string | null }
  | { readonly ok: false; readonly error: ErrorEnvelope }

/** `settled` with an error: the provider refused, nothing happened. */
export type CommitOutcome =
  | { readonly kind: 'settled'; readonly outcome: ToolOutcome }
  | { readonly kind: 'later'; readonly later: Later }
  | { readonly kind: 'unknown'; readonly because: 'timeout' | 'aborted' | 'broken' }

/** `silent`: nobody has told, and the contract has no `resume` to find out. `broken`: `resume` itself did not end. */
export type ResumeOutcome =
  | { readonly kind: 'settled'; readonly outcome: ToolOutcome }
  | { readonly kind: 'later'; readonly later: Later }
  | { readonly kind: 'silent' | 'broken' }

export type ProbeResult =
  | { readonly happened: true; readonly outcome: ToolOutcome }
  | { readonly happened: false }
  | { readonly happened: 'unknown' }

/** Whether the contract lets this actor do this with this object. Anything but `true`, in time, is a no (I3). */
export async function callAuthorize(
  contract: Contract,
  input: JsonObject,
  cx: CallContext,
  options: CallOptions,
): Promise<boolean> {
  const { authorize } = contract.implementation
  if (!authorize) return true
  const ended = await within(contract, cx, options, (inner): unknown => authorize(input, inner))
  return ended.kind === 'returned' && ended.value === true
}

export async function callRead(
  contract: Contract,
  input: JsonObject,
  cx: CallContext,
  options: CallOptions,
): Promise<ToolOutcome | { readonly later: Later }> {
  const { run } = contract.implementation
  if (!run) return failed(envelope('tool_failed'))
  const ended = await within(contract, cx, options, async (inner) => {
    const attempt = () => run(input, inner)
    const value = await (contract.attempts === 1 ? attempt() : repeatedly(contract, inner, options, attempt))
    return gatheredOrLater(contract, value, inner, options)
  })
  if (ended.kind === 'returned') return ended.value
  return failed(ended.kind === 'threw' ? errorOf(contract, ended.thrown, options) : interrupted(ended.kind))
}

/** The plan of an effect and the version of its resource now. Without `plan` the arguments themselves are the plan. */
export async function callPlan(
  contract: Contract,
  input: JsonObject,
  cx: CallContext,
  options: CallOptions,
): Promise<PlanOutcome> {
  const { plan, resourceVersion } = contract.implementation
  const ended = await within(contract, cx, options, async (inner): Promise<unknown> => {
    // The version is read first: a plan on newer facts than its version is refused later, never the other way round.
    const version = await resourceVersion?.(input, inner)
    const made = (await plan?.(input, inner)) ?? { summary: `${contract.name} version ${contract.version}` }
    // A plan may leave out what it does not know, in either way of JavaScript.
    const parts = { ...made, resourceVersion: version ?? made.resourceVersion }
    return Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined))
  })
  if (ended.kind !== 'returned') {
    return failed(ended.kind === 'threw' ? errorOf(contract, ended.thrown, options) : interrupted(ended.kind))
  }
  const checked = checkJson(ended.value, { text: 'mend' })
  const shown = checked.ok ? scrubJson(checked.value, servicesOf(options).scrub) : null
  if (shown === null || !isPlan(shown)) return failed(envelope('result_not_serialisable'))
  return { ok: true, plan: shown, resourceVersion: shown.resourceVersion ?? null }
}

/** The version of the resource now, or null when the tool has no reader. Any failure refuses (J12). */
export async function callResourceVersion(
  contract: Contract,
  input: JsonObject,
  cx: CallContext,
  options: CallOptions,
): Promise<
  { readonly ok: true; readonly version: string | null } | { readonly ok: false; readonly error: ErrorEnvelope }
> {
  const { resourceVersion } = contract.implementation
  if (!resourceVersion) return { ok: true, version: null }
  const ended = await within(contract, cx, options, (inner) => resourceVersion(input, inner))
  if (ended.kind === 'returned' && typeof ended.value === 'string')
    return { ok: true, version: servicesOf(options).scrub.text(ended.value) }
  return failed(ended.kind === 'threw' ? errorOf(contract, ended.thrown, options) : envelope('tool_failed'))
}

/** Runs one effect once. The permit is checked against the contract and the call before anything leaves the process. */
export async function callCommit(
  contract: Contract,
  permit: Permit,
  cx: CallContext,
  options: CallOptions,
): Promise<CommitOutcome> {
  const { commit } = contract.implementation
  const input = permittedInput(contract, permit, cx)
  if (!commit || !input || cx.signal.aborted) return { kind: 'settled', outcome: failed(envelope('not_started')) }
  let isDone = false
  const ended = await within(contract, cx, options, async (inner) => {
    const value = await commit(input, inner)
    isDone = true
    return gatheredOrLater(contract, value, inner, options)
  })
  if (ended.kind === 'returned')
    return 'later' in ended.value
      ? { kind: 'later', later: ended.value.later }
      : { kind: 'settled', outcome: happened(ended.value) }
  // it has happened; what came after it could not be read to its end
  if (isDone) return { kind: 'settled', outcome: happened(failed(envelope('result_not_kept'))) }
  if (ended.kind !== 'threw') return { kind: 'unknown', because: ended.kind }
  const declared = declaredError(contract, ended.thrown)
  if (!declared || leavesOpen(declared.class)) return { kind: 'unknown', because: 'broken' }
  return { kind: 'settled', outcome: failed(errorOf(contract, ended.thrown, options)) }
}

/**
 * A wait is over: what came of the call? `resume` says it; without one, what was told is the result. It only looks, so
 * it may be asked again after a crash.
 */
export async function callResume(
  contract: Contract,
  input: JsonObject,
  cx: CallContext,
  { arrived, isTimer, ...options }: CallOptions & { readonly arrived: Arrived | null; readonly isTimer: boolean },
): Promise<ResumeOutcome> {
  const { resume } = contract.implementation
  if (!resume && !arrived && !isTimer) return { kind: 'silent' }
  const ended = await within(contract, cx, options, async (inner) => {
    const told: unknown = arrived ? arrived.body : { waited: true }
    const value: unknown = resume ? await resume(input, inner, arrived) : told
    return resume
      ? gatheredOrLater(contract, value, inner, options)
      : gathered(contract, value, { ...servicesOf(options), signal: inner.signal })
  })
  if (ended.kind === 'returned') {
    if ('later' in ended.value) return { kind: 'later', later: ended.value.later }
    return { kind: 'settled', outcome: contract.effect === 'read' ? ended.value : happened(ended.value) }
  }
  const declared = ended.kind === 'threw' ? declaredError(contract, ended.thrown) : null
  if (ended.kind !== 'threw' || !declared || leavesOpen(declared.class)) return { kind: 'broken' }
  return { kind: 'settled', outcome: failed(errorOf(contract, ended.thrown, options)) }
}

/** What a tool returned, read to its end; or that it waits for something outside. */
async function gatheredOrLater(
  contract: Contract,
  value: unknown,
  { signal }: ToolContext,
  options: CallOptions,
): Promise<ToolOutcome | { readonly later: Later }> {
  const wait = laterOf(value)
  return wait ? { later: wait } : gathered(contract, value, { ...servicesOf(options), signal })
}

/** Asks whether an effect happened. Whatever is not a clear answer is `unknown`. */
export async function callProbe(
  contract: Contract,
  input: JsonObject,
  cx: CallContext,
  options: CallOptions,
): Promise<ProbeResult> {
  const { probe } = contract.implementation
  if (!probe) return { happened: 'unknown' }
  const ended = await within(contract, cx, options, async (inner): Promise<ProbeResult> => {
    const answer: unknown = await probe(input, inner)
    if (typeof answer !== 'object' || answer === null || !('happened' in answer)) return { happened: 'unknown' }
    if (answer.happened !== true) return answer.happened === false ? { happened: false } : { happened: 'unknown' }
    const gathering = { ...servicesOf(options), signal: inner.signal }
    return {
      happened: true,
      outcome: happened(await gathered(contract, 'result' in answer ? answer.result : null, gathering)),
    }
  })
  return ended.kind === 'returned' ? ended.value : { happened: 'unknown' }
}

const servicesOf = (options: CallOptions): CallServices => options.services ?? NO_SERVICES

const errorOf = (contract: Contract, thrown: unknown, options: CallOptions): ErrorEnvelope =>
  errorEnvelope(contract, thrown, servicesOf(options).scrub)

const failed = (error: ErrorEnvelope): { readonly ok: false; readonly error: ErrorEnvelope } => ({ ok: false, error })

const interrupted = (kind: 'timeout' | 'aborted'): ErrorEnvelope =>
  envelope(kind === 'timeout' ? 'tool_timeout' : 'canceled')

/** The input in the permit's own bytes, or null when the permit is for another call. */
function permittedInput(contract: Contract, permit: Permit, cx: CallContext): JsonObject | null {
  const { name: tool, version } = contract
  const hash = hashArguments({ tool, version, tenant: cx.actor.tenant, text: permit.canonical })
  const same =
    permit.tool === tool &&
    permit.version === version &&
    permit.argumentsHash === hash &&
    permit.effectKey === cx.effectKey &&
    permit.runId === cx.runId &&
    permit.step === cx.step &&
    permit.position === cx.position
  const parsed = same ? parseStrict(permit.canonical) : null
  return parsed?.ok === true ? freezeJson(parsed.value as JsonObject) : null
}

const OPTIONAL_TEXTS = ['resource', 'resourceVersion'] as const

function isPlan(value: Json): value is Plan & JsonObject {
  const plan = value as JsonObject
  return (
    typeof plan.summary === 'string' &&
    OPTIONAL_TEXTS.every((part) => ['string', 'undefined'].includes(typeof plan[part]))
  )
}

/** The attempts of one read, in the time of one call. */
async function repeatedly(
  contract: Contract,
  { signal }: ToolContext,
  { clock, random, timeoutMs = contract.timeoutMs }: CallOptions,
  attempt: () => unknown,
): Promise<unknown> {
  const until = clock.monotonic() + Math.min(timeoutMs, contract.timeoutMs)
  for (let failed = 1; ; failed++) {
    try {
      return await attempt()
    } catch (thrown) {
      const leftMs = until - clock.monotonic()
      const wait = retryWait(contract, { thrown, failed, leftMs, fraction: random?.fraction() ?? 1 })
      if (wait === null || signal.aborted) throw thrown
      await clock.sleep(wait, signal)
    }
  }
}

type Ended<T> =
  | { readonly kind: 'returned'; readonly value: T }
  | { readonly kind: 'threw'; readonly thrown: unknown }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'aborted' }

/** Runs `work` until it ends, its time is over or the run's signal aborts; the first of them counts. */
function within<T>(
  contract: Contract,
  cx: CallContext,
  options: CallOptions,
  work: (cx: ToolContext) => T | Promise<T>,
): Promise<Ended<T>> {
  if (cx.signal.aborted) return Promise.resolve({ kind: 'aborted' })
  const inner = new AbortController()
  return new Promise((resolve) => {
    let isOver = false
    const end = (ended: Ended<T>): void => {
      if (isOver) return
      isOver = true
      cancel()
      cx.signal.removeEventListener('abort', stop)
      tell(contract, options, ended)
      resolve(ended)
    }
    const leave = (ended: Ended<T>, reason: unknown): void => {
      if (!isOver) inner.abort(reason)
      end(ended)
    }
    const stop = (): void => leave({ kind: 'aborted' }, cx.signal.reason)
    const cancel = options.clock.after(Math.min(options.timeoutMs ?? contract.timeoutMs, contract.timeoutMs), () =>
      leave({ kind: 'timeout' }, new DOMException('The time of the call is over.', 'TimeoutError')),
    )
    cx.signal.addEventListener('abort', stop)
    const fetch = reaching(contract, options.egress, inner.signal)
    const given = contextWith(contract, { ...cx, signal: inner.signal, fetch }, servicesOf(options))
    void settle(() => work(given)).then(end)
  })
}

/** What the contract declares is for the model, unless something else is behind it. */
function tell(contract: Contract, options: CallOptions, ended: Ended<unknown>): void {
  const { report } = servicesOf(options)
  if (!report || (ended.kind !== 'threw' && ended.kind !== 'timeout')) return
  const thrown = ended.kind === 'timeout' ? new Fault('tool_timeout') : ended.thrown
  const isExpected = declaredError(contract, thrown) !== null && (thrown as Error).cause === undefined
  if (!isExpected) report(thrown)
}

/** The way out of one call: the hosts of its contract, the time of its call, and nothing after its end. */
function reaching({ hosts, timeoutMs }: Contract, egress: Egress, signal: AbortSignal): Fetch {
  const fetch = egress.fetch({ hosts, timeoutMs })
  return (input, init) =>
    fetch(input, { ...init, signal: init?.signal ? AbortSignal.any([signal, init.signal]) : signal })
}

/** Never rejects, whether the implementation throws at once, later, or after everybody has gone. */
async function settle<T>(work: () => T | Promise<T>): Promise<Ended<T>> {
  try {
    return { kind: 'returned', value: await work() }
  } catch (thrown) {
    return { kind: 'threw', thrown }
  }
}
