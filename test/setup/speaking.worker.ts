/** A worker process whose model says one piece for each message it gets from its parent. */
import { openPostgres } from '../../src/db/postgres.ts'
import { Fault } from '../../src/kernel/fault.ts'
import { agent } from '../../src/run/agent.ts'
import { createRuntime } from '../../src/runtime.ts'
import type { Model } from '../../src/model/port.ts'

/** `turn`: the answer it is for, counted from the start of the process; an answer that was broken off leaves its orders. */
type Order = { readonly turn: number } & ({ readonly say: string } | { readonly fail: true } | { readonly end: true })

let turn = 0
const orders: Order[] = []
let arrived: () => void = () => {}
process.on('message', (order: Order) => {
  orders.push(order)
  arrived()
})

async function next(mine: number, signal: AbortSignal): Promise<Order> {
  for (;;) {
    const at = orders.findIndex((order) => order.turn === mine)
    if (at >= 0) return orders.splice(at, 1)[0] as Order
    await new Promise<void>((resolve, reject) => {
      arrived = resolve
      const leave = (): void => {
        if (Fault.is(signal.reason)) process.send?.(`left: ${signal.reason.code}`)
        reject(signal.reason as Error)
      }
      signal.addEventListener('abort', leave, { once: true })
    })
  }
}

const model: Model = {
  id: 'told',
  contextTokens: 32_000,
  maxOutputTokens: 4_096,
  price: null,
  async *stream(_request, signal) {
    const mine = ++turn
    process.send?.('asked')
    for (;;) {
      const order = await next(mine, signal)
      if ('fail' in order) throw new Error('the connection broke')
      if ('end' in order) break
      yield { kind: 'text', delta: order.say }
    }
    yield { kind: 'finish', reason: 'stop' }
    yield { kind: 'usage', usage: { input: 10, output: 10 } }
  },
}

const db = await openPostgres({ url: process.env['WORKER_DB'] ?? '', connections: 4 })
const budget = { steps: 8, toolCalls: 8, tokens: 50_000, costCents: 500, seconds: 120 }
const onDisconnect = process.env['WORKER_ON_DISCONNECT'] === 'cancel_tools' ? 'cancel_tools' : null
const runtime = createRuntime({ db, agents: [agent('told', { model, budget, ...(onDisconnect && { onDisconnect }) })] })
const worker = await runtime.work({ pollMs: 50 })
process.send?.('ready')
process.on('disconnect', () => {
  void worker.stop().then(() => db.close())
})
