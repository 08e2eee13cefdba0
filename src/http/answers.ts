/** What the app plane answers, for its description; a test holds real answers against these shapes. */
import { z } from 'zod'
import { FAULTS, type FaultCode } from '../kernel/fault.ts'
import { memoryAnswers } from './memory-answers.ts'

const id = (prefix: string) => z.string().regex(new RegExp(`^${prefix}_[0-9a-z]{26}$`))
const time = z.iso.datetime()
const maybe = <S extends z.ZodType>(schema: S) => z.union([schema, z.null()])
const cents = z
  .string()
  .regex(/^-?[0-9]+(\.[0-9]{1,6})?$/)
  .describe('Cents as a decimal text')
const status = z.enum(['queued', 'running', 'waiting_confirmation', 'succeeded', 'failed', 'canceled'])
const waitReason = maybe(z.enum(['confirmation', 'unknown_effect', 'question', 'timer', 'external', 'follower']))
const phase = z.enum(['planning', 'tool_running', 'awaiting_observation', 'finalizing'])

const section = z.enum(['rules', 'summary', 'recent', 'evidence', 'memory', 'question', 'state', 'calls'])

const action = z.strictObject({
  step: z.int(),
  position: z.int(),
  tool: z.string(),
  tool_version: z.int(),
  level: z.enum(['read', 'write', 'irreversible']),
  status: z.enum(['intended', 'started', 'waiting', 'settled', 'unknown']),
  outcome: maybe(z.enum(['ok', 'error'])),
  error_code: maybe(z.string()),
  compensates: maybe(z.string()).describe('The key of the effect that this one undoes'),
  compensation: maybe(
    z.strictObject({
      run_id: id('run'),
      idempotency_key: z.string(),
      status: z.enum(['intended', 'started', 'waiting', 'settled', 'unknown']),
      outcome: maybe(z.enum(['ok', 'error'])),
    }),
  ).describe('The effect that undoes this one: done when it is settled, and not before'),
  started_at: maybe(time),
  settled_at: maybe(time),
})

const runHead = {
  id: id('run'),
  conversation_id: id('ses'),
  generation: z.int(),
  agent: z.string(),
  user: z.string(),
  subject: z.string(),
  status,
  wait_reason: waitReason,
  phase,
  step: z.int(),
  version: z.int(),
  end_reason: maybe(z.string()),
  created_at: time,
  ended_at: maybe(time),
}

const run = z.strictObject({
  ...runHead,
  branch: z.string(),
  release: z.string(),
  last_event: z.int(),
  cancel_cause: maybe(z.string()),
  pending_confirmations: z.array(id('cnf')),
  actions: z.array(action).describe('Effects that were started: done, or perhaps done'),
  budget: z.strictObject({
    steps: z.strictObject({ limit: z.int(), used: z.int() }),
    tool_calls: z.strictObject({ limit: z.int(), used: z.int() }),
    tokens: z.strictObject({ limit: z.int(), used: z.int(), reserved: z.int() }),
    cost_cents: z.strictObject({ limit: cents, used: cents, reserved: cents }),
  }),
  started_at: maybe(time),
  deadline_at: time,
})

const conversationInList = z.strictObject({
  id: id('ses'),
  agent: z.string(),
  user: z.string(),
  subject: z.string(),
  state: z.enum(['idle', 'planning', 'tool_running', 'waiting_user', 'terminated']),
  version: z.int(),
  generation: z.int(),
  active_runs: z.array(z.strictObject({ id: id('run'), status, wait_reason: waitReason, phase })),
  created_at: time,
  closed_at: maybe(time),
})

const decided = z.strictObject({
  id: id('cnf'),
  run_id: id('run'),
  status: z.enum(['approved', 'rejected', 'consumed']),
  version: z.int(),
  decided_by: maybe(z.string()),
})

const page = <S extends z.ZodType>(item: S) => z.strictObject({ items: z.array(item), next_cursor: maybe(z.string()) })
const list = <S extends z.ZodType>(item: S) => z.strictObject({ items: z.array(item) })
const amount = z.strictObject({ tokens: z.int(), cents })

const mediaType = z.enum(['image', 'pdf', 'audio'])
const message = z.strictObject({
  id: z.string(),
  run_id: id('run'),
  parent_message_id: maybe(z.string()),
  role: z.enum(['user', 'assistant']),
  text: z.string(),
  parts: z
    .array(z.strictObject({ type: mediaType, artifact_id: id('art'), media_type: z.string(), bytes: z.int() }))
    .describe('What came with it; the files are artifacts'),
  partial: z.boolean().describe('Cut off; never continued'),
  created_at: time,
})

const confirmation = z.strictObject({
  id: id('cnf'),
  run_id: id('run'),
  conversation_id: id('ses'),
  step: z.int(),
  position: z.int(),
  tool: z.string(),
  tool_version: z.int(),
  level: z.enum(['confirm', 'strong_confirm']),
  status: z.enum(['pending', 'approved', 'rejected', 'expired', 'superseded', 'consumed']),
  version: z.int(),
  summary: z.string(),
  params: z.record(z.string(), z.unknown()),
  params_text: z.string().describe('RFC 8785: exactly what will be sent'),
  params_hash: z.string(),
  before: z.unknown(),
  after: z.unknown(),
  resource: maybe(z.string()),
  resource_version: maybe(z.string()),
  repeats: maybe(z.string()).describe('The key of an earlier effect with the same arguments'),
  compensates: maybe(
    z.strictObject({
      idempotency_key: z.string(),
      tool: z.string(),
      tool_version: z.int(),
      params: z.record(z.string(), z.unknown()),
    }),
  ).describe('The effect that it undoes'),
  other_plans: z.int().describe('Other open confirmations on the same resource'),
  confirmers: z.array(z.string()),
  decided_by: maybe(z.string()),
  created_at: time,
  expires_at: time,
})

