/**
 * What a call is given from outside: its credentials, the folder of its conversation, a place for what it returns. And
 * the rows of what was kept, which are written before the commit that refers to them.
 */
import type { Clock } from '../kernel/clock.ts'
import { Fault } from '../kernel/fault.ts'
import type { Actor } from '../kernel/scope.ts'
import type { EffectStore } from '../journal/effect.store.ts'
import { scopeOf } from '../request/actor.ts'
import type { ArtifactStore } from '../tool/result/artifact.store.ts'
import type { Contract, ToolOutcome } from '../tool/contract.ts'
import type { Credentials } from '../tool/credential/credentials.ts'
import type { KeepParts } from '../tool/result/keep.shell.ts'
import type { Folders } from '../tool/sandbox/sandbox.shell.ts'
import { scrubOf, SHORTEST_SECRET } from '../tool/result/scrub.ts'
import { type CallServices, NO_SERVICES } from '../tool/services.ts'
import type { OnToolError } from '../tool/thrown.ts'
import { hashBody } from './encode.ts'
import { inTime } from './intime.shell.ts'
import type { Call, Run } from './state.ts'

/** What a program has for its tools. Each part may be missing. */
export interface ToolServices {
  readonly keeping: (KeepParts & { readonly artifacts: ArtifactStore }) | null
  readonly credentials: Credentials | null
  readonly folders: Folders | null
  readonly onToolError: OnToolError | null
}

export interface ServiceParts {
  readonly clock: Clock
  readonly effects: Pick<EffectStore, 'answered'>
  readonly services?: ToolServices
}

export interface CallOf {
  readonly run: Pick<Run, 'key' | 'session' | 'step'>
  readonly call: Pick<Call, 'position' | 'callId' | 'tool' | 'compensates'>
  readonly actor: Actor
  readonly signal: AbortSignal
}

/** What a call needs and is not there: it does not start. */
export type Missing = 'credential_missing' | 'nothing_to_compensate'

/** Or the code of what is missing: a credential that the contract declares, the effect that the call undoes. */
export async function servicesFor(
  { clock, services, effects }: ServiceParts,
  { run, call, actor, signal }: CallOf,
  contract: Contract,
): Promise<CallServices | Missing> {
  // retention may have taken what was sent and what came back
  const answers = call.compensates ? await effects.answered(scopeOf(actor), call.compensates.key) : null
  if (contract.compensates !== null && !answers) return 'nothing_to_compensate'
  if (!services) return contract.credentials.length > 0 ? 'credential_missing' : { ...NO_SERVICES, answers }
  const { keeping, folders } = services
  const report = reporting(services, { run, call }, contract)
  const { tenant, environment } = run.key
  const place = { tenant, environment, run: run.key.run, step: run.step, position: call.position, tool: call.tool }
  const keeper = keeping && { parts: keeping, place, kept: [] }
  const secrets = await secretsOf({ clock, credentials: services.credentials, report }, { actor, signal }, contract)
  if (!secrets) return 'credential_missing'
  const scrub = scrubOf([...secrets.values()])
  const at = { tenant, environment, session: run.session }
  const kept = { keeper, scrub, maxRawBytes: contract.maxRawBytes }
  const folder = contract.folder && folders ? () => folders.open(at, kept) : null
  return { secrets, scrub, keeper, folder, answers, report }
}

/** What the program does with it changes nothing of the run. */
function reporting(
  { onToolError }: ToolServices,
  { run, call }: Pick<CallOf, 'run' | 'call'>,
  { name, version }: Contract,
): CallServices['report'] {
  if (!onToolError) return null
  const { tenant, environment } = run.key
  const at = { tool: name, version, tenant, environment, run: run.key.run, step: run.step, position: call.position }
  return (thrown) => {
    try {
      onToolError(thrown, at)
    } catch {
      // a log that fails is no reason for a tool to
    }
  }
}

interface SecretParts {
  readonly clock: Clock
  readonly credentials: Credentials | null
  readonly report: CallServices['report']
}

/** Null when one of them is not there. */
async function secretsOf(
  { clock, credentials, report }: SecretParts,
  { actor, signal }: Pick<CallOf, 'actor' | 'signal'>,
  contract: Contract,
): Promise<ReadonlyMap<string, string> | null> {
  if (contract.credentials.length === 0) return NO_SERVICES.secrets
  const missing = (capability: string): null => {
    report?.(new Fault('credential_missing', `There is no credential "${capability}" for its user.`))
    return null
  }
  if (!credentials) return missing(contract.credentials.join('", "'))
  const { tenant, environment, user } = actor
  const one = async (capability: string): Promise<readonly [string, string] | null> => {
    const left = new AbortController()
    const cut = (): void => left.abort(signal.reason)
    signal.addEventListener('abort', cut)
    try {
      const answer = credentials.get({ tenant, environment, user }, capability, left.signal)
      const value = await inTime(clock, signal, { answer, ms: contract.timeoutMs })
      return typeof value === 'string' && value.length >= SHORTEST_SECRET ? [capability, value] : missing(capability)
    } catch (error) {
      // a vault that fails has none
      report?.(error)
      return null
    } finally {
      signal.removeEventListener('abort', cut)
      left.abort()
    }
  }
  const found = await Promise.all(contract.credentials.map(one))
  return found.includes(null) ? null : new Map(found as (readonly [string, string])[])
}

/** The outcome, once the rows of what it refers to are written. What refers to nothing is left to the sweep. */
export async function recorded(
  { services }: ServiceParts,
  { run, call, actor }: CallOf,
  keeper: CallServices['keeper'],
  outcome: ToolOutcome,
): Promise<ToolOutcome> {
  if (!outcome.ok || !outcome.artifacts || !keeper || !services?.keeping) return outcome
  const place = { run: run.key.run, step: run.step, position: call.position, callId: call.callId, tool: call.tool }
  await services.keeping.artifacts.record(scopeOf(actor), place, keeper.kept, hashBody(outcome))
  return outcome
}
