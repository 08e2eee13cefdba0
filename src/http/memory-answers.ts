/** What the routes of memory answer. */
import { z } from 'zod'

const id = (prefix: string) => z.string().regex(new RegExp(`^${prefix}_[0-9a-z]{26}$`))
const time = z.iso.datetime()
const maybe = <S extends z.ZodType>(schema: S) => z.union([schema, z.null()])
const list = <S extends z.ZodType>(item: S) => z.strictObject({ items: z.array(item) })
const page = <S extends z.ZodType>(item: S) => z.strictObject({ items: z.array(item), next_cursor: maybe(z.string()) })

const scope = z.enum(['user', 'conversation', 'group', 'project', 'tenant'])
const kind = z.enum(['preference', 'fact', 'task', 'experience'])
const sensitivity = z.enum(['none', 'personal', 'special'])
const reasons = z.array(z.string()).describe('Of the list in docs/memory.md')

const memory = z.strictObject({
  id: id('mem'),
  subject: maybe(z.string()).describe('Whom it is about; null for what is shared'),
  scope,
  place_id: maybe(z.string()).describe('The subject, conversation, group or project'),
  kind,
  layer: z.enum(['session', 'episodic', 'semantic', 'procedural']),
  key: z.string(),
  value: z.unknown().describe('Null while a detector bars it'),
  version: z.int(),
  status: z.enum(['active', 'cold', 'barred', 'invalid', 'expired']),
  integrity: z.enum(['trusted', 'user', 'untrusted']),
  confidence: z.number(),
  importance: z.number(),
  sensitivity,
  purpose: z.string(),
  consent_basis: z.string(),
  confirmed_by: maybe(z.string()),
  authority: maybe(z.string()),
  writer: z.string(),
  use_count: z.int().describe('Runs that were given it'),
  recorded_at: time,
  valid_from: time,
  expires_at: maybe(time),
  last_used_at: maybe(time),
})

const source = z.strictObject({
  kind: z.enum(['message', 'user', 'call', 'memory', 'authority', 'operator', 'import']),
  ref: z.string(),
  role: z.enum(['evidence', 'neighbour', 'writer']),
  quote: maybe(z.string()),
  run_id: maybe(id('run')),
  conversation_id: maybe(id('ses')),
  version: z.int().describe('Of the memory'),
  at: time,
})
const use = { version: z.int(), rank: z.int(), score: z.number(), reason: z.string().describe('`placed`, or why not') }

const candidate = z.strictObject({
  id: id('mcd'),
  status: z.enum(['pending', 'accepted', 'declined', 'expired', 'superseded']),
  version: z.int(),
  key: z.string(),
  kind: maybe(kind),
  value: z.unknown().describe('Exactly what will be remembered; null once it is answered'),
  scope: maybe(scope),
  place_id: maybe(z.string()),
  purpose: maybe(z.string()),
  sensitivity: maybe(sensitivity),
  remembered_until: maybe(time),
  hash: maybe(z.string()).describe('Covers value, key, place, purpose and end'),
  reasons,
  quotes: z.array(z.string()),
  writer: z.string(),
  conversation_id: maybe(id('ses')),
  run_id: maybe(id('run')),
  memory_id: maybe(id('mem')),
  created_at: time,
  expires_at: time.describe('Of the question'),
})

const deletion = z.strictObject({
  id: id('del'),
  subject: z.string(),
  kind: z.enum(['memory', 'message', 'conversation', 'artifact', 'subject', 'purpose']),
  target: z.string(),
  created_at: time,
  done_at: maybe(time),
  backups_expire_at: maybe(time).describe('Null until it is done, and where nobody has said how long backups are kept'),
})
const receipt = deletion.extend({
  parts: z.array(
    z.strictObject({
      derivative: z.string(),
      state: z.enum(['waiting', 'failed', 'done']).describe('What has failed is tried again'),
      removed: z.int(),
      error: maybe(z.string()),
      done_at: maybe(time),
    }),
  ),
})

export const memoryAnswers = {
  memory,
  memories: page(memory),
  memory_why: z.strictObject({
    memory,
    sources: z.array(source),
    uses: z.array(z.strictObject({ run_id: id('run'), ...use, at: time })),
  }),
  memory_versions: list(
    z.strictObject({
      version: z.int(),
      change: z.enum(['created', 'superseded', 'merged', 'corrected', 'late']),
      value: z.unknown().describe('Null when it was forgotten'),
      writer: z.string(),
      integrity: z.string(),
      confidence: z.number(),
      valid_from: time,
      recorded_at: time,
    }),
  ),
  memory_written: z.strictObject({
    outcome: z.enum(['saved', 'asked', 'session']),
    id: id('mem').optional(),
    version: z.int().optional(),
    change: z.enum(['created', 'superseded', 'merged', 'corrected', 'late']).optional(),
    reasons,
  }),
  facts_changed: z.strictObject({ changed: z.int().describe('Memories that are out of use') }),
  run_memories: list(z.strictObject({ memory_id: id('mem'), ...use })),
  memory_candidate: candidate,
  memory_candidates: page(candidate),
  memory_declined: z.strictObject({ id: id('mcd'), status: z.literal('declined'), version: z.int() }),
  consents: z.strictObject({
    items: z.array(
      z.strictObject({
        purpose: z.string(),
        state: z.enum(['granted', 'withdrawn']),
        basis: z.string(),
        decided_by: z.string(),
        decided_at: time,
      }),
    ),
    purposes: z.array(z.string()).describe('What a word can be said about, besides `*` for all'),
  }),
  consent_set: z.strictObject({
    purpose: z.string(),
    state: z.enum(['granted', 'withdrawn']),
    deletion: maybe(receipt).describe('Of what a withdrawn consent covered'),
  }),
  export: list(z.strictObject({ memory, sources: z.array(source) })),
  deletion: receipt,
  deletions: page(deletion),
  members: list(z.strictObject({ user: z.string(), joined_at: time })),
}
