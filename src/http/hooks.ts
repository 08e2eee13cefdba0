/** The `webhooks` of `/openapi.json`: what an endpoint is sent, one entry for each type of event that it may hear of. */
import { EVENTS } from '../kernel/events.ts'

const header = (name: string, description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
})

const HEADERS = [
  header('webhook-id', 'Of the event: the same on every repetition and replay'),
  header('webhook-timestamp', 'Of the attempt, in seconds since the epoch'),
  header('webhook-signature', 'One or two of `v1,` and the HMAC-SHA256 of `id.timestamp.body`, in base64'),
]

const EVENT = { $ref: '#/components/schemas/webhook' }
const TEST = {
  type: 'object',
  required: ['type', 'timestamp', 'data'],
  properties: {
    timestamp: { type: 'string', format: 'date-time' },
    data: { type: 'object', required: ['endpoint_id'], properties: { endpoint_id: { type: 'string' } } },
  },
}

const described = (type: string, summary: string, message: object) => ({
  post: {
    operationId: type,
    summary,
    description: 'At least once, in the order of each run. See Standard Webhooks 1.0 for the signature.',
    security: [],
    parameters: HEADERS,
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: {
            allOf: [message, { properties: { type: { const: type } } }],
          },
        },
      },
    },
    responses: {
      '2XX': { description: 'Received; work on it later' },
      410: { description: 'No more: the endpoint is disabled' },
      default: { description: 'Not received: it is sent again' },
    },
  },
})

export function webhooks(): Record<string, object> {
  const all: Record<string, object> = {}
  for (const [type, { visibility, body }] of Object.entries(EVENTS))
    if (visibility === 'user') all[type] = described(type, `Data: ${body}`, EVENT)
  return { ...all, endpoint_tested: described('endpoint_tested', 'An operator tries the endpoint', TEST) }
}
