/** The built-in script of the quick start: a customer asks for a refund, the model proposes it and reports what became of it. */
import type { ModelMessage, ModelRequest } from '../model/port.ts'
import type { Json } from '../kernel/json.ts'
import type { ScriptedAnswer } from './script.ts'

const DEFAULT_CENTS = 1_200

export function refundDemo(request: ModelRequest): ScriptedAnswer {
  const last = request.messages.findLast((message) => message.role !== 'system')
  if (last?.role === 'tool') return { text: report(last.text, proposedIn(request.messages)) }
  const wish = last?.role === 'user' ? last.text : ''
  const order = /\d{3,}/.exec(wish)?.[0]
  if (!/refund|money back|退款/i.test(wish) || order === undefined)
    return { text: 'I can refund an order. Which order is it, for example 1042?' }
  const name = request.tools.find((tool) => /refund/i.test(tool.name))?.name ?? 'orders_refund'
  return {
    text: `I will prepare the refund of order ${order}.`,
    calls: [{ name, arguments: { orderId: order, cents: centsIn(wish) } }],
  }
}

/** An amount such as $12 or 12.50 € in the wish; the price of the demo's order otherwise. */
function centsIn(wish: string): number {
  const amount = /[$€£¥]\s?(\d{1,3}(?:\.\d{2})?)\b|\b(\d{1,3}(?:\.\d{2})?)\s?[$€£¥]/.exec(wish)
  return amount === null ? DEFAULT_CENTS : Math.round(Number(amount[1] ?? amount[2]) * 100)
}

interface Proposed {
  readonly order: string
  readonly amount: string
}

function proposedIn(messages: readonly ModelMessage[]): Proposed {
  const asked = messages.findLast((message) => message.role === 'assistant' && message.calls.length > 0)
  const args = parse(asked?.role === 'assistant' ? (asked.calls[0]?.arguments ?? '') : '')
  const cents = typeof args['cents'] === 'number' ? args['cents'] : DEFAULT_CENTS
  return {
    order: typeof args['orderId'] === 'string' ? args['orderId'] : 'this order',
    amount: (cents / 100).toFixed(2),
  }
}

function report(result: string, { order, amount }: Proposed): string {
  const envelope = parse(result)
  const error = typeof envelope['error'] === 'object' ? parse(JSON.stringify(envelope['error'])) : envelope
  switch (error['code']) {
    case undefined:
      return `Done: ${amount} for order ${order} is on its way back to you.`
    case 'confirmation_rejected':
      return `You rejected the refund of order ${order}, so nothing was paid. What would you like instead?`
    case 'confirmation_expired':
      return `The refund of order ${order} was not approved in time, so nothing was paid. Shall I ask again?`
    default:
      return `I could not refund order ${order}: ${typeof error['code'] === 'string' ? error['code'] : 'the tool failed'}. Nothing else was done.`
  }
}

function parse(text: string): { readonly [name: string]: Json } {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as { [name: string]: Json })
      : {}
  } catch {
    return {}
  }
}
