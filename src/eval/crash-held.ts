/** What is done to a run, or to the process that has it, while it is held at a place. */
import { Agent, get } from 'node:http'
import type { Evidence, Witness } from '../db/witness.ts'
import { Fault } from '../kernel/fault.ts'
import type { RunId } from '../kernel/ids.ts'
import type { Actor } from '../kernel/scope.ts'
import type { Runtime } from '../runtime.ts'
import type { CrashWorker } from './crash-process.ts'

export type Held = 'restart' | 'term' | 'cancel' | 'cancel_kill'

/** What a process left behind that was asked to end. */
export interface PoliteEnd {
  readonly code: number | null
  readonly hasLease: boolean
  /** Losses that were counted before it was asked. */
  readonly attemptsBefore: number
  /** What `/readyz` said: before, and afterwards on a connection that was open and on a new one; null without an answer. */
  readonly ready: readonly (number | null)[]
  readonly evidence: Evidence
}

interface HeldRun {
  readonly runtime: Runtime
  readonly actor: Actor
  readonly run: RunId
  readonly victim: CrashWorker
}

export async function whileHeld(
  ground: { readonly witness: Witness; readonly restart?: () => Promise<void> },
  held: Held,
  { runtime, actor, run, victim }: HeldRun,
): Promise<PoliteEnd | null> {
  // a run that has ended cannot be canceled, and one that ends in this moment neither
  if (held.startsWith('cancel'))
    await runtime.cancel(actor, run, 'user', null).catch((error: unknown) => {
      if (!Fault.is(error) || error.code !== 'refused_transition') throw error
    })
  if (held === 'cancel_kill') victim.signal('SIGKILL')
  if (held === 'restart') await ground.restart?.()
  if (held !== 'term') {
    victim.go()
    return null
  }
  const { witness } = ground
  const attemptsBefore = (await witness.evidence(run)).run.attempts
  const url = await victim.ready
  const open = new Agent({ keepAlive: true })
  const before = await readiness(url, open)
  victim.signal('SIGTERM')
  await victim.stopping
  // it is still held at its place: its work is not done
  const ready = [before, await readiness(url, open), await readiness(url, false)]
  victim.go()
  const { code } = await victim.gone
  open.destroy()
  const hasLease = await witness.hasLease(victim.pid)
  return { code, attemptsBefore, ready, hasLease, evidence: await witness.evidence(run) }
}

/** The status of `/readyz`, over a connection of `agent` or a new one; null when nobody answers. */
const readiness = (url: string | null, agent: Agent | false): Promise<number | null> =>
  new Promise((resolve) => {
    get(`${url}/readyz`, { agent }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? null))
    }).once('error', () => resolve(null))
  })

export const SECRET = 'signs the tokens of the crash runs, and nothing else'
