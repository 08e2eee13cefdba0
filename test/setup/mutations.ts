/**
 * Faults planted into the transition functions, each a text edit of the migration: `find` must occur in the function.
 * `held` names a second wall that keeps the fault harmless. With `policies` the probes pass with the fault alone and fail
 * when the row policies of the functions' roles are gone too; with `check` the table refuses the rows that would tell.
 */
import type { Guard } from './guards.ts'
import { DECIDE, START_CONSENT, START_LEASE } from './effect-guards.ts'
import { CANCEL, CLOSE, COMMIT_BUDGET, COMMIT_LEASE, COMMIT_STATE, COMMIT_WALL, DROP, OPEN, SUBMIT } from './guards.ts'
import { CLAIM, DRIVEN, LAY_DOWN, LOCKS, REAP } from './queue-guards.ts'
import { OUTBOX_CLAIM, OUTBOX_LOOK, OUTBOX_SHARE } from './relay-guards.ts'
import { SWEEP } from './retention-guards.ts'
import { ABANDON, ALONE, ATTEND, RESTING } from './attention-guards.ts'
import { outboxMutations } from './outbox-mutations.ts'
import { answerMutations } from './answer-mutations.ts'
import { ANSWER, ANSWER_LOCKS } from './answer-guards.ts'
import { TELL, WAIT } from './signal-guards.ts'
import { WALL } from './wall-guards.ts'

export interface Mutation {
  readonly in: keyof typeof PROBES
  readonly what: string
  readonly find: string
  readonly replace: string
  readonly held?: 'policies' | 'check'
  /** Only two sessions can tell. */
  readonly concurrent?: true
}

/** The probes of each function. */
export const PROBES = {
  step: [...COMMIT_STATE, ...COMMIT_LEASE, ...COMMIT_BUDGET, ...COMMIT_WALL, ...WAIT, ...ANSWER, ...ANSWER_LOCKS],
  tell: TELL,
  attend: ATTEND,
  abandon: ABANDON,
  start: [...START_LEASE, ...START_CONSENT],
  decide: DECIDE,
  cancel: CANCEL,
  submit: [...SUBMIT, ...RESTING],
  claim: [...CLAIM, ...LOCKS],
  reap: REAP,
  lay_down: LAY_DOWN,
  close_session: CLOSE,
  drop_session: DROP,
  open_session: OPEN,
  driven: [...DRIVEN, ...ALONE],
  outbox_take: [...OUTBOX_CLAIM, ...OUTBOX_SHARE],
  outbox_look: OUTBOX_LOOK,
  sweep: SWEEP,
  wall: [...WALL, ...COMMIT_WALL],
} as const satisfies Record<string, readonly Guard[]>

type More = Partial<Pick<Mutation, 'held' | 'concurrent'>>
const of =
  (name: Mutation['in']) =>
  (what: string, find: string, replace = '', more: More = {}): Mutation => ({ in: name, what, find, replace, ...more })

const step = of('step')
const tell = of('tell')
const attend = of('attend')
const abandon = of('abandon')
const start = of('start')
const decide = of('decide')
const cancel = of('cancel')
const submit = of('submit')
const claim = of('claim')
const reap = of('reap')
const layDown = of('lay_down')
const close = of('close_session')
const open = of('open_session')
const drop = of('drop_session')
const driven = of('driven')
const outboxClaim = of('outbox_take')
const outboxLook = of('outbox_look')
const sweep = of('sweep')
const wall = of('wall')
const held: More = { held: 'policies' }
const list = "wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);"
/** Everything that travels in the batch, whatever the evidence says. */
const listOfRows = `wall := set_config('app.batch', (select '|' || string_agg(concat_ws('/', x ->> 'tenant', x ->> 'environment', x ->> 'run'), '|') || '|'
  from jsonb_array_elements(p) x), true);`

