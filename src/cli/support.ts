/** The agent that runs when no other is given: customer service that can refund an order, with a scripted model. */
import { agent, type Agent, type Contract, tool, z } from '../index.ts'
import { scripted } from '../testing/scripted.ts'
import type { Payments } from './payments.ts'

/** A day: the refund that waits after `npm start` is still there in the afternoon. */
const DAY_S = 86_400

export const BUDGET = { steps: 8, toolCalls: 4, tokens: 20_000, costCents: 500, seconds: DAY_S }

export function refundTool(payments: Payments): Contract {
  return tool('orders.refund@2', {
    description: 'Refunds an order, in part or in whole.',
    input: z.strictObject({ orderId: z.string(), cents: z.int().positive().max(50_000) }),
    effect: 'irreversible',
    params: { orderId: 'identity', cents: 'amount' },
    confirmationMs: DAY_S * 1_000,
    resourceVersion: (p) => payments.refunded(p.orderId).version,
    plan: (p) => {
      const before = payments.refunded(p.orderId).cents
      return {
        summary: `Refund ${(p.cents / 100).toFixed(2)} for order ${p.orderId}`,
        before: { refundedCents: before },
        after: { refundedCents: before + p.cents },
        resource: `order/${p.orderId}`,
      }
    },
    commit: (p, cx) => ({ refunded: payments.refund(p, cx.effectKey).cents }),
    probe: (cx) => {
      const found = payments.find(cx.effectKey)
      return found ? { happened: true, result: { refunded: found.cents } } : { happened: false }
    },
  })
}

export const supportAgent = (payments: Payments): Agent =>
  agent('support', {
    model: scripted('refund-demo'),
    instructions: 'You help customers with their orders. Answer in one sentence.',
    tools: [refundTool(payments)],
    budget: BUDGET,
  })
