/** Faults in what guards compensations and runs that nobody follows. See mutations.ts for what a mutation is. */

type Plant<M> = (what: string, find: string, replace?: string, more?: { readonly concurrent?: true }) => M

export const answerMutations = <M>({
  step,
  submit,
  attend,
  abandon,
  driven,
}: Readonly<Record<'step' | 'submit' | 'attend' | 'abandon' | 'driven', Plant<M>>>): readonly M[] => [
  step(
    'answers what another conversation did',
    '\n            and d.session_id = mine.session_id and',
    '\n            and',
  ),
  step('answers what another user did', ' and d.user_id = mine.user_id'),
  step('answers what another tenant did', 'on d.tenant_id = mine.tenant_id and d.environment', 'on d.environment'),
  step('answers what another environment did', ' and d.environment = mine.environment'),
  step('answers any tool', ' and d.tool = e.compensated_tool'),
  step('answers a read', "d.level <> 'read' and "),
  step('answers what has not ended', "d.status = 'settled' and d.outcome = 'ok'", "d.outcome is distinct from 'error'"),
  step('answers what failed', " and d.outcome = 'ok')\n        or", ')\n        or'),
  step('answers twice', "\n            and (o.outcome is null or o.outcome = 'ok'))))", ' and false)))'),
  step(
    'answers what was tried in vain never again',
    "\n            and (o.outcome is null or o.outcome = 'ok'))))",
    ')))',
  ),
  step('answers twice in one step', 'count(e.compensates) <> count(distinct e.compensates)', 'false'),
  step('answers side by side', "if strpos(wall, '/effect:') > 0 then", 'if false then', { concurrent: true }),
  step('forgets what is answered', 'e.result_hash, e.compensates, case', 'e.result_hash, null, case'),
  submit('wakes what waits for something else', "\n      and r.wait_reason = 'follower'"),
  submit(
    'wakes runs of other conversations',
    'and r.session_id = t.session\n      and r.wait_reason',
    'and r.wait_reason',
  ),
  submit(
    'leaves asleep who was waited for',
    'set followed_until = null, due_at = now(),',
    'set followed_until = null,',
  ),
  submit('believes that nobody is there', 'set followed_until = null, due_at', 'set due_at'),
  attend(
    'leaves asleep who is followed again',
    "case when r.wait_reason = 'follower' then now() else r.due_at end",
    'r.due_at',
  ),
  attend('wakes whatever waits', "case when r.wait_reason = 'follower' then now() else r.due_at end", 'now()'),
  attend('forgets what becomes of it', 'parks_alone = p_parks', 'parks_alone = r.parks_alone'),
  abandon('ends what parks', '\n      and not q.parks_alone\n', '\n'),
  driven('parks what should end', 'r.parks_alone and coalesce', 'coalesce'),
  driven('parks what is followed', 'coalesce(r.followed_until < now(), false)', 'true'),
]
