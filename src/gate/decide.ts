/**
 * The gate: what may happen with a call that the model proposed. Pure; a missing fact decides to refuse.
 *
 * A2  model text decides nothing   I1  confirmation is the default above `read`   I3  unknown, bad and denied are three observations
 * J1  a permit exists only for a started effect, and binds its exact bytes
 */
import type { Contract, ErrorEnvelope } from '../tool/contract.ts'

export type Approval = 'auto' | 'confirm' | 'strong_confirm' | 'refused'

declare const permitBrand: unique symbol

/** The right to run one effect once: what COMMIT S has marked as started. Minted here, demanded by the tool gateway. */
export interface Permit {
  readonly [permitBrand]: true
  readonly runId: string
  readonly step: number
  readonly position: number
  readonly tool: string
  readonly version: number
  readonly argumentsHash: string
  readonly effectKey: string
  /** The stored canonical bytes; execution uses nothing else (J8). */
  readonly canonical: string
}

export interface CallFacts {
  readonly contract: Contract | undefined
  readonly permitted: boolean
  readonly arguments: { readonly ok: true } | { readonly ok: false; readonly error: ErrorEnvelope } | null
}

export type Verdict =
  | { readonly approval: 'auto' | 'confirm' | 'strong_confirm' }
  | { readonly approval: 'refused'; readonly because: 'unknown_tool' | 'permission_denied' | 'invalid_arguments' }

export function decide(facts: CallFacts): Verdict {
  const { contract } = facts
  if (!contract) return { approval: 'refused', because: 'unknown_tool' }
  if (!facts.permitted) return { approval: 'refused', because: 'permission_denied' }
  if (!facts.arguments?.ok) return { approval: 'refused', because: 'invalid_arguments' }
  if (contract.effect === 'read') return { approval: 'auto' }
  if (contract.effect === 'write' && contract.approval === 'auto') return { approval: 'auto' }
  return { approval: 'confirm' }
}

/** Minted for an effect that COMMIT S has marked as started, from the bytes that were confirmed. */
export function permitFor(
  run: { readonly key: { readonly run: string }; readonly step: number },
  call: {
    readonly status: 'started'
    readonly position: number
    readonly tool: string
    readonly toolVersion: number
    readonly argumentsHash: string
    readonly key: string
    readonly canonical: string
  },
): Permit {
  return {
    runId: run.key.run,
    step: run.step,
    position: call.position,
    tool: call.tool,
    version: call.toolVersion,
    argumentsHash: call.argumentsHash,
    effectKey: call.key,
    canonical: call.canonical,
  } as Permit
}
