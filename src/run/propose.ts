/**
 * What the model proposed, judged: each call gets its identity, its key and the verdict of the gate. Pure.
 *
 * A2  nothing in the text decides   I3  unknown tool, bad arguments and denial are three observations
 * J3  the key comes from run, step, position and tool version, never from the model
 */
import { hashBytes, hashJson } from '../kernel/canonical.ts'
import { decide } from '../gate/decide.ts'
import type { ModelCall } from '../model/port.ts'
import { type ArgumentsRead, readArguments } from '../tool/arguments.ts'
import type { Contract } from '../tool/contract.ts'
import { envelope } from '../tool/outcome.ts'
import { holds } from '../kernel/permission.ts'
import type { Agent } from './agent.ts'
import { DEFAULT_BREAKER } from './breaker.ts'
import { stopsOf } from './snapshot.ts'
import type { Call, Run } from './state.ts'

export function propose(run: Run, agent: Agent, asked: readonly ModelCall[]): readonly Call[] {
  return asked.map((call, position) => proposeOne(run, agent, call, position))
}

function proposeOne(run: Run, agent: Agent, asked: ModelCall, position: number): Call {
  const contract = agent.tools.find(asked.name)
  const read = contract ? readArguments(contract, asked.arguments, { tenant: run.key.tenant }) : null
  const permitted = contract !== undefined && holds(run.permissions, contract.permission)
  const verdict = decide({ contract, permitted, arguments: read })
  const step = run.step + 1
  const base = {
    position,
    callId: asked.id,
    exposedName: asked.name,
    raw: asked.arguments,
    attempt: 0,
    again: false,
    startedMs: null,
    compensates: null,
    confirmation: null,
    wait: null,
  }
  if (verdict.approval === 'refused' || !contract || !read?.ok) {
    const because = verdict.approval === 'refused' ? verdict.because : 'invalid_arguments'
    const error = because === 'invalid_arguments' && read && !read.ok ? read.error : envelope(because)
    const hash = contract && read?.ok ? fingerprintOf(contract, read) : hashBytes(`${asked.name}\n${asked.arguments}`)
    return {
      ...base,
      tool: contract?.name ?? 'unknown',
      toolVersion: contract?.version ?? 0,
      level: 'read',
      approval: 'refused',
      canonical: asked.arguments,
      argumentsHash: hash,
      fingerprint: hash,
      key: `${run.key.run}/${step}/${position}/refused`,
      ends: null,
      stops: stopsOf(contract),
      breaker: contract?.breaker ?? DEFAULT_BREAKER,
      retryByKey: false,
      status: 'settled',
      outcome: { ok: false, error },
    }
  }
  return {
    ...base,
    tool: contract.name,
    toolVersion: contract.version,
    level: contract.effect,
    approval: verdict.approval,
    canonical: read.canonical,
    argumentsHash: read.hash,
    fingerprint: fingerprintOf(contract, read),
    key: `${run.key.run}/${step}/${position}/${contract.name}@${contract.version}`,
    ends: contract.ends,
    stops: stopsOf(contract),
    breaker: contract.breaker,
    retryByKey: contract.unknown === 'key',
    status: 'intended',
    outcome: null,
  }
}

/** What the breaker compares: the arguments without the fields that the contract calls volatile. */
function fingerprintOf(contract: Contract, read: Extract<ArgumentsRead, { ok: true }>): string {
  const kept = Object.fromEntries(
    Object.entries(read.input).filter(([field]) => !contract.breaker.ignore.includes(field)),
  )
  return hashJson({ tool: contract.name, input: kept })
}
