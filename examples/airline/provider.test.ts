import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Served, serveChild } from './child.ts'
import { AIRLINE_DATA, hasAirlineData } from './data.ts'
import { effectsOf, linesOf, totalsOf } from './ledger.ts'

const present = hasAirlineData()
if (!present) console.log(`skipped: no recorded airline in ${AIRLINE_DATA}`)

const BAGS = { reservation_id: '4WQ150', total_baggages: 6, nonfree_baggages: 1, payment_id: 'gift_card_3576581' }

describe.skipIf(!present)('the airline as a process', () => {
  const folder = mkdtempSync(join(tmpdir(), 'airline-'))
  const running: Served[] = []

  async function open(name: string, ...args: string[]) {
    const log = join(folder, `${name}.log`)
    const served = await serveChild('./provider.ts', ['--log', log, ...args])
    running.push(served)
    const call = (path: string, body?: unknown, key?: string, signal?: AbortSignal) =>
      fetch(`${served.url}/worlds/${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        ...(body !== undefined && { body: JSON.stringify(body) }),
        headers: key === undefined ? {} : { 'Idempotency-Key': key },
        ...(signal && { signal }),
      })
    const lines = (conversation?: string) =>
      linesOf(readFileSync(log, 'utf8')).filter((line) => !conversation || line.conversation === conversation)
    return { ...served, call, lines }
  }
  const json = async (response: Response | Promise<Response>) =>
    (await (await response).json()) as Record<string, unknown>

  // each test has conversations of its own, so they can share one process
  let airline: Awaited<ReturnType<typeof open>>
  beforeAll(async () => {
    airline = await open('shared')
  })
  afterAll(async () => {
    await Promise.all(running.map((served) => served.stop()))
    rmSync(folder, { recursive: true })
  })

  it('J3 a repeat with the same key gets the stored answer, other arguments or another tool get 409', async () => {
    const first = await json(airline.call('repeat/tools/update_reservation_baggages', BAGS, 'k1'))
    const again = await json(airline.call('repeat/tools/update_reservation_baggages', BAGS, 'k1'))
    expect(again).toEqual({ ...first, replayed: true })
    const other = { ...BAGS, nonfree_baggages: 2 }
    expect((await airline.call('repeat/tools/update_reservation_baggages', other, 'k1')).status).toBe(409)
    const certificate = { user_id: 'mia_li_3668', amount: 50 }
    expect((await airline.call('repeat/tools/send_certificate', certificate, 'k1')).status).toBe(409)
    expect((await airline.call('repeat/tools/send_certificate', certificate)).status).toBe(400)
    expect(totalsOf(airline.lines('repeat'))).toMatchObject({ requests: 5, replayed: 1, conflicts: 2, effects: 1 })
  })

  it('J4 an effect is found by its key, a refusal too, and a key that never came is not', async () => {
    const { result } = await json(airline.call('found/tools/update_reservation_baggages', BAGS, 'k1'))
    expect(await json(airline.call('found/effects?key=k1'))).toMatchObject({ found: true, effect: true, result })
    expect(await json(airline.call('found/effects?key=k2'))).toEqual({ found: false })
    expect(await json(airline.call('b/effects?key=k1'))).toEqual({ found: false })
    await airline.call('found/tools/update_reservation_baggages', { ...BAGS, payment_id: 'none' }, 'k3')
    expect(await json(airline.call('found/effects?key=k3'))).toMatchObject({
      effect: false,
      result: 'Error: payment method not found',
    })
    expect(effectsOf(airline.lines('found'))).toHaveLength(1)
  })

  it('J5 a cancellation that is done twice doubles the refunds, so that a double effect shows', async () => {
    const cancel = () => json(airline.call('cancel/tools/cancel_reservation', { reservation_id: '4WQ150' }, 'same'))
    const { payment_history: once } = (await cancel()).result as { payment_history: unknown[] }
    await cancel()
    const now = await json(airline.call('cancel/reservations/4WQ150'))
    expect([once.length, (now.payment_history as unknown[]).length, now.status]).toEqual([2, 4, 'cancelled'])
    expect(effectsOf(airline.lines('cancel')).map((line) => line.changed)).toEqual([true, true])
  })

  it('H1 what one conversation changes no other conversation sees', async () => {
    await airline.call('wall/tools/cancel_reservation', { reservation_id: '4WQ150' })
    expect(Object.keys(await json(airline.call('wall/state')))).toEqual(['reservations'])
    expect(await json(airline.call('next/state'))).toEqual({})
    expect(await json(airline.call('next/reservations/4WQ150'))).not.toHaveProperty('status')
    expect((await airline.call('next/users/nobody')).status).toBe(404)
    expect((await airline.call('next/users/constructor')).status).toBe(404)
  })

  it('J5 a killed provider leaves a readable log that holds every effect a caller heard of', async () => {
    const airline = await open('killed')
    const heard: string[] = []
    const names = Array.from({ length: 60 }, (_, n) => `c${n}`)
    const calls = names.map(async (name) => {
      const reply = await airline.call(`${name}/tools/update_reservation_baggages`, BAGS, name)
      await reply.json()
      heard.push(name)
    })
    await Promise.race(calls)
    await airline.stop('SIGKILL')
    await Promise.allSettled(calls)
    const logged = effectsOf(airline.lines()).map((line) => line.key)
    expect(heard.length).toBeGreaterThan(0)
    expect(heard.filter((name) => !logged.includes(name))).toEqual([])
    expect(new Set(logged).size).toBe(logged.length)
  })

  it('J4 P6 a swallowed answer was carried out, its repeat is answered, and SIGTERM ends the process while a caller waits', async () => {
    const airline = await open('silent', '--timeouts', '1')
    const path = 'a/tools/update_reservation_baggages'
    const impatient = new AbortController()
    const lost = airline.call(path, BAGS, 'k1', impatient.signal).catch(() => 'lost')
    await expect.poll(() => airline.lines().length, { timeout: 10_000 }).toBe(2)
    impatient.abort()
    expect(await lost).toBe('lost')
    expect(await json(airline.call(path, BAGS, 'k1'))).toMatchObject({ replayed: true })
    expect(totalsOf(airline.lines())).toMatchObject({ effects: 1, unanswered: 1, replayed: 1 })

    const waiting = airline.call('b/tools/cancel_reservation', { reservation_id: '4WQ150' }).catch(() => 'cut')
    await expect.poll(() => airline.lines('b').length, { timeout: 10_000 }).toBe(2)
    await airline.stop('SIGTERM')
    expect(await waiting).toBe('cut')
  })

  it('B6 what is not a call of the airline is refused without a trace in any world', async () => {
    expect((await airline.call('refused/tools/drop_tables', {})).status).toBe(404)
    expect((await airline.call('refused/tools/constructor', {})).status).toBe(404)
    expect((await airline.call('refused/tools/get_user_details', { user_id: 7 })).status).toBe(400)
    expect((await airline.call('refused/tools/get_user_details', ['x'])).status).toBe(400)
    expect(await json(airline.call('refused/state'))).toEqual({})
  })
})

describe('the log of the airline', () => {
  it('J5 a line that was torn by a kill is dropped, whole lines are kept', () => {
    const line = '{"kind":"effect","at":"","conversation":"a","tool":"t","key":null,"argsHash":"h","changed":true}'
    expect(linesOf(`${line}\n${line.slice(0, 30)}`)).toHaveLength(1)
    expect(linesOf('')).toEqual([])
  })
})
