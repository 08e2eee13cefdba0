/**
 * An effect above `read`: preflight, COMMIT S, the call, and what to do when nobody knows how it ended.
 *
 * J1  authorisation, tool, release, resource version and confirmation are looked at again right before
 * J4  a broken commit is asked for by its key first; never a new key; what nobody can tell waits for a person
 * J6  the statement that marks the start checks lease, epoch, status and cancel mark
 */
import type { Place } from '../kernel/bulkhead.shell.ts'
import { Fault, isUnreachable } from '../kernel/fault.ts'
import { permitFor } from '../gate/decide.ts'
import type { Started } from '../journal/effect.store.ts'
import { callCommit, callProbe, callResourceVersion, type ProbeResult } from '../tool/gateway.shell.ts'
import type { Contract, ToolOutcome } from '../tool/contract.ts'
import type { CallServices } from '../tool/services.ts'
import type { Waiting } from './report.ts'
import type { ActParts, Acted, Work } from './acting.ts'
import { admitted, showedByCommit } from './admit.shell.ts'
import { allowed, contextOf, inputOf, limitsOf, placeOf, rateLimited, withinRun } from './calls.shell.ts'
import { throwIfHandedBack } from './handback.ts'
import { MOST_STARTS } from './loops.ts'
import { step } from './machine.ts'
import { refused } from './said.ts'
import { recorded, servicesFor } from './services.shell.ts'
import type { Call, Run } from './state.ts'

/** A call leaves the house within this time of COMMIT S, or is started anew. A commit takes milliseconds; a machine that is overloaded, a second. */
const START_MS = 2_000

export async function startEffect(
  parts: ActParts,
  work: Work,
  call: Call,
  // without a key, and without a person's word, a repeat comes only after a clear "not there"
  { again, isOpen = again && (call.retryByKey || call.again) }: { again: boolean; isOpen?: boolean },
): Promise<Acted> {
  throwIfHandedBack(work.signal)
  if (call.attempt >= MOST_STARTS && !call.again) return unknown(work.run, call)
  await parts.fault('preflight.before')
  const contract = await allowed(parts, work, call)
  // a refusal says nothing of the tries before
  if (typeof contract === 'string') return isOpen ? unknown(work.run, call) : settled(work.run, call, refused(contract))
  // the rules under which somebody agreed are no longer ours
  if (!again && work.run.release !== parts.agent.release && call.approval !== 'auto')
    return settled(work.run, call, refused('stale_plan'))
  const services = await servicesFor(parts, placeOf(work, call), contract)
  throwIfHandedBack(work.signal)
  // the effect has started before: what became of it is not known, with or without a credential
  if (typeof services === 'string') return again ? unknown(work.run, call) : settled(work.run, call, refused(services))
  const stale = again ? false : await isStale(parts, work, call, { contract, services })
  throwIfHandedBack(work.signal)
  if (stale === 'failed') return settled(work.run, call, refused('tool_failed'))
  if (stale) return settled(work.run, call, refused('stale_plan'))
  // a repeat under the same key is the same start
  const limited = again ? null : await rateLimited(parts, work, contract)
  if (limited) return settled(work.run, call, limited)

  // what has started is asked for and sent again whoever is down: somebody has to find out
  const place = again ? null : await admitted(parts, work, contract)
  if (place && 'ok' in place) return settled(work.run, call, place)
  try {
    return await startIn(parts, work, call, { again, isOpen, contract, services, place })
  } finally {
    place?.leave('nothing')
  }
}

interface Starting extends Prepared {
  readonly again: boolean
  /** An earlier try may have happened. */
  readonly isOpen: boolean
  readonly place: Place | null
}

async function startIn(parts: ActParts, work: Work, call: Call, how: Starting): Promise<Acted> {
  const { again } = how
  const asked = parts.clock.monotonic()
  const started = await start(parts, work, call, again)
  if (started.outcome === 'lease_lost') throw new Fault('lease_lost')
  // the stored approval is not the one that was read, and reading it again would not mend it
  if (started.outcome === 'not_approved' && !again) return settled(work.run, call, refused('stale_plan'))
  if (started.outcome === 'not_approved') return unknown(work.run, call)
  if (started.outcome !== 'started') return 'reload'
  await parts.fault('preflight.after')
  // what has started is brought to its end, whoever follows
  const begun = { ...work, signal: work.firm, run: startedRun(work.run, call, started.version) }
  return (
    (await perform(parts, begun, call, { ...how, asked })) ??
    startEffect(parts, begun, callOf(begun.run, call), { again: true, isOpen: how.isOpen })
  )
}

/** COMMIT S. When its reply is lost, or a repeat of it meets its own work, the row says whether it was committed. */
async function start(parts: ActParts, work: Work, call: Call, again: boolean): Promise<Started> {
  const { run, lease } = work
  try {
    const started = await parts.effects.start(lease, {
      version: run.version,
      step: run.step,
      position: call.position,
      tool: call.tool,
      argumentsHash: call.argumentsHash,
      confirmation: call.confirmation?.id ?? null,
      resourceVersion: call.confirmation?.resourceVersion ?? null,
      compensates: call.compensates?.key ?? null,
      again,
    })
    return started.outcome === 'conflict' && (await isOurs(parts, work, call))
      ? { outcome: 'started', version: run.version + 1 }
      : started
  } catch (error) {
    if (!isUnreachable(error) || !(await isOurs(parts, work, call))) throw error
    return { outcome: 'started', version: run.version + 1 }
  }
}

