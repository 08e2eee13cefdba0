import { agent, tool, z } from 'plimsoll'
import { scripted } from 'plimsoll/testing'

const paid = new Map<string, number>() // stands for your payment provider

const refund = tool('orders.refund@2', {
  description: 'Refunds an order.',
  input: z.strictObject({ orderId: z.string(), cents: z.int().positive().max(50_000) }),
  effect: 'irreversible', // nothing happens before the user has confirmed exactly these arguments
  params: { orderId: 'identity', cents: 'amount' },
  plan: (p) => ({ summary: `Refund ${p.cents} cents of order ${p.orderId}` }),
  commit: (p, cx) => {
    paid.set(cx.effectKey, p.cents) // the key is ours, never the model's, and the same on every repeat
    return { refunded: p.cents }
  },
  probe: (cx) => ({ happened: paid.has(cx.effectKey), result: { refunded: paid.get(cx.effectKey) } }), // asked after a crash
})

export default agent('support', {
  model: scripted('refund-demo'), // or openAICompatible({ baseUrl, model, apiKey }), or aiSdk(anyModelOfTheAiSdk)
  tools: [refund],
  budget: { steps: 8, toolCalls: 4, tokens: 20_000, costCents: 25, seconds: 600 },
})
