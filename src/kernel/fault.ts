/**
 * One table of everything that can go wrong.
 *
 * A fault has a stable `code`. The table says how the system reacts to it, who may see it, which HTTP status and
 * process exit code it becomes, and what to do next. Text that a model or a user sees is built from this table only,
 * never from the message of a `cause` (B6).
 */

/** N1: the one classification of failures. */
export type FaultKind =
  | 'transient'
  | 'rate_limited'
  | 'invalid_request'
  | 'validation'
  | 'auth'
  | 'permission_denied'
  | 'business_rejected'
  | 'conflict'
  | 'not_found'
  | 'content_policy'
  | 'canceled'
  | 'budget'
  | 'unavailable'
  | 'overloaded'
  | 'unknown_outcome'
  | 'corrupt_output'
  | 'unclassified'

/** What the loop does: `retry` before any output, `fix_arguments` and `replan` are observations for the model, `stop` ends the run. */
export type Reaction = 'retry' | 'fix_arguments' | 'replan' | 'stop'

/** The widest audience that may read the code and its sentence. */
export type Audience = 'model' | 'user' | 'operator'

/** Process exit codes of the command line. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  conflict: 4,
  denied: 5,
  budget: 6,
  waiting: 7,
  unknown: 8,
  unavailable: 9,
  gate: 10,
  timeout: 124,
  interrupted: 130,
} as const

export interface FaultRow {
  readonly kind: FaultKind
  readonly reaction: Reaction
  readonly audience: Audience
  /** HTTP status of the problem document. */
  readonly http: number
  /** Exit code of the command line. */
  readonly exit: number
  /** The cause, as a sentence without values. */
  readonly cause: string
  /** What the reader can do about it. */
  readonly next: string
}

const row = (
  kind: FaultKind,
  reaction: Reaction,
  audience: Audience,
  http: number,
  exit: number,
  cause: string,
  next: string,
): FaultRow => ({ kind, reaction, audience, http, exit, cause, next })

