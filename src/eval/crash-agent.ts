/**
 * The agent of the crash runs: three steps, a read, a confirmed write and an answer, against a provider that is its own
 * process. The message names the resource; nothing else is remembered, so any worker can go on at any place.
 */
import { z } from 'zod'
import { type FaultHook, noFaults } from '../kernel/faultpoint.ts'
import { systemClock } from '../kernel/system.shell.ts'
import type { ModelRequest } from '../model/port.ts'
import { type Agent, agent } from '../run/agent.ts'
import type { ProviderMode } from '../testing/effect-provider.ts'
import type { ScriptedAnswer } from '../testing/script.ts'
import { scripted } from '../testing/scripted.ts'
import type { ProbeOutcome, ToolContext } from '../tool/contract.ts'
import { tool } from '../tool/define.ts'

export interface CrashAgentSpec {
  readonly name: string
  readonly mode: ProviderMode
  readonly provider: string
  /** Of the write; a provider without a key is asked only after this time. */
  readonly timeoutMs: number
  /** This tool kills its own process, as native code may. */
  readonly deadly?: 'read' | 'write'
  /** Of the write; default 1. */
  readonly version?: number
  /** Rules for the model; another text is another release. */
  readonly instructions?: string
  /** How long the question to a person stays open. */
  readonly confirmationMs?: number
  /** A newer message takes the place of the run. */
  readonly replaces?: boolean
  /** The answer is so many pieces long, and takes its time. */
  readonly pieces?: number
  /** The write is planned on the state of its resource. */
  readonly isPlanned?: boolean
  /** How often the run may lose its worker without progress; default 5. */
  readonly attempts?: number
}

const input = z.strictObject({ resource: z.string(), units: z.int() })

/** `fault` is told when the provider has done what was asked and its reply has not been read. */
export function crashAgent(spec: CrashAgentSpec, fault: FaultHook = noFaults): Agent {
  const { name, mode, provider, timeoutMs } = spec
  const look = tool('stock.look@1', {
    input,
    effect: 'read',
    async run({ resource }) {
      if (spec.deadly === 'read') process.kill(process.pid, 'SIGKILL')
      return (await fetch(`${provider}/state/resources/${encodeURIComponent(resource)}`)).json()
    },
  })
  const change = tool(`stock.change@${spec.version ?? 1}`, {
    input,
    effect: 'write',
    timeoutMs,
    unknown: UNKNOWN[mode],
    ...(mode === 'keyed'
      ? { probe: (cx: ToolContext) => ask(`${provider}/keyed/effects/${encodeURIComponent(cx.effectKey)}`, cx.signal) }
      : {}),
    ...(mode === 'state'
      ? {
          probe: (cx: ToolContext, { resource }: z.infer<typeof input>) =>
            ask(`${provider}/state/resources/${encodeURIComponent(resource)}`, cx.signal),
        }
      : {}),
    ...(spec.confirmationMs === undefined ? {} : { confirmationMs: spec.confirmationMs }),
    ...(spec.isPlanned
      ? {
          resourceVersion: async ({ resource }: z.infer<typeof input>, cx: ToolContext) =>
            JSON.stringify(await ask(`${provider}/state/resources/${encodeURIComponent(resource)}`, cx.signal)),
        }
      : {}),
    async commit({ resource, units }, cx) {
      if (spec.deadly === 'write') process.kill(process.pid, 'SIGKILL')
      const reply = await fetch(`${provider}/${mode}/effects`, {
        method: 'POST',
        headers: { 'idempotency-key': cx.effectKey },
        body: JSON.stringify({ resource, args: { units } }),
        signal: cx.signal,
      })
      await fault('ext.committedNoReply')
      // a careless message: what it quotes must not come out anywhere
      if (!reply.ok) throw new Error(`the provider did not say what happened: ${await reply.text()}`)
      return reply.json()
    },
  })
  return agent(name, {
    model: scripted((request, turn) => threeSteps(request, turn, spec.pieces), {
      id: 'crash',
      maxOutputTokens: 200 + (spec.pieces ?? 0) * 10,
      ...(spec.pieces === undefined ? {} : { pause: (signal) => systemClock.sleep(PIECE_MS, signal) }),
    }),
    tools: [look, change],
    budget: { steps: 6, toolCalls: 4, tokens: 50_000, costCents: 1000, seconds: 60 },
    attempts: spec.attempts ?? 5,
    ...(spec.instructions === undefined ? {} : { instructions: spec.instructions }),
    ...(spec.replaces ? { onMessage: 'replace' } : {}),
  })
}

const UNKNOWN = { keyed: 'key', keyed_blind: 'key', state: 'probe', manual: 'manual' } as const satisfies Record<
  ProviderMode,
  string
>

async function ask(url: string, signal: AbortSignal): Promise<ProbeOutcome> {
  const reply = await fetch(url, { signal })
  const body = (await reply.json()) as { readonly found: boolean; readonly result?: unknown }
  return body.found ? { happened: true, result: { result: body.result } } : { happened: false }
}

/** Long enough that readers elsewhere see what was said so far. */
const PIECE_MS = 30

function threeSteps(request: ModelRequest, turn: number, pieces = 0): ScriptedAnswer {
  const asked = request.messages.find((m) => m.role === 'user')
  const resource = asked?.role === 'user' ? asked.text : ''
  if (turn === 0) return { calls: [{ name: 'stock__look', arguments: { resource, units: 0 } }] }
  if (turn === 1) return { calls: [{ name: 'stock__change', arguments: { resource, units: 1 } }] }
  return { text: `The stock is changed. ${'and so on to '.repeat(pieces)}` }
}
