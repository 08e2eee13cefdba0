/** The worker processes of a replay: each that was killed is followed by a new one. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { startChild } from './child.ts'
import type { KillPlan } from './kills.ts'
import type { WorkerMessage, WorkerSettings } from './worker.ts'

export type Kill = KillPlan & {
  /** Runs that the process held when it died, and effects of theirs that were started and had no stored result. */
  readonly runs: number
  readonly openEffects: number
}

export interface Fleet {
  readonly kills: readonly Kill[]
  /** Rejects when a worker ended by itself. */
  readonly failed: Promise<never>
  /** Ends the workers politely; no kill comes after this. */
  stop(): Promise<void>
}

/** What a dead process held, as the database says. */
export type Held = (pid: number) => Promise<{ readonly runs: number; readonly openEffects: number }>

/** After this long a worker that was asked to end is killed. */
const STOP_MS = 15_000
/** A restart of the database takes seconds. */
const MOST_FAILED_STARTS = 60
const START_AGAIN_MS = 500

/** `kills`: in turn, one per process. One whose victim held no run does not count and is tried again. */
export async function startFleet(options: {
  readonly settings: Omit<WorkerSettings, 'kill'>
  readonly workers: number
  readonly kills: readonly KillPlan[]
  readonly held: Held
}): Promise<Fleet> {
  const waiting = [...options.kills]
  const kills: Kill[] = []
  const living = new Set<ChildProcess>()
  let isOver = false
  let failedStarts = 0

  /** One process from its start to its end; `ready` is called when it works. */
  async function live(ready: () => void): Promise<void> {
    const kill = waiting.shift() ?? null
    const settings: WorkerSettings = { ...options.settings, kill }
    const child = startChild('./worker.ts', [JSON.stringify(settings)])
    living.add(child)
    let isStruck = false
    let isReady = false
    child.on('message', (message: WorkerMessage) => {
      if (message.airline === 'ready') {
        isReady = true
        ready()
      }
      if (message.airline !== 'reached' || isOver) return
      isStruck = true
      child.kill('SIGKILL')
    })
    await once(child, 'exit')
    living.delete(child)
    if (!isReady && !isOver && failedStarts < MOST_FAILED_STARTS) {
      // a database that is away lets nobody begin: whoever watches over processes starts them again
      failedStarts += 1
      if (kill) waiting.unshift(kill)
      await sleep(START_AGAIN_MS)
      return
    }
    if (!isStruck || !kill || child.pid === undefined) {
      if (!isOver) throw new Error('a worker of the airline ended by itself')
      return
    }
    const held = await options.held(child.pid)
    if (held.runs > 0) kills.push({ ...kill, ...held })
    else waiting.unshift(kill)
  }

  async function slot(ready: () => void): Promise<void> {
    while (!isOver) await live(ready)
  }

  const slots: Promise<void>[] = []
  const allReady = Array.from({ length: options.workers }, () => new Promise<void>((ready) => slots.push(slot(ready))))
  const failed = Promise.all(slots).then(() => new Promise<never>(() => {}))
  failed.catch(() => {})
  await Promise.race([Promise.all(allReady), failed])
  return {
    kills,
    failed,
    async stop() {
      isOver = true
      for (const child of living) child.kill('SIGTERM')
      const cut = setTimeout(() => {
        for (const child of living) child.kill('SIGKILL')
      }, STOP_MS)
      await Promise.allSettled(slots)
      clearTimeout(cut)
    },
  }
}
