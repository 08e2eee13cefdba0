import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { Fault } from './fault.ts'
import { systemClock } from './system.shell.ts'
import { bound, timely } from './timely.shell.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const late = () => new Fault('unavailable')
const never = () => new Promise<never>(() => {})

describe('work that is bound to a signal and a time', () => {
  it('P6 work that looks at nothing is left when its signal aborts or its time is over, with the reason', async () => {
    const outer = new AbortController()
    const waits = timely(systemClock, outer.signal, { ms: 60_000, late }, never)
    outer.abort(new Fault('canceled'))
    await expect(waits).rejects.toMatchObject({ code: 'canceled' })
    await expect(timely(systemClock, outer.signal, { ms: 60_000, late }, never)).rejects.toMatchObject({
      code: 'canceled',
    })
    const other = new AbortController()
    await expect(timely(systemClock, other.signal, { ms: 1, late }, never)).rejects.toMatchObject({
      code: 'unavailable',
    })
  })

  it('P6 work that throws at once under a signal that has aborted rejects once, and nobody else hears of it', async () => {
    const thrown = new Error('at once')
    const throws = (): never => {
      throw thrown
    }
    await expect(timely(systemClock, AbortSignal.abort(new Fault('canceled')), { ms: 1, late }, throws)).rejects.toBe(
      thrown,
    )
  })

  it('J9 L9 what listens to the signal of work that is done is forgotten, while the signal of the process lives', async () => {
    const outer = new AbortController()
    const left: WeakRef<object>[] = []
    const work = async (signal: AbortSignal): Promise<void> => {
      const what = { held: new Uint8Array(1_000) }
      left.push(new WeakRef(what))
      signal.addEventListener('abort', () => expect(what).toBeNull())
    }
    for (let i = 0; i < 20; i++) await timely(systemClock, outer.signal, { ms: 60_000, late }, work)
    await new Promise((resolve) => setImmediate(resolve))
    collect()
    expect(left.filter((one) => one.deref() !== undefined)).toEqual([])
    expect(outer.signal.aborted).toBe(false)
  })

  it('P6 what has been let go of is ended by neither', () => {
    const outer = new AbortController()
    const { signal, release } = bound(systemClock, outer.signal, { ms: 60_000, late })
    release()
    outer.abort()
    expect(signal.aborted).toBe(false)
  })
})