// biome-ignore format: a table is read by its rows
export const FAULTS = {
  // ── input ────────────────────────────────────────────────────────────────────────────────────────────────────────
  invalid_json: row('validation', 'fix_arguments', 'model', 400, EXIT.usage, 'The text is not one strict JSON value.', 'Send one complete JSON value without comments, repeated keys or unsafe numbers.'),
  invalid_arguments: row('validation', 'fix_arguments', 'model', 400, EXIT.usage, 'The arguments do not match the contract of the tool.', 'Correct the named fields and call again.'),
  invalid_request: row('invalid_request', 'stop', 'user', 400, EXIT.usage, 'The request does not match the schema of this resource.', 'Correct the fields named in `errors`.'),
  invalid_text: row('validation', 'fix_arguments', 'user', 400, EXIT.usage, 'A text holds a character that cannot be stored.', 'Send it without U+0000.'),
  range_not_satisfiable: row('invalid_request', 'stop', 'user', 416, EXIT.usage, 'The range lies outside of the content.', 'Ask for bytes below the size that `Content-Range` names.'),
  input_too_large: row('validation', 'fix_arguments', 'user', 413, EXIT.usage, 'The input is larger than the limit.', 'Send less; the limits are listed in the documentation.'),
  media_not_accepted: row('invalid_request', 'stop', 'user', 422, EXIT.usage, 'The agent does not take parts of this kind.', 'Send text, or ask an agent whose `accepts` names the kind.'),
  media_unknown: row('invalid_request', 'stop', 'user', 422, EXIT.usage, 'A part is of no known type, or not of the one that it was said to be.', 'Send PNG, JPEG, GIF, WebP, PDF, WAV or MP3 with its own `type` and `media_type`.'),
  media_too_large: row('validation', 'stop', 'user', 413, EXIT.usage, 'A part, or all parts of the message together, have more bytes than the limit.', 'Send smaller files, or fewer at once; docs/http.md has the limits.'),
  media_too_many: row('validation', 'stop', 'user', 422, EXIT.usage, 'The message has more parts than the limit.', 'Send them in several messages; docs/http.md has the limits.'),
  unsupported_media_type: row('invalid_request', 'stop', 'user', 415, EXIT.usage, 'The body is not declared as JSON.', 'Send it with `Content-Type: application/json`.'),
  invalid_definition: row('validation', 'stop', 'operator', 500, EXIT.usage, 'A definition is inconsistent.', 'Change the line named in the message.'),
  // ── who ──────────────────────────────────────────────────────────────────────────────────────────────────────────
  unauthenticated: row('auth', 'stop', 'user', 401, EXIT.denied, 'No valid credential was presented.', 'Send `Authorization: Bearer` with an API key or an end-user token.'),
  permission_denied: row('permission_denied', 'replan', 'model', 403, EXIT.denied, 'This actor may not do this.', 'Use an actor that holds the permission.'),
  not_found: row('not_found', 'replan', 'user', 404, EXIT.notFound, 'There is no such resource for this actor.', 'Check the id.'),
  // ── state ────────────────────────────────────────────────────────────────────────────────────────────────────────
  conflict: row('conflict', 'replan', 'user', 409, EXIT.conflict, 'The resource changed meanwhile.', 'Read it again and decide anew.'),
  legal_hold: row('conflict', 'stop', 'user', 409, EXIT.conflict, 'A legal hold keeps what this would delete.', 'Ask the operator; it can be deleted when the hold is released.'),
  refused_transition: row('conflict', 'stop', 'user', 409, EXIT.conflict, 'The state of the run does not allow this.', 'Read the run and use a transition that its status allows.'),
  precondition_failed: row('conflict', 'stop', 'user', 412, EXIT.conflict, 'The version in `If-Match` is not the current one.', 'Read the resource and send its current ETag.'),
  precondition_required: row('invalid_request', 'stop', 'user', 428, EXIT.usage, 'This request needs `If-Match`.', 'Send the ETag that you have seen.'),
  worker_stopping: row('canceled', 'stop', 'operator', 503, EXIT.unavailable, 'The worker stops and hands its runs back.', 'Nothing: another worker continues.'),
  client_gone: row('canceled', 'stop', 'operator', 503, EXIT.unavailable, 'Nobody follows the run any more, and its agent parks it then.', 'Nothing: who follows it, or says something more, lets it go on.'),
  lease_lost: row('conflict', 'stop', 'operator', 409, EXIT.conflict, 'Another worker owns the run now.', 'Nothing: the owner continues.'),
  // ── confirmations ────────────────────────────────────────────────────────────────────────────────────────────────
  already_decided: row('conflict', 'stop', 'user', 409, EXIT.conflict, 'The confirmation was decided before.', 'Read the recorded outcome.'),
  confirmation_expired: row('conflict', 'stop', 'user', 410, EXIT.conflict, 'The confirmation is no longer open.', 'Wait for a new one if the agent asks again.'),
  params_hash_differs: row('conflict', 'stop', 'user', 422, EXIT.conflict, 'The hash is not that of the arguments to confirm.', 'Show the confirmation again and send its `params_hash`.'),
  stale_plan: row('conflict', 'replan', 'model', 412, EXIT.conflict, 'The resource changed after the plan was made.', 'Plan the call again on the current version.'),
  confirmation_rejected: row('business_rejected', 'replan', 'model', 409, EXIT.conflict, 'The user rejected the action.', 'Do not repeat it; ask what the user wants instead.'),
  // ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────
  memory_refused: row('business_rejected', 'stop', 'user', 422, EXIT.denied, 'What was to be remembered is not remembered.', 'Read `reasons`; docs/memory.md lists them.'),
  // ── idempotency ──────────────────────────────────────────────────────────────────────────────────────────────────
  idempotency_key_missing: row('invalid_request', 'stop', 'user', 400, EXIT.usage, 'This request needs an `Idempotency-Key`.', 'Send a key that is unique for this operation.'),
  idempotency_key_reused: row('conflict', 'stop', 'user', 422, EXIT.conflict, 'The key was used with another body.', 'Use a new key for a new operation.'),
  idempotency_in_flight: row('conflict', 'retry', 'user', 409, EXIT.conflict, 'The first request with this key is still running.', 'Repeat the request after the time in `Retry-After`.'),
  // ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────
  unknown_tool: row('not_found', 'replan', 'model', 404, EXIT.notFound, 'There is no tool of this name.', 'Use one of the offered tools.'),
  tool_failed: row('unclassified', 'replan', 'model', 502, EXIT.failure, 'The tool failed.', 'Try another way or tell the user.'),
  tool_timeout: row('transient', 'replan', 'model', 504, EXIT.timeout, 'The tool did not answer in time.', 'Try later or another way.'),
  rate_limited: row('rate_limited', 'retry', 'model', 429, EXIT.unavailable, 'It was asked for as often as is allowed for now.', 'Try again later, or choose another way.'),
  result_not_serialisable: row('corrupt_output', 'replan', 'model', 502, EXIT.failure, 'The result of the tool cannot be stored as JSON.', 'Return plain JSON values from the tool.'),
  result_invalid: row('corrupt_output', 'replan', 'model', 502, EXIT.failure, 'The result of the tool does not match its contract.', 'Try another way or tell the user.'),
  result_too_large: row('validation', 'replan', 'model', 502, EXIT.failure, 'The result of the tool is larger than its contract lets it store.', 'Ask for less: narrow the question, or a shorter time.'),
  result_not_kept: row('unavailable', 'replan', 'model', 503, EXIT.unavailable, 'The result is too large to be read, and there is no place where it could be kept.', 'Ask for less, try later, or tell the user.'),
  credential_missing: row('auth', 'replan', 'model', 403, EXIT.denied, 'The tool has no credential that it needs for this tenant or user.', 'Tell the user that the account has to be connected first; do not repeat the call.'),
  folder_unavailable: row('unavailable', 'replan', 'operator', 503, EXIT.unavailable, 'The folder of the conversation cannot be made on this machine.', 'Check the disk and the object store; what was kept is there.'),
  path_not_confined: row('invalid_request', 'stop', 'operator', 400, EXIT.usage, 'The name leads out of the folder of the conversation, or is none.', 'Use a relative name of letters without `..`, links and reserved names.'),
  nothing_to_compensate: row('not_found', 'replan', 'model', 409, EXIT.conflict, 'No action of this conversation that was done fits these arguments.', 'Name the action as its own result names it; what failed needs no undoing.'),
  compensation_ambiguous: row('conflict', 'replan', 'model', 409, EXIT.conflict, 'Several actions of this conversation fit these arguments.', 'Name one of them by what its result says of it.'),
  effect_unsettled: row('unknown_outcome', 'replan', 'model', 409, EXIT.unknown, 'It is not known yet whether the action to undo happened.', 'Undo it when its outcome is known; an operator finds out.'),
  already_compensated: row('conflict', 'replan', 'model', 409, EXIT.conflict, 'The action is undone already, or somebody is about to undo it.', 'Do not undo it again; tell the user what is recorded.'),
  unknown_outcome: row('unknown_outcome', 'stop', 'user', 409, EXIT.unknown, 'It is not known whether the action happened.', 'An operator resolves it; it is not repeated.'),
  not_started: row('canceled', 'stop', 'model', 409, EXIT.conflict, 'The call was not started.', 'Nothing happened; decide anew.'),
  wait_expired: row('unavailable', 'replan', 'model', 504, EXIT.timeout, 'What the call waited for did not come in time.', 'Try another way or tell the user.'),
  already_signaled: row('conflict', 'stop', 'user', 409, EXIT.conflict, 'The signal was delivered before, with another body.', 'Use a key of its own for each thing that is told.'),
  repeated_call: row('conflict', 'replan', 'model', 409, EXIT.conflict, 'The same call failed just before and was not executed again.', 'Change the arguments or choose another way.'),
  egress_refused: row('permission_denied', 'stop', 'operator', 502, EXIT.denied, 'The call may not go to this address.', 'List the host in `hosts` of the contract; an address inside the network is never reached.'),
  egress_failed: row('unavailable', 'stop', 'operator', 502, EXIT.unavailable, 'The other host did not answer as it should.', 'Try later; the limits of size and time are those of the call.'),
  // ── model ────────────────────────────────────────────────────────────────────────────────────────────────────────
  model_transient: row('transient', 'retry', 'operator', 503, EXIT.unavailable, 'The model provider failed for a moment.', 'The attempt is repeated within the budget of the run.'),
  model_rate_limited: row('rate_limited', 'retry', 'operator', 503, EXIT.unavailable, 'The model provider limits the rate.', 'The attempt is repeated after the time that the provider names.'),
  model_auth: row('auth', 'stop', 'operator', 502, EXIT.denied, 'The model provider refused the credential.', 'Check the key of the provider.'),
  model_invalid_request: row('invalid_request', 'stop', 'operator', 502, EXIT.failure, 'The model provider refused the request.', 'Check the model name, the tools and the size of the context.'),
  model_protocol: row('corrupt_output', 'stop', 'operator', 502, EXIT.failure, 'The stream of the model was damaged.', 'Nothing of it was executed; start a new run.'),
  model_unavailable: row('unavailable', 'stop', 'user', 503, EXIT.unavailable, 'The model provider is not available.', 'Try later.'),
  model_context_overflow: row('invalid_request', 'stop', 'operator', 502, EXIT.failure, 'The context is larger than the model accepts.', 'The context is built once more, smaller; then the run ends.'),
  model_content_policy: row('content_policy', 'stop', 'user', 422, EXIT.failure, 'The model provider filtered the content.', 'Change the request.'),
  model_unclassified: row('unclassified', 'stop', 'operator', 502, EXIT.failure, 'The model provider failed in an unknown way.', 'Look at the restricted log.'),
  // ── limits ───────────────────────────────────────────────────────────────────────────────────────────────────────
  budget_exceeded: row('budget', 'stop', 'user', 429, EXIT.budget, 'The budget does not cover this.', 'Raise the budget or start a smaller run.'),
  circuit_open: row('unavailable', 'replan', 'model', 503, EXIT.unavailable, 'The provider has failed several times in a row and is not asked for a while.', 'Choose another way, or try later.'),
  overloaded: row('overloaded', 'retry', 'user', 429, EXIT.unavailable, 'Too much is waiting already.', 'Repeat after the time in `Retry-After`.'),
  stream_limit: row('overloaded', 'retry', 'user', 503, EXIT.unavailable, 'This process holds as many open streams as it may.', 'Repeat after the time in `Retry-After`, or read the events as JSON.'),
  canceled: row('canceled', 'stop', 'user', 409, EXIT.interrupted, 'The run was canceled.', 'Start a new run.'),
  // ── operation ────────────────────────────────────────────────────────────────────────────────────────────────────
  unavailable: row('unavailable', 'retry', 'user', 503, EXIT.unavailable, 'The service cannot answer right now.', 'Repeat after the time in `Retry-After`.'),
  store_unavailable: row('unavailable', 'retry', 'operator', 503, EXIT.unavailable, 'The database cannot be reached.', 'Check DATABASE_URL and that the server accepts connections.'),
  recall_mixed: row('conflict', 'stop', 'operator', 503, EXIT.conflict, 'The vectors of these memories are of another model.', 'Embed them again with the model in use, or use the former one.'),
  store_locked: row('conflict', 'stop', 'operator', 503, EXIT.unavailable, 'Another process uses this embedded store.', 'Stop that process, use another folder, or use PostgreSQL for several processes.'),
  schema_newer: row('conflict', 'stop', 'operator', 503, EXIT.unavailable, 'The schema of the database is newer than this program.', 'Start the newer version of the program.'),
  schema_changed: row('conflict', 'stop', 'operator', 503, EXIT.unavailable, 'A migration is not the one that this database was made with.', 'Start the program that made it; a store of the time before the first release can only be removed and made anew.'),
  schema_older: row('conflict', 'stop', 'operator', 503, EXIT.unavailable, 'The schema of the database is older than this program.', 'Run `plimsoll migrate` first.'),
  content_destroyed: row('not_found', 'stop', 'user', 410, EXIT.notFound, 'The content of this tenant was destroyed.', 'Nothing: it cannot come back.'),
  sealing_key_missing: row('unavailable', 'stop', 'operator', 503, EXIT.unavailable, 'The key that wraps the keys of tenants is not there.', 'Put the key file back, or name it by PLIMSOLL_KEY_FILE; what was sealed under another one cannot be read without it.'),
  sealing_key_unfit: row('conflict', 'stop', 'operator', 503, EXIT.unavailable, 'The key that wraps the keys of tenants is not the one of this database.', 'Give all processes of one database the same key file by PLIMSOLL_KEY_FILE, readable by its owner alone.'),
  restore_pending: row('conflict', 'stop', 'operator', 503, EXIT.unavailable, 'The database is older than its restore log: a backup was put back.', 'Run `plimsoll restore apply`, or start the server, which does it first.'),
  tenant_held: row('conflict', 'stop', 'operator', 409, EXIT.conflict, 'A legal hold forbids to destroy the tenant.', 'Release the hold first.'),
  content_damaged: row('corrupt_output', 'stop', 'operator', 500, EXIT.failure, 'Stored content does not match its hash.', 'Restore it from a backup; the run is not continued on it.'),
  mcp_unreachable: row('unavailable', 'retry', 'operator', 503, EXIT.unavailable, 'The server of tools cannot be reached.', 'Check its address; or its command, whose files have whole paths unless `cwd` is given, and what it writes to its error output.'),
  mcp_list_too_large: row('corrupt_output', 'stop', 'operator', 502, EXIT.failure, 'The list of tools of the server has more than 8 MiB, or more than 64 pages.', 'Have the server offer fewer tools, or stand one before it that offers only what you use.'),
  server_unreachable: row('unavailable', 'retry', 'operator', 503, EXIT.unavailable, 'No server answers.', 'Start one with `plimsoll start`, or set PLIMSOLL_URL.'),
  port_in_use: row('conflict', 'stop', 'operator', 503, EXIT.unavailable, 'The port is taken by another program.', 'Stop that program or set another port with --port.'),
  internal: row('unclassified', 'stop', 'operator', 500, EXIT.failure, 'The program failed in an unexpected way.', 'Look at the restricted log.'),
} as const satisfies Record<string, FaultRow>

