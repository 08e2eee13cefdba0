/** What the routes of memory take. */
import { z } from 'zod'
import { PRINCIPAL } from '../kernel/scope.ts'

const idOf = (prefix: string, what: string) =>
  z.string().regex(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`), `is not an id of ${what}`)
const messageId = z.string().regex(/^run_[0-9a-hjkmnp-tv-z]{26}\.[0-9]{1,9}$/, 'is not an id of a message')
const conversationId = idOf('ses', 'a conversation')
const principal = z.string().regex(PRINCIPAL, 'is not a name')
const reason = z.string().min(1).max(1_000).describe('For the audit')

const scope = z.enum(['user', 'conversation', 'group', 'project', 'tenant'])
const kind = z.enum(['preference', 'fact', 'task', 'experience'])
const key = z.string().min(1).max(128)
const page = {
  limit: z
    .string()
    .regex(/^([1-9][0-9]?|100)$/, 'is not a number from 1 to 100')
    .optional(),
  cursor: z.string().min(1).max(1_024).optional(),
}

export const memoryBodies = {
  remember: z.strictObject({
    key: key.describe('A key that the program has registered'),
    value: z.json(),
    scope: scope.optional().describe('Default: the first that the key names'),
    place_id: principal.optional().describe('With `group` or `project`: which one'),
    conversation_id: conversationId.optional().describe('With `conversation`: which one'),
    expires_at: z.string().min(1).max(40).optional().describe('RFC 3339, or a date; the key may end it sooner'),
  }),
  correction: z.strictObject({ value: z.json() }),
  acceptance: z.strictObject({ hash: z.string().min(1).max(128).describe('Of the candidate as it was shown') }),
  consent: z.strictObject({
    purpose: z.string().min(1).max(200).describe('As the key says it; `*` is every purpose'),
    state: z.enum(['granted', 'withdrawn']),
  }),
  deletion: exactlyOne({
    memory_id: idOf('mem', 'a memory'),
    message_id: messageId,
    conversation_id: conversationId,
    artifact_id: idOf('art', 'an artifact'),
    everything: z.literal(true).describe('All that is remembered of you, and all your conversations'),
  }),
  fact: z.strictObject({
    subject: principal,
    key,
    ref: z.string().min(1).max(256).describe('The name of the fact where the authority keeps it'),
  }),
  factChanged: z.strictObject({ authority: z.string().min(1).max(128), ref: z.string().min(1).max(256) }),
  shared: z.strictObject({
    key,
    value: z.json(),
    scope: z.enum(['group', 'project', 'tenant']),
    place_id: principal.optional(),
    reason,
  }),
  reveal: z.strictObject({ reason }),
  operatorDeletion: z
    .strictObject({ subject: principal.optional(), conversation_id: conversationId.optional(), reason })
    .refine((d) => (d.subject === undefined) !== (d.conversation_id === undefined), {
      message: 'names either `subject` or `conversation_id`',
    }),
}

/** What is to be forgotten has one name. */
function exactlyOne<S extends z.ZodRawShape>(shape: S) {
  return z
    .strictObject(shape)
    .partial()
    .refine((given) => Object.keys(given).length === 1, `names exactly one of ${Object.keys(shape).join(', ')}`)
}

export const memoryQueries = {
  page: z.strictObject(page),
  memories: z.strictObject({ ...page, kind: kind.optional(), key: key.optional(), scope: scope.optional() }),
  facts: z.strictObject({ ...page, subject: principal }),
}
