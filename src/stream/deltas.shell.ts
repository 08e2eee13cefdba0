/**
 * Live text of the runs that this process drives. Listeners of the process hear every piece at once; other processes read
 * what is flushed to the store, at most every 50 ms and only for an attempt that lasted that long.
 *
 * A4, BR-048  late pieces are dropped and counted, here when they arrive and in the store when they are written
 */
import type { Clock } from '../kernel/clock.ts'
import type { Run } from '../run/state.ts'
import type { EventStore } from './event.store.ts'
import type { Hub } from './hub.ts'
import { attemptNumber, firstPiece, NOTHING_SAID, type Partial, said, settled } from './partial.ts'

export interface Deltas {
  /** A piece of text of the step that the run is about to take. */
  said(run: Run, attempt: number, delta: string): void
  /** The run was committed: what was said up to its step is in its messages now. */
  committed(run: Run): void
  /** What this process knows of the answer in progress; null when it knows nothing. */
  partial(run: string): Partial | null
  /** Late pieces that were let out nowhere. */
  dropped(): number
  /** Resolves when nothing is being written any more. */
  rest(): Promise<void>
}

/** The shortest time between two writes of one run, and the least that an attempt must have lasted. */
const FLUSH_MS = 50
/** Texts of runs that were lost to another worker stay behind; the oldest make room. */
const MOST_RUNS = 4_096

interface Speaking {
  partial: Partial
  run: Run
  /** UTF-16 units of the text that are in the store. */
  written: number
  pieces: number
  /** Set while a write is waiting or on its way. */
  flushing: Promise<void> | null
  /** The store said that this attempt may not speak. */
  fenced: number | null
}

export function deltas(parts: { readonly events: EventStore; readonly hub: Hub; readonly clock: Clock }): Deltas {
  const { events, hub, clock } = parts
  const speaking = new Map<string, Speaking>()
  let late = 0

  function of(run: Run): Speaking {
    const known = speaking.get(run.key.run)
    if (known) return known
    const made: Speaking = { partial: NOTHING_SAID, run, written: 0, pieces: 0, flushing: null, fenced: null }
    speaking.set(run.key.run, made)
    const [oldest] = speaking.keys()
    if (speaking.size > MOST_RUNS && oldest !== undefined) speaking.delete(oldest)
    return made
  }

  async function flush(one: Speaking): Promise<void> {
    for (;;) {
      const before = one.partial.attempt
      await clock.sleep(FLUSH_MS)
      const { partial, run } = one
      const { attempt } = partial
      if (attempt !== before && partial.text !== '') continue
      const text = partial.text.slice(one.written)
      if (text === '' || attempt.number === one.fenced) return
      const piece = {
        run: run.key.run,
        generation: attempt.generation,
        epoch: run.epoch,
        step: attempt.step,
        attempt: attempt.number,
      }
      const from = firstPiece(attempt.number)
      if (one.pieces === 0) await events.drop(run.key, run.key.run, from)
      const stored = await events.put(run.key, { ...piece, seq: from + one.pieces, offset: one.written, text })
      if (one.partial.attempt !== attempt) {
        // the step was committed, or another attempt opened, while we wrote
        if (stored) await events.drop(run.key, run.key.run, from + 1 + one.pieces)
        continue
      }
      if (!stored) {
        one.fenced = attempt.number
        one.partial = { attempt, text: '' }
        return
      }
      one.written += text.length
      one.pieces += 1
    }
  }

  return {
    said(run, attempt, delta) {
      const one = of(run)
      const number = attemptNumber(run.epoch, attempt)
      const next =
        number === one.fenced
          ? null
          : said(one.partial, { generation: run.generation, step: run.step + 1, number }, delta)
      if (!next) {
        late += 1
        return
      }
      if (next.attempt !== one.partial.attempt) Object.assign(one, { run, written: 0, pieces: 0 })
      one.partial = next
      // what was not written is lost for readers of other processes, and the message will replace it
      one.flushing ??= flush(one)
        .catch(() => {})
        .finally(() => (one.flushing = null))
      hub.notify(run.key.run, 'said')
    },
    committed(run) {
      // whoever had the run before may have died while it spoke, and nobody else knows of its pieces
      if (run.end !== null && run.epoch > 1)
        void events.drop(run.key, run.key.run, Number.MAX_SAFE_INTEGER).catch(() => {})
      const one = speaking.get(run.key.run)
      if (!one) return
      const { pieces, partial } = one
      one.partial = settled(partial, run.generation, run.step)
      if (one.partial !== partial && pieces > 0) {
        one.pieces = 0
        void events.drop(run.key, run.key.run, firstPiece(partial.attempt.number + 1)).catch(() => {})
      }
      if (run.end !== null) speaking.delete(run.key.run)
    },
    partial(run) {
      const one = speaking.get(run)
      return one && one.partial.text !== '' ? one.partial : null
    },
    dropped: () => late,
    async rest() {
      await Promise.all([...speaking.values()].flatMap((one) => one.flushing ?? []))
    },
  }
}
