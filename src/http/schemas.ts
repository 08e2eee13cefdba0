/** What the app plane takes: strict schemas, from which the requests are checked and the description is made. */
import { z } from 'zod'
import { MEDIA_KINDS, type MediaKind } from '../kernel/media.ts'

const principal = z.string().min(1).max(128).describe('Letters, digits and _ . : @ -')
const permissions = z.array(z.string().min(1).max(200)).max(200)
const messageId = z.string().regex(/^run_[0-9a-z]{26}\.[0-9]{1,9}$/, 'is not an id of a message')
const conversationId = z.string().regex(/^ses_[0-9a-z]{26}$/, 'is not an id of a conversation')
const agent = z.string().min(1).max(63)
const text = z.string().describe('At most 100 000 characters')
const media = {
  type: z.enum(MEDIA_KINDS as [MediaKind, ...MediaKind[]]),
  media_type: z
    .string()
    .min(1)
    .max(100)
    .describe('image/png, image/jpeg, image/gif, image/webp, application/pdf, audio/wav or audio/mpeg'),
}
const parts = z
  .array(
    z.union([
      z.strictObject({
        ...media,
        data: z.string().min(1).describe('The file in base64 of the standard alphabet, padded'),
      }),
      z.strictObject({ ...media, artifact: z.string().regex(/^art_[0-9a-z]{26}$/, 'is not an id of an artifact') }),
    ]),
  )
  .describe('Beside the text; the agent must accept their kinds')

export const bodies = {
  token: z.strictObject({
    user: principal,
    subject: principal.optional(),
    permissions: permissions.optional().describe('At most those of the key, which are the default'),
    ttl_seconds: z.int().min(1).max(900).optional(),
  }),
  credential: z.strictObject({ kind: z.enum(['service', 'operator']), user: principal, permissions }),
  conversation: z.strictObject({ agent }),
  message: z.strictObject({ text, parts: parts.optional(), parent_message_id: messageId.optional() }),
  run: z.strictObject({
    agent: agent.optional().describe('Needed without `conversation_id`'),
    text,
    parts: parts.optional(),
    conversation_id: conversationId.optional(),
    parent_message_id: messageId.optional(),
  }),
  decision: z.strictObject({ params_hash: z.string().min(1).max(128), reason: z.string().max(1_000).optional() }),
  resolution: z.strictObject({
    outcome: z.enum(['happened', 'did_not_happen', 'retry', 'leave']),
    reason: z.string().min(1).max(1_000),
    result: z.json().optional().describe('What the provider shows, for the model; only with `happened`'),
  }),
  endpoint: z.strictObject({
    url: z.string().min(1).max(2_048),
    types: z.array(z.string().min(1).max(40)).min(1).max(50).optional().describe('Types of events; default: all'),
  }),
  endpointState: z.strictObject({ state: z.enum(['enabled', 'disabled']), reason: z.string().min(1).max(1_000) }),
  replay: z
    .strictObject({
      run_id: z
        .string()
        .regex(/^run_[0-9a-z]{26}$/, 'is not an id of a run')
        .optional(),
      seq: z.int().min(1).optional().describe('With `run_id`: the first event; default 1'),
      since: z.iso.datetime({ offset: true }).optional().describe('Without `run_id`: the earliest time of an event'),
      reason: z.string().min(1).max(1_000),
    })
    .refine((r) => (r.run_id === undefined) !== (r.since === undefined), 'names either `run_id` or `since`'),
  retention: z.strictObject({
    class: z.string().min(1).max(40),
    days: z.union([z.int().min(0).max(36_500), z.null()]).describe('After the end of a run; null keeps for ever'),
    reason: z.string().min(1).max(1_000),
  }),
  sweep: z.strictObject({ dry_run: z.boolean().optional() }),
  hold: z.strictObject({
    subject: principal.optional().describe('Without it: everything of the environment'),
    reason: z.string().min(1).max(1_000),
  }),
  release: z.strictObject({ reason: z.string().min(1).max(1_000) }),
  signal: z.strictObject({
    body: z.json().describe('What the tool that waits is given; null when nothing is to be said'),
  }),
  nothing: z.strictObject({}),
}

const limit = z
  .string()
  .regex(/^[1-9][0-9]{0,2}$/, 'is not a number from 1 to 100')
  .refine((digits) => Number(digits) <= 100, 'is not a number from 1 to 100')
  .optional()
const cursor = z.string().min(1).max(1_024).optional()
const page = { limit, cursor }

export const queries = {
  none: z.strictObject({}),
  effects: z.strictObject({ status: z.literal('unknown') }),
  page: z.strictObject(page),
  limit: z.strictObject({ limit }),
  step: z.strictObject({
    step: z
      .string()
      .regex(/^[1-9][0-9]{0,5}$/, 'is not the number of a step')
      .optional(),
  }),
  conversations: z.strictObject({ ...page, agent: agent.optional() }),
  runs: z.strictObject({
    ...page,
    status: z.enum(['queued', 'running', 'waiting_confirmation', 'succeeded', 'failed', 'canceled']).optional(),
    wait_reason: z.enum(['confirmation', 'unknown_effect', 'question', 'timer', 'external', 'follower']).optional(),
    conversation_id: conversationId.optional(),
    agent: agent.optional(),
  }),
  confirmations: z.strictObject({
    ...page,
    run_id: z
      .string()
      .regex(/^run_[0-9a-z]{26}$/, 'is not an id of a run')
      .optional(),
  }),
  events: z.strictObject({
    limit,
    after: z
      .string()
      .regex(/^[0-9]{1,15}$/, 'is not the id of an event')
      .optional(),
  }),
}
