/** `/openapi.json`, made from the schemas that requests are checked with and that tests hold answers against. */
import { z } from 'zod'
import { answers } from './answers.ts'
import { webhooks } from './hooks.ts'
import { MEMORY_OPERATIONS } from './memory-operations.ts'
import { get, type Operation, post } from './operation.ts'
import { bodies, queries } from './schemas.ts'

/** Every operation of the plane; a test compares it with the routes. */
export const OPERATIONS: readonly Operation[] = [
  post('/v1/tokens', 'token', 'Make a token for an end user, with a service key', { body: bodies.token, status: 201 }),
  post('/v1/credentials', 'credential', 'Make an API key, as an operator', { body: bodies.credential, status: 201 }),
  {
    method: 'delete',
    path: '/v1/credentials/{id}',
    summary: 'Revoke an API key and every token made with it',
    status: 204,
  },
  post('/v1/conversations', 'conversation', 'Open a conversation', { body: bodies.conversation, status: 201 }),
  get('/v1/conversations', 'conversations', 'Conversations, newest first', queries.conversations),
  get('/v1/conversations/{id}', 'conversation', 'One conversation and its state'),
  get('/v1/conversations/{id}/messages', 'messages', 'What was said, oldest first', queries.page),
  post(
    '/v1/conversations/{id}/messages',
    'submitted',
    'Say something: `If-Match` or `parent_message_id` says what was seen',
    { body: bodies.message, status: 201, ifMatch: 'optional', once: true },
  ),
  post('/v1/conversations/{id}/close', 'conversation', 'Close a conversation; its runs go on', {
    body: bodies.nothing,
    ifMatch: 'optional',
  }),
  post('/v1/runs', 'submitted', 'Say something, in a new conversation unless one is named', {
    body: bodies.run,
    status: 201,
    ifMatch: 'optional',
    once: true,
  }),
  get('/v1/runs', 'runs', 'Runs, newest first', queries.runs),
  get('/v1/runs/{id}', 'run', 'One run: status, budget, actions already done'),
  get(
    '/v1/runs/{id}/events',
    'events',
    'What happened: a stream with `Accept: text/event-stream`, else JSON',
    queries.events,
  ),
  get('/v1/runs/{id}/ledger', 'ledger', 'What was reserved, spent and released'),
  get(
    '/v1/runs/{id}/context',
    'context',
    'What a step sent to its model and what it left out, without values',
    queries.step,
  ),
  get('/v1/runs/{id}/effects', 'effects', 'What touched the world, without values'),
  get(
    '/v1/runs/{id}/artifacts',
    'artifacts',
    'What its calls returned and nobody reads whole, in the order of the calls',
  ),
  get('/v1/artifacts/{id}', 'artifact', 'One artifact: type, size, hash, and a summary of its rows'),
  {
    method: 'get',
    path: '/v1/artifacts/{id}/content',
    summary: 'The bytes of an artifact, for download; each request is audited',
    bytes: true,
  },
  post('/v1/runs/{id}/cancel', 'canceled', 'Cancel: stops what has not started; what was done stays done', {
    body: bodies.nothing,
    ifMatch: 'optional',
    once: true,
  }),
  get('/v1/confirmations', 'confirmations', 'Open confirmations, oldest first', queries.confirmations),
  get('/v1/confirmations/{id}', 'confirmation', 'Exactly what will be sent'),
  post('/v1/confirmations/{id}/approve', 'decided', 'Approve, as a user who is named, what `params_hash` covers', {
    body: bodies.decision,
    ifMatch: 'required',
    once: true,
  }),
  post('/v1/confirmations/{id}/reject', 'decided', 'Reject, as a user who is named', {
    body: bodies.decision,
    ifMatch: 'required',
    once: true,
  }),
  post(
    '/v1/signals/{signal}',
    'signaled',
    'Tell the runs that wait for a signal, now or later; the same body again is no harm',
    {
      body: bodies.signal,
    },
  ),
  ...MEMORY_OPERATIONS,
]

const schemaOf = (schema: z.ZodType): object => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'input' })
  return rest
}

const reference = (name: keyof typeof answers) => ({ $ref: `#/components/schemas/${name}` })

const text = (description: string) => ({ description, schema: { type: 'string' } })
const BYTES = {
  'application/octet-stream': { schema: { type: 'string', contentMediaType: 'application/octet-stream' } },
}
const WHOLE = {
  headers: {
    ETag: text('The SHA-256 of the whole, in quotes'),
    'Accept-Ranges': text('bytes'),
    'Content-Disposition': text('attachment, with the name'),
    'Content-Length': text('Bytes of this answer'),
  },
  content: BYTES,
}
const RANGE = { headers: { ...WHOLE.headers, 'Content-Range': text('bytes from-to/size') }, content: BYTES }

function describe(operation: Operation): object {
  const { answer, body, query, status = 200, summary } = operation
  const header = (name: string, required: boolean, pattern: string) => ({
    name,
    in: 'header',
    required,
    schema: { type: 'string', pattern },
  })
  const parameters = [
    ...[...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    })),
    ...Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
      name,
      in: 'query',
      required: false,
      schema: schemaOf(schema as z.ZodType),
    })),
    ...(operation.ifMatch ? [header('If-Match', operation.ifMatch === 'required', '^"v[0-9]+"$')] : []),
    ...(operation.once ? [header('Idempotency-Key', true, '^[!-~]{1,255}$')] : []),
    ...(answer === 'events' ? [header('Last-Event-ID', false, '^[0-9]+$')] : []),
    ...(operation.bytes
      ? [
          header('Range', false, '^bytes=([0-9]+-[0-9]*|-[0-9]+)$'),
          header('If-Range', false, '^"[0-9a-f]{64}"$'),
          header('If-None-Match', false, '"[0-9a-f]{64}"'),
        ]
      : []),
  ]
  const content = answer && {
    'application/json': { schema: reference(answer) },
    ...(answer === 'events' && { 'text/event-stream': { schema: { type: 'string' } } }),
  }
  return {
    summary,
    parameters,
    ...(body && {
      requestBody: { required: body !== bodies.nothing, content: { 'application/json': { schema: schemaOf(body) } } },
    }),
    responses: {
      [status]: { description: summary, ...(content && { content }), ...(operation.bytes && WHOLE) },
      ...(operation.bytes && { 206: { description: 'The range', ...RANGE }, 304: { description: 'Not modified' } }),
      default: {
        description: 'What went wrong',
        content: { 'application/problem+json': { schema: reference('problem') } },
      },
    },
  }
}

let made: object | null = null

export function openapi(): object {
  if (made) return made
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of OPERATIONS)
    paths[operation.path] = { ...paths[operation.path], [operation.method]: describe(operation) }
  made = {
    openapi: '3.1.0',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: { title: 'Plimsoll app plane', version: 'v1' },
    security: [{ bearer: [] }],
    paths,
    webhooks: webhooks(),
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key, or a token of an end user' },
      },
      schemas: Object.fromEntries(Object.entries(answers).map(([name, schema]) => [name, schemaOf(schema)])),
    },
  }
  return made
}