const artifact = z.strictObject({
  id: id('art'),
  run_id: id('run'),
  step: z.int(),
  position: z.int(),
  call_id: z.string().describe("The provider's label of the call"),
  kind: z.enum(['result', 'file', 'upload']).describe('`upload`: came with the message that opened the run'),
  name: z.string(),
  media_type: z.string(),
  bytes: z.int(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  integrity: z.enum(['trusted', 'user', 'untrusted']),
  confidentiality: z.enum(['public', 'subject', 'tenant', 'secret']),
  summary: maybe(
    z.strictObject({
      rows: z.int(),
      columns: z.array(
        z.strictObject({
          name: z.string(),
          types: z.array(z.string()),
          missing: z.int(),
          numbers: z
            .strictObject({ min: z.number(), max: z.number(), mean: z.number(), deviation: z.number() })
            .optional(),
        }),
      ),
      more_columns: z.int(),
      outliers: z.array(z.strictObject({ column: z.string(), row: z.int(), value: z.number() })),
      first: z.array(z.unknown()).describe('The first rows, whole'),
    }),
  ).describe('Of rows; null for other content'),
  created_at: time,
  expires_at: maybe(time),
})

const event = z.looseObject({
  id: z.int(),
  type: z.string(),
  at: time,
  text: z.string().optional(),
  partial: z.boolean().optional(),
})

export const answers = {
  ...memoryAnswers,
  token: z.strictObject({ token: z.string(), expires_at: time }),
  credential: z.strictObject({ id: id('key'), key: z.string().describe('Shown once') }),
  submitted: z.strictObject({
    id: id('run'),
    status: z.literal('queued'),
    conversation_id: id('ses'),
    conversation_version: z.int(),
    generation: z.int(),
    message_id: z.string(),
  }),
  run,
  runs: page(z.strictObject({ ...runHead, cost_cents: z.strictObject({ limit: cents, used: cents }) })),
  canceled: z.strictObject({
    id: id('run'),
    version: z.int(),
    status,
    cancel_cause: maybe(z.string()),
    actions: z.array(action),
  }),
  ledger: list(
    z.strictObject({
      seq: z.int(),
      level: z.enum(['run', 'subject', 'tenant']),
      step: z.int(),
      kind: z.enum(['open', 'model', 'tools', 'recovery', 'close']),
      input_tokens: z.int(),
      output_tokens: z.int(),
      tool_calls: z.int(),
      usage_known: z.boolean(),
      usage_suspect: z.boolean(),
      spent_cents: cents,
      reserved: amount,
      released: amount,
      at: time,
    }),
  ),
  context: z.strictObject({
    run_id: id('run'),
    step: z.int(),
    release: z.string(),
    own_release: z.boolean().describe('False: decided with another release than the run was made with'),
    tokens: z.int(),
    limit: z.int(),
    overflows: z.boolean().describe('What may not be left out is larger than the window, and nothing is sent'),
    cuts: z.int(),
    sections: z.array(z.strictObject({ section, tokens: z.int(), messages: z.int() })),
    sent: z.array(
      z.strictObject({
        message_id: maybe(z.string()),
        section,
        role: z.string(),
        tokens: z.int(),
        cut_from: maybe(z.int()).describe('Its tokens before it was cut'),
      }),
    ),
    media: z.array(
      z.strictObject({
        part: z.string().describe('The message and the place of the part in it'),
        type: mediaType,
        tokens: z.int(),
        sent: z.boolean().describe('The request refers to it; a file that is gone is a note all the same'),
      }),
    ),
    left_out: z.array(
      z.strictObject({
        message_id: z.string(),
        tokens: z.int(),
        why: z.enum(['unpaired', 'summarised', 'old_talk', 'less_relevant', 'earlier_step']),
      }),
    ),
    memories: z.array(z.strictObject({ id: z.string(), version: z.int() })),
    summaries: z.array(z.string()),
    procedures: z.array(z.strictObject({ name: z.string(), version: z.number() })),
    shared_prefix: maybe(z.strictObject({ messages: z.int(), tokens: z.int(), share: z.number() })).describe(
      'What the call before has sent in the same words',
    ),
  }),
  effects: list(
    z.strictObject({
      ...action.shape,
      kind: z.enum(['tool', 'memory', 'child', 'notification']),
      approval: z.enum(['auto', 'confirm', 'strong_confirm', 'refused']),
      attempt: z.int(),
      idempotency_key: z.string(),
      params_hash: z.string(),
      result_hash: maybe(z.string()),
    }),
  ),
  artifact,
  artifacts: list(artifact),
  events: z.strictObject({ items: z.array(event), last_event: z.int(), ended: z.boolean() }),
  conversation: conversationInList.extend({ last_message_id: maybe(z.string()) }),
  conversations: page(conversationInList),
  messages: page(message),
  confirmation,
  confirmations: page(confirmation),
  decided,
  webhook: z.strictObject({
    type: z.string(),
    timestamp: time.describe('Of the event'),
    data: z.looseObject({ run_id: z.string(), conversation_id: z.string(), seq: z.int() }),
  }),
  signaled: z.strictObject({ signal: z.string(), status: z.literal('told') }),
  problem: z.strictObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    code: z.enum(Object.keys(FAULTS) as [FaultCode, ...FaultCode[]]),
    next: z.string(),
    retryable: z.boolean(),
    retry_after_ms: z.int().optional(),
    run_id: id('run').optional(),
    current_version: z.int().optional(),
    outcome: z.string().optional(),
    reasons: z.array(z.string()).optional(),
    errors: z.array(z.strictObject({ path: z.string(), message: z.string() })).optional(),
  }),
}
