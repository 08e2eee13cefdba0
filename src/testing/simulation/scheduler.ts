/**
 * One thread that is many processes. Whatever waits is parked here; chance says who goes on, and everything that follows
 * without waiting is done before the next is chosen. Time is a number: it moves a little with every step, and to the next
 * timer when nobody can go on.
 *
 * It is deterministic because nothing real is waited for: no timer, no socket, no thread.
 */
import type { Chance } from './random.ts'
import type { Trace } from './trace.ts'

/** A program that can die, or stand still like one that got SIGSTOP. */
export interface Process {
  readonly name: string
  isAlive: boolean
  /** Nothing of it runs before this time. */
  frozenUntil: number
}

interface Item {
  readonly process: Process
  readonly label: string
  readonly go: () => void
  isCanceled: boolean
}
interface Timer {
  readonly at: number
  readonly order: number
  readonly item: Item
}

export interface Scheduler {
  /** True time in milliseconds: the clock of the store and of the judges. */
  readonly now: () => number
  /** Whose code is running. Each step runs code of one process only. */
  current(): Process
  process(name: string): Process
  /** Runs `body` as code of `process`, at a moment of chance. */
  spawn(process: Process, label: string, body: () => void): void
  /** The current process waits until it is chosen. */
  park(label: string): Promise<void>
  /** Calls `then` as code of `process`, not before `ms` have passed. What it returns forgets it. */
  after(process: Process, ms: number, then: () => void, label?: string): () => void
  /** The current process goes on as soon as nothing of it can go on without waiting. */
  turn(): Promise<void>
  kill(process: Process): void
  freeze(process: Process, ms: number): void
  /** Goes on until `isDone`, or nothing is left to do, or a step threw. `judge` is called after each step. */
  run(isDone: () => boolean, judge: () => void): Promise<'done' | 'idle'>
  readonly steps: () => number
}

export function scheduler(chance: Chance, trace: Trace): Scheduler {
  const outside: Process = { name: 'world', isAlive: true, frozenUntil: 0 }
  let now = 0
  let order = 0
  let steps = 0
  let current = outside
  const runnable: Item[] = []
  const turns: Item[] = []
  const timers = heap()

  const item = (process: Process, label: string, go: () => void): Item => ({ process, label, go, isCanceled: false })

  function wakeSleepers(): void {
    for (let first = timers.first(); first && first.at <= now; first = timers.first()) {
      timers.pop()
      if (!first.item.isCanceled && first.item.process.isAlive) runnable.push(first.item)
    }
  }

  /** Null when nothing is left to do. */
  function choose(): Item | null {
    const due = turns.shift()
    if (due) return due
    now += chance.below(3)
    wakeSleepers()
    while (runnable.length === 0) {
      const next = timers.first()
      if (!next) return null
      now = Math.max(now, next.at)
      wakeSleepers()
    }
    const at = chance.below(runnable.length)
    const chosen = runnable[at] as Item
    const last = runnable.pop() as Item
    if (last !== chosen) runnable[at] = last
    return chosen
  }

  /** False when nothing is left to do. */
  function step(): boolean {
    for (;;) {
      const chosen = choose()
      if (!chosen) return false
      const { process } = chosen
      if (chosen.isCanceled || !process.isAlive) continue
      if (process.frozenUntil > now) {
        timers.push({ at: process.frozenUntil, order: order++, item: chosen })
        continue
      }
      current = process
      steps += 1
      trace.add(now, process.name, chosen.label)
      chosen.go()
      return true
    }
  }

  return {
    now: () => now,
    current: () => current,
    steps: () => steps,
    process: (name) => ({ name, isAlive: true, frozenUntil: 0 }),
    spawn: (process, label, body) => void runnable.push(item(process, label, body)),
    park: (label) =>
      new Promise((resolve) => {
        runnable.push(item(current, label, resolve))
      }),
    after(process, ms, then, label = 'timer') {
      const sleeper = item(process, label, then)
      timers.push({ at: now + Math.max(0, Math.ceil(ms)), order: order++, item: sleeper })
      return () => {
        sleeper.isCanceled = true
      }
    },
    turn: () =>
      new Promise((resolve) => {
        turns.push(item(current, 'turn', resolve))
      }),
    kill(process) {
      process.isAlive = false
    },
    freeze(process, ms) {
      process.frozenUntil = now + ms
    },
    run: (isDone, judge) =>
      new Promise((resolve, reject) => {
        const go = (): void => {
          try {
            if (steps > 0) judge()
            if (isDone()) resolve('done')
            else if (step()) rested(go)
            else resolve('idle')
          } catch (error) {
            reject(error instanceof Error ? error : new Error('a step threw no error'))
          }
        }
        go()
      }),
  }
}

/**
 * Calls `then` when everything that waits for no more than a promise has been done. Node empties the queue of promises
 * before it looks at what was deferred from within it; a turn of the event loop would cost ten times as much.
 */
function rested(then: () => void): void {
  void Promise.resolve().then(() => process.nextTick(then))
}

interface Heap {
  first(): Timer | undefined
  push(timer: Timer): void
  pop(): void
}

/** The earliest first; of equal times the one that was set first. */
function heap(): Heap {
  const all: Timer[] = []
  const isBefore = (a: Timer, b: Timer): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)
  const swap = (i: number, j: number): void => {
    const kept = all[i] as Timer
    all[i] = all[j] as Timer
    all[j] = kept
  }
  return {
    first: () => all[0],
    push(timer) {
      let at = all.push(timer) - 1
      while (at > 0) {
        const parent = (at - 1) >> 1
        if (!isBefore(timer, all[parent] as Timer)) break
        swap(at, parent)
        at = parent
      }
    },
    pop() {
      const last = all.pop()
      if (!last || all.length === 0) return
      all[0] = last
      for (let at = 0; ; ) {
        let least = at
        for (const child of [2 * at + 1, 2 * at + 2])
          if (child < all.length && isBefore(all[child] as Timer, all[least] as Timer)) least = child
        if (least === at) return
        swap(at, least)
        at = least
      }
    },
  }
}