export const MUTATIONS: readonly Mutation[] = [
  ...answerMutations({ step, submit, attend, abandon, driven }),
  ...outboxMutations({ outboxClaim, outboxLook, sweep }, held),
  attend(
    'forgets who follows longer',
    "greatest(r.followed_until, now() + p_ms * interval '1 millisecond')",
    "now() + p_ms * interval '1 millisecond'",
  ),
  attend('follows what has ended', "and r.status in ('queued', 'running', 'waiting_confirmation')"),
  abandon('takes those that are followed', 'q.followed_until < now() and', 'q.followed_until is not null and', {
    held: 'policies',
  }),
  abandon('takes those that have ended', "and q.status in ('queued', 'running', 'waiting_confirmation')", '', {
    held: 'policies',
  }),
  abandon('takes those that were canceled', 'and q.cancel_cause is null'),
  abandon('wakes what waits for an operator', "or r.wait_reason = 'unknown_effect'"),
  abandon('wakes nobody', 'then r.due_at else now() end', 'then r.due_at else r.due_at end'),
  abandon('takes more than asked for', 'limit p_limit'),
  abandon('does not tell a worker', 'version = r.version + 1', 'version = r.version'),
  step('lets a settled call wait', "and e.status in ('intended', 'started', 'waiting')"),
  step(
    'lets a call of another step wait',
    'and e.step = t.step and e.position = w.position',
    'and e.position = w.position',
  ),
  step('does not count the waits', 'waits = e.waits + 1', 'waits = e.waits'),
  step('pushes another waiter away', 'array_append(array_remove(s.waiters, r.id), r.id)', 'array[r.id]'),
  step('does not register the waiter', 'array_append(array_remove(s.waiters, r.id), r.id)', 's.waiters'),
  step('sleeps over what was told', 'and s.body is not null)\n    then', 'and s.body is null)\n    then'),
  step('wakes before anything is told', 'and s.body is not null)\n    then', ')\n    then'),
  step('is waked by what it does not listen for', 'and s.key = any (t.listens)\n'),
  step('puts a run that goes on back', `if t."to" = 'waiting_confirmation' and t.listens`, 'if t.listens'),
  tell(
    'replaces what was told',
    'body = coalesce(x.body, excluded.body), body_hash = coalesce(x.body_hash, excluded.body_hash)',
    'body = excluded.body, body_hash = excluded.body_hash',
  ),
  tell('takes any second body', 'if s.body_hash <> t.hash then', 'if false then'),
  tell('wakes a run that has ended', "and r.status in ('queued', 'running', 'waiting_confirmation')"),
  tell('wakes whose call waits no more', "and e.status = 'waiting'"),
  tell('wakes who waits for something else', 'and e.wait_signal = t.signal'),
  tell('wakes a run that waits for an operator', "and r.wait_reason <> 'unknown_effect'"),
  tell(
    'moves a run in the queue',
    "case when r.status = 'waiting_confirmation' and r.wait_reason <> 'unknown_effect' then now() else r.due_at end",
    "case when r.wait_reason is distinct from 'unknown_effect' then now() else r.due_at end",
  ),
  tell('does not tell a worker', 'version = r.version + 1', 'version = r.version'),
  tell('wakes nobody', 'then now() else r.due_at', 'then r.due_at else r.due_at'),
  tell(
    'believes the rows',
    "wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);",
    "wall := set_config('app.batch', '|' || t.tenant || '/' || t.environment || '/signal:' || t.signal || '|', true);",
  ),
  step('drops the version', ' and x.version = t.version\n', '\n'),
  step('takes any later version', 'x.version = t.version\n', 'x.version >= t.version\n'),
  step('drops the status', `and x.status = t."from"`),
  step('lets a finished run move', 'and x.end_reason is null'),
  step('drops the epoch', ' and x.epoch = t.epoch'),
  step('takes any later epoch', 'x.epoch = t.epoch', 'x.epoch >= t.epoch'),
  step('drops the worker', 'x.worker_id = p_worker and '),
  step('checks the lease of idle runs only', "x.status <> 'running' or", "x.status = 'running' or"),
  step('drops the limit of steps', 'and t.step <= x.max_steps'),
  step('allows one step less', 't.step <= x.max_steps', 't.step < x.max_steps'),
  step('drops the limit of tool calls', 'and x.used_tool_calls + t.tool_calls <= x.max_tool_calls'),
  step('checks the calls before and not after', 'x.used_tool_calls + t.tool_calls <=', 'x.used_tool_calls <='),
  step('allows one call less', 't.tool_calls <= x.max_tool_calls', 't.tool_calls < x.max_tool_calls'),
  step('drops the limit of tokens', '- t.released_tokens + t.reserved_tokens <= x.max_tokens)', '> 0)'),
  step('forgets tokens that are held', ' + x.reserved_tokens\n', '\n'),
  step(
    'forgets tokens of this commit',
    ' + t.input_tokens + t.output_tokens + x.reserved_tokens',
    ' + x.reserved_tokens',
  ),
  step('does not give tokens back', '- t.released_tokens + t.reserved_tokens <=', '+ t.reserved_tokens <='),
  step('refuses to book what was spent', '(t.reserved_tokens = 0 or', '(false or'),
  step('drops the limit of cost', '- t.released_cost + t.reserved_cost <= x.max_cost)', '> 0)'),
  step(
    'forgets money that is held',
    ' + x.reserved_cost - t.released_cost + t.reserved_cost <=',
    ' - t.released_cost + t.reserved_cost <=',
  ),
  step('forgets money of this commit', 'x.used_cost + t.spent_cost + x.reserved_cost', 'x.used_cost + x.reserved_cost'),
  step(
    'does not count tokens',
    'used_tokens = x.used_tokens + t.input_tokens + t.output_tokens',
    'used_tokens = x.used_tokens',
  ),
  step(
    'does not count calls',
    'used_tool_calls = x.used_tool_calls + t.tool_calls',
    'used_tool_calls = x.used_tool_calls',
  ),
  step('does not raise the version', 'version = x.version + 1', 'version = x.version'),
  step('joins without the tenant', 'where x.tenant_id = t.tenant and x.environment', 'where x.environment'),
  step('joins without the environment', 'and x.environment = t.environment'),
  step('takes the list from the rows', list, listOfRows),
  step('moves runs and writes no messages', "if t.messages <> '[]' then", 'if false then'),
  step('moves runs and writes no effects', "if t.effects <> '[]' then", 'if false then'),
  step('moves runs and tells nobody', "if t.events <> '[]' then", 'if false then'),
  step('books nothing', 'if t.kind is not null then', 'if false then'),
  step('writes the children of a refused row', 'continue when not found;', 'if not found then r.id := t.run; end if;'),
  step(
    'settles the calls of every step',
    'and e.step = t.step and e.position = s.position',
    'and e.position = s.position',
  ),
  step('closes what has its outcome', " and c.status in ('pending', 'approved');", ';'),
  step('forgets the cancel mark', 'cancel_cause = coalesce(x.cancel_cause, t.cancel)', 'cancel_cause = t.cancel'),
  step('changes the cause of a cancel', 'coalesce(x.cancel_cause, t.cancel)', 'coalesce(t.cancel, x.cancel_cause)'),
  step('settles what is settled', "\n        and e.status <> 'settled';", ';'),

  start('drops the version', 'and r.version = t.version'),
  // a table check: who is not running has no worker
  start('drops the status', "r.status = 'running' and r.worker_id", 'r.worker_id', { held: 'check' }),
  start('drops the worker', 'r.worker_id = p_worker and r.epoch', 'r.epoch'),
  start('drops the epoch', ' and r.epoch = t.epoch\n', '\n'),
  start('drops the cancel mark', 'and r.cancel_cause is null'),
  start('drops the deadline', 'and r.deadline_at > now()'),
  start(
    'drops the lease',
    'and exists (select from plimsoll.worker w where w.id = p_worker and w.lease_until > now())\n',
  ),
  start('takes any lease that ever was', 'w.id = p_worker and w.lease_until > now())\n', 'w.id = p_worker)\n'),
  start('drops the hash of the arguments', 'and e.arguments_hash = t.arguments_hash'),
  start(
    'drops the step',
    'and e.step = t.step and e.position = t.position\n          and',
    'and e.position = t.position\n          and',
  ),
  start(
    'drops the position',
    'and e.step = t.step and e.position = t.position\n          and',
    'and e.step = t.step\n          and',
  ),
  start(
    'starts again unasked',
    "(e.status in ('started', 'unknown') and t.again)",
    "e.status in ('started', 'unknown')",
  ),
  start(
    'repeats what is settled',
    "in ('started', 'unknown') and t.again",
    "in ('started', 'unknown', 'settled') and t.again",
  ),
  start(
    'takes a repeat for a consent',
    "(e.status = 'intended' and (e.approval = 'auto' or",
    "(e.status = 'intended' and (t.again or e.approval = 'auto' or",
  ),
  start('takes every call for automatic', "e.approval = 'auto' or exists", 'true or exists'),
  start('knows no automatic call', "e.approval = 'auto' or exists", 'exists'),
  start('takes any consent of the call', 'and c.id = t.confirmation\n                    and c.status', 'and c.status'),
  start(
    'takes the consent of any run',
    'c.tenant_id = r.tenant_id and c.run_id = r.id and c.step = t.step and',
    'c.tenant_id = r.tenant_id and c.step = t.step and',
  ),
  start(
    'takes the consent of any step',
    'c.run_id = r.id and c.step = t.step and c.position',
    'c.run_id = r.id and c.position',
  ),
  start(
    'takes the consent of a sibling',
    'c.step = t.step and c.position = t.position\n                    and c.id',
    'c.step = t.step\n                    and c.id',
  ),
  start('drops the approval', "c.status = 'approved' and c.execute_by > now()\n", 'c.execute_by > now()\n'),
  start('drops the time of the approval', ' and c.execute_by > now()\n', '\n'),
  start('takes an approval without a time', 'c.execute_by > now()\n', 'coalesce(c.execute_by > now(), true)\n'),
  start('drops the hash of the confirmed arguments', 'and c.params_hash = t.arguments_hash'),
  start('drops the version of the resource', 'and c.resource_version is not distinct from t.resource_version'),
  start(
    'takes a missing version for any',
    'c.resource_version is not distinct from t.resource_version',
    'coalesce(c.resource_version = t.resource_version, true)',
  ),
  start(
    'uses up the approval of a sibling',
    "c.run_id = t.run and c.id = t.confirmation and c.status = 'approved';",
    "c.run_id = t.run and c.status = 'approved';",
  ),
  start('does not use the approval up', "set status = 'consumed', consumed_at", 'set consumed_at'),
  start('does not count the attempt', 'attempt = e.attempt + 1', 'attempt = e.attempt'),
  start('does not raise the version', 'set version = r.version + 1, commits', 'set commits'),
  start(
    'joins without the tenant',
    'where r.tenant_id = t.tenant and r.environment = t.environment and r.id = t.run\n      and r.version',
    'where r.environment = t.environment and r.id = t.run\n      and r.version',
    held,
  ),
  start(
    'joins without the environment',
    'where r.tenant_id = t.tenant and r.environment = t.environment and r.id = t.run\n      and r.version',
    'where r.tenant_id = t.tenant and r.id = t.run\n      and r.version',
    held,
  ),

  decide('drops the pending state', "and c.status = 'pending'\n"),
  decide('drops the expiry', 'and c.expires_at > now()\n'),
  decide('drops the version', 'and c.version = t.version\n'),
  decide('drops the hash', 'and c.params_hash = t.params_hash\n'),
  decide('lets anybody decide', 'and t.actor = any (c.confirmers)\n'),
  decide('decides for ended runs', "and r.status in ('queued', 'running', 'waiting_confirmation') and", 'and'),
  decide(
    'drops the reason of the wait',
    "case when r.status = 'waiting_confirmation' then 'confirmation' end",
    'r.wait_reason',
  ),
  decide('drops the cancel mark', 'and r.cancel_cause is null and', 'and'),
  decide('drops the deadline', ' and r.deadline_at > now())', ')'),
  decide(
    'does not wake the run',
    "case when r.status = 'waiting_confirmation' then 'queued' else r.status end",
    'r.status',
  ),
  decide(
    'approves what was rejected',
    "set\n      status = case when t.approve then 'approved' else 'rejected' end",
    "set\n      status = 'approved'",
  ),
  decide(
    'leaves no trace',
    "insert into plimsoll.audit (tenant_id, id, environment, run_id, actor_kind, actor, action, target, outcome, reason)\n      values (t.tenant, t.audit, t.environment, t.run, t.actor_kind, t.actor, 'confirmation.decide', t.confirmation,\n        case when t.approve then 'approved' else 'rejected' end, t.reason);",
  ),
  decide('joins without the tenant', 'where c.tenant_id = t.tenant and c.environment', 'where c.environment', held),
  decide(
    'joins without the environment',
    'c.environment = t.environment and c.run_id = t.run and c.id = t.confirmation\n      and',
    'c.run_id = t.run and c.id = t.confirmation\n      and',
    held,
  ),

  cancel('drops the version', 'and x.version = t.version and', 'and'),
  cancel('cancels what nobody drives', "and x.status = 'running' and", 'and'),
  cancel('overwrites the first cause', ' and x.cancel_cause is null'),
  cancel('joins without the tenant', 'where x.tenant_id = t.tenant and x.environment', 'where x.environment', held),
  cancel('joins without the environment', 'and x.environment = t.environment', '', held),

  submit('drops the version', 'and x.version = coalesce(t.session_version, 1)'),
  submit('answers to a closed conversation', 'and x.closed_at is null\n', '\n'),
  submit('replaces runs of another conversation', 'and r.session_id = t.session'),
  submit('marks what has ended', "\n      and r.status in ('queued', 'running', 'waiting_confirmation');", ';'),
  submit('leaves the replaced asleep', "case when r.status = 'running' then r.due_at else now() end", 'r.due_at'),
  submit('replaces nothing', "set cancel_cause = coalesce(r.cancel_cause, 'superseded'), version", 'set version'),
  submit('does not count the generation', 'generation = x.generation + 1', 'generation = x.generation'),
  submit(
    'forgets who took the key',
    "if not found then raise exception using errcode = 'PL001', message = 'idempotency key taken over'; end if;",
  ),
  submit('answers a key twice', 'and i.run_id = t.run and i.status is null', 'and i.run_id = t.run'),
  submit('completes the key of another', 'and i.run_id = t.run and', 'and', held),
  submit(
    'joins without the tenant',
    'where x.tenant_id = t.tenant and x.environment = t.environment and x.id = t.session and x.closed_at',
    'where x.environment = t.environment and x.id = t.session and x.closed_at',
    held,
  ),
  submit(
    'joins without the environment',
    'where x.tenant_id = t.tenant and x.environment = t.environment and x.id = t.session and x.closed_at',
    'where x.tenant_id = t.tenant and x.id = t.session and x.closed_at',
    held,
  ),

  claim('takes what is driven or ended', "q.status in ('queued', 'waiting_confirmation') and q.due_at", 'q.due_at'),
  claim('drops the time', ' and q.due_at <= now()\n', '\n', held),
  claim('takes the agents of others', 'q.agent = any (p_agents) or q.deadline_at <= now()', 'true'),
  claim('leaves what is over to the right agent', ' or q.deadline_at <= now())', ')'),
  claim('drops the older generations', 'and older.generation < q.generation', 'and false'),
  claim('compares across branches', ' and older.branch = q.branch\n', '\n'),
  claim('compares across tenants', 'older.tenant_id = q.tenant_id and older.session_id', 'older.session_id'),
  claim('waits for the ended', " and older.status in ('queued', 'running', 'waiting_confirmation'))", ')', held),
  claim('drops the lease', 'and w.lease_until > now())', ')'),
  claim(
    'lets the unknown claim',
    'and exists (select from plimsoll.worker w where w.id = p_worker and w.lease_until > now())',
  ),
  claim('takes any order', 'order by q.due_at', 'order by q.due_at desc'),
  claim('knows no limit', 'limit p_limit'),
  claim('does not raise the epoch', 'epoch = r.epoch + 1', 'epoch = r.epoch'),
  claim('does not raise the version', 'version = r.version + 1, started_at', 'started_at'),
  claim('waits for another claim', 'for update skip locked', '', { concurrent: true }),

  reap(
    'takes from the living',
    "and (q.progress_at + q.progress_ms * interval '1 millisecond' <= now()\n        or not exists (select from plimsoll.worker w where w.id = q.worker_id and w.lease_until > now()))",
    '',
    held,
  ),
  reap(
    'leaves what hangs',
    "q.progress_at + q.progress_ms * interval '1 millisecond' <= now()\n        or not exists",
    'not exists',
  ),
  reap('counts from the start', 'q.progress_at + q.progress_ms', 'q.started_at + q.progress_ms'),
  reap(
    'counts seconds for milliseconds',
    "q.progress_ms * interval '1 millisecond'",
    "q.progress_ms * interval '1 second'",
  ),
  claim('forgets when it was', ', progress_at = now()'),
  step('forgets when it was', ' progress_at = now(),'),
  start('forgets when it was', ', progress_at = now()'),
  reap(
    'believes every worker that is listed',
    'where w.id = q.worker_id and w.lease_until > now()',
    'where w.id = q.worker_id',
  ),
  reap('takes what nobody drives', "where q.status = 'running'\n      and", 'where'),
  reap('does not count the loss', ', attempts = r.attempts + 1'),
  reap('does not raise the version', 'version = r.version + 1, attempts', 'attempts'),
  reap('knows no limit', 'limit p_limit'),

  layDown('lets the fenced lay down', ' and x.epoch = p_epoch'),
  layDown('lets others lay down', ' and x.worker_id = p_worker'),
  layDown('does not count the loss', 'attempts = x.attempts + 1, '),
  layDown('does not raise the version', 'version = x.version + 1,\n    attempts', 'attempts'),
  layDown('looks again at once', 'now() + least(2 ^ least(x.attempts, 20), 300)', 'now() + least(0, 300)'),
  layDown('waits for ever', 'least(2 ^ least(x.attempts, 20), 300)', '(2 ^ least(x.attempts, 20))'),

  driven('tells of runs of others', 'r.worker_id = p_worker and'),
  driven('tells of every run as canceled', 'r.cancel_cause is not null', 'true'),

  close('drops the version', '\n      and x.version = coalesce(t.version, x.version)\n', '\n'),
  close('closes twice', ' and x.closed_at is null\n', '\n'),
  close('joins without the tenant', 'where x.tenant_id = t.tenant and x.environment', 'where x.environment', held),
  close('joins without the environment', 'and x.environment = t.environment', '', held),
  drop('takes any conversation', " and strpos(s.agent, '/') > 0", ''),
  drop('takes that of any tenant', 's.tenant_id = p_tenant and ', '', held),
  drop('takes that of any environment', 's.environment = p_environment and ', '', held),
  drop('takes every conversation of an errand', ' and s.id = p_session', '', held),
  open('opens what is there', 'on conflict do nothing', 'on conflict (tenant_id, id) do update set version = 9'),

  wall('forgets the tenant', "tenant_id = nullif(current_setting('app.tenant', true), '')\n    and", ''),
  wall('forgets the environment', "and environment = nullif(current_setting('app.environment', true), '')"),
  wall(
    'takes no tenant for every tenant',
    '$$tenant_id = nullif',
    "$$nullif(current_setting('app.tenant', true), '') is null or tenant_id = nullif",
  ),
  wall(
    'checks what is read and not what is written',
    'using (%s) with check (%s)$, t.name, tenant_key, tenant_key'.replace('$', "'"),
    "using (%s) with check (true)', t.name, tenant_key",
  ),
  wall('opens the list of the batch', 'using (%s) with check (%s)$p$', 'using (true) with check (true)$p$'),
  wall(
    'lists runs without their tenant',
    "'|' || tenant_id || '/' || environment || '/' || %s || '|'",
    "'/' || environment || '/' || %s || '|'",
  ),
  wall('leaves a table out', "('run', 'id'), ", ''),
]