/** Only this worker commits under this epoch, and the call has not left the house: one commit more is our own start. */
async function isOurs(parts: ActParts, { run, lease }: Work, call: Call): Promise<boolean> {
  const rows = await parts.runs.load(lease)
  const row = rows?.effects.find((e) => e.step === run.step && e.position === call.position)
  const moved =
    rows?.run.epoch === lease.epoch && rows.run.version === run.version + 1 && rows.run.commits === run.commits + 1
  return moved && row?.status === 'started' && row.attempt === call.attempt + 1
}

const callOf = (run: Run, call: Call): Call => run.calls.find((c) => c.position === call.position) ?? call

/** The run as COMMIT S left it. */
function startedRun(run: Run, call: Call, version: number): Run {
  const moved = step(run, { kind: 'effect_started', position: call.position })
  if ('refused' in moved) throw new Fault('refused_transition')
  return { ...moved.run, version, commits: run.commits + 1 }
}

/**
 * The call itself. Without an answer the run is read again, and what was started is recovered at once. Null when too much
 * time has passed since COMMIT S: whoever takes over counts from there how long a request may be on its way.
 */
async function perform(
  parts: ActParts,
  work: Work,
  call: Call,
  { again, contract, services, asked, place }: Starting & { readonly asked: number },
): Promise<Acted | null> {
  await parts.fault('ext.before')
  throwIfHandedBack(work.patient)
  // stopped before it leaves: of a first try that is the outcome, of a repeat it says nothing about the tries before
  if (again && work.patient.aborted) return 'reload'
  // paused between the commit and here: another may own the run, and a provider without a key would act twice
  if (parts.clock.monotonic() >= parts.leaseUntil()) throw new Fault('lease_lost')
  if (parts.clock.monotonic() - asked > START_MS) return null
  const permit = permitFor(work.run, { ...call, status: 'started' })
  const cx = { ...contextOf(work, call), signal: work.patient }
  const outcome = await callCommit(contract, permit, cx, { ...limitsOf(parts, work), services })
  place?.leave(showedByCommit(outcome))
  await parts.fault('ext.replied')
  if (outcome.kind === 'later') return waits(work, call, outcome.later)
  if (outcome.kind === 'unknown') return 'reload'
  return settled(work.run, call, await recorded(parts, placeOf(work, call), services.keeper, outcome.outcome))
}

interface Prepared {
  readonly contract: Contract
  readonly services: CallServices
}

async function isStale(
  parts: ActParts,
  work: Work,
  call: Call,
  { contract, services }: Prepared,
): Promise<boolean | 'failed'> {
  const planned = call.confirmation?.resourceVersion ?? null
  if (planned === null || !contract.implementation.resourceVersion) return false
  const options = { ...limitsOf(parts, work), services }
  const now = await callResourceVersion(contract, inputOf(call), contextOf(work, call), options)
  return now.ok ? now.version !== planned : 'failed'
}

/** A started effect without a result: ask, and only then act again under the same key. */
export async function recoverEffect(parts: ActParts, work: Work, call: Call): Promise<Acted> {
  const contract = parts.agent.tools.named(call.tool)
  if (!contract || contract.version !== call.toolVersion) return unknown(work.run, call)
  const over = work.run.cancel !== null || work.leftMs <= 0
  if (call.again) return over ? unknown(work.run, call) : startEffect(parts, work, call, { again: true })
  if (contract.unknown === 'manual') return unknown(work.run, call)
  const keyed = contract.unknown === 'key'
  if (contract.implementation.probe) {
    // recovery does not stop with the run: what has started is settled even when it is canceled (J7)
    const cx = { ...contextOf(work, call), signal: work.owned }
    const place = { ...placeOf(work, call), signal: work.owned }
    const found = await servicesFor(parts, place, contract)
    const services = typeof found === 'string' ? null : found
    const answer: ProbeResult = services
      ? await callProbe(contract, inputOf(call), cx, { clock: parts.clock, egress: parts.egress, services })
      : { happened: 'unknown' }
    throwIfHandedBack(work.owned)
    if (answer.happened === true)
      return settled(work.run, call, await recorded(parts, place, services?.keeper ?? null, answer.outcome))
    // what may answer later may have been taken, to happen some other time: "not there" is no proof that it will not
    const isClear = answer.happened === false && !contract.implementation.resume
    if (!isClear && (over || !keyed)) return unknown(work.run, call)
    // "not there" means nothing while the request may still be on its way, unless the key makes a second one harmless
    const wait = START_MS + contract.timeoutMs - (call.startedMs ?? 0)
    if ((over || !keyed) && wait > 0) return { run: work.run, report: { kind: 'probe_later', ms: wait } }
    if (over) return settled(work.run, call, refused('not_started'))
  }
  if (over) return unknown(work.run, call)
  return startEffect(parts, work, call, { again: true })
}

/** K1: nobody waits longer than the run. */
export const waits = ({ run, leftMs }: Work, call: Call, later: Omit<Waiting, 'position'>): Acted => {
  const waiting = [{ ...later, position: call.position, ms: withinRun(later.ms, leftMs) }]
  return { run, report: { kind: 'calls_settled', calls: [], waiting } }
}

export const settled = (run: Run, call: Call, outcome: ToolOutcome): Acted => ({
  run,
  report: { kind: 'calls_settled', calls: [{ position: call.position, outcome }] },
})

export const unknown = (run: Run, call: Call): Acted => ({
  run,
  report: { kind: 'effect_unknown', position: call.position },
})