export type FaultCode = keyof typeof FAULTS

/** One wrong field of an input: a JSON pointer and a sentence without the value. */
export interface FieldError {
  readonly path: string
  readonly message: string
}

export interface FaultFacts {
  readonly currentVersion?: number
  readonly outcome?: string
  readonly run?: string
  /** Why something is not remembered: names of the list in docs/memory.md. */
  readonly reasons?: readonly string[]
  /** Bytes of the content, when a range lies outside of it. */
  readonly size?: number
  /** The stored answer to an earlier request with the same key. */
  readonly replayed?: boolean
}

/**
 * A failure with a stable code. `detail` is for the audience of the table's row and holds no values of arguments,
 * results, memories or secrets. `errors` names the wrong fields of an input.
 */
export class Fault extends Error {
  readonly code: FaultCode
  readonly errors: readonly FieldError[]
  /** How long the other side asked us to wait; `null` when it did not say. */
  readonly retryAfterMs: number | null
  /** What the caller needs to go on: the current version, the recorded outcome, the run. Ids, counts and codes only. */
  readonly facts: FaultFacts

  constructor(
    code: FaultCode,
    detail?: string,
    options: { cause?: unknown; errors?: readonly FieldError[]; retryAfterMs?: number; facts?: FaultFacts } = {},
  ) {
    super(detail ?? FAULTS[code].cause, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'Fault'
    this.code = code
    this.errors = options.errors ?? []
    this.retryAfterMs = options.retryAfterMs ?? null
    this.facts = options.facts ?? {}
  }

  /** By name, because realms and copies of the package break `instanceof`. */
  static is(value: unknown): value is Fault {
    return value instanceof Error && value.name === 'Fault' && 'code' in value
  }
}

/** The database did not answer: what was sent may have been committed, and only reading it again can tell. */
export const isUnreachable = (error: unknown): error is Fault => Fault.is(error) && error.code === 'store_unavailable'
