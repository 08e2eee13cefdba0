-- name: openErrand
-- nothing happens when the same is under way; `at?` null is now
insert into plimsoll.errand (tenant_id, environment, id, kind, agent, session_id, user_id, subject_id, from_generation, to_generation, upto,
  due_at)
values (:tenant::text, :environment::text, :id::text, :kind::text, :agent::text, :session::text, :user::text, :subject::text,
  :from::int8, :to::int8, :upto::text, now() + :delayMs::int8 * interval '1 millisecond')
on conflict do nothing
returning id;

-- name: errandsUnderWay
select e.id from plimsoll.errand e
where e.tenant_id = :tenant::text and e.session_id = :session::text and e.kind = :kind::text and e.done_at is null;

-- name: dueErrands
-- crosses tenants: where something is left to do, and no content
select tenant as "tenant!", environment as "environment!", id as "id!" from plimsoll.errand_due(:limit::int);

-- name: failErrand
-- without a parameter that names its tenant: the keys of it may be what is missing
select plimsoll.errand_failed(:ofTenant::text, :ofEnvironment::text, :id::text) as "taken!";

-- name: takeErrand
-- Whoever takes it has it for a while, for longer each time that nothing came of it. One that is due gets the names of its next attempt before anything is done, so that the
-- attempt is found again whoever dies.
update plimsoll.errand e set due_at = now() + :holdMs::int8 * (2 ^ least(e.tries, 6)) * interval '1 millisecond',
  tries = e.tries + 1, attempts = e.attempts + (e.state = 'due')::int,
  work_session = case e.state when 'due' then :workSession::text else e.work_session end,
  run_id = case e.state when 'due' then :run::text else e.run_id end,
  state = case e.state when 'due' then 'running' else e.state end
where e.tenant_id = :tenant::text and e.environment = :environment::text and e.id = :id::text and e.done_at is null and e.due_at <= now()
returning e.id, e.kind, e.agent, e.session_id as "session", e.user_id as "user", e.subject_id as "subject",
  e.from_generation as "from", e.to_generation as "to", e.upto, e.state, e.work_session as "workSession", e.run_id as "run",
  e.outcome, e.attempts, e.tries;

-- name: wakeErrand
update plimsoll.errand e set due_at = now() where e.tenant_id = :tenant::text and e.run_id = :run::text and e.done_at is null;

-- name: restErrand
-- nothing when it is somebody else's by now, or was left
update plimsoll.errand e set due_at = now() + :ms::int8 * interval '1 millisecond', tries = 0
where e.tenant_id = :tenant::text and e.id = :id::text and e.done_at is null and e.state = 'running' and e.run_id = :run::text
returning e.id;

-- name: endAttempt
-- `outcome?` null: there will be another attempt
update plimsoll.errand e set state = 'clearing', outcome = :outcome?::text, tries = 0
where e.tenant_id = :tenant::text and e.id = :id::text and e.state = 'running' and e.run_id = :run::text;

-- name: leaveErrands
-- what is forgotten must not come back out of an errand that has read it
update plimsoll.errand e set state = 'clearing', outcome = 'forgotten', due_at = now()
where e.tenant_id = :tenant::text and e.environment = :environment::text and e.done_at is null and e.outcome is distinct from 'forgotten'
  and (e.session_id = any (:sessions::text[]) or exists (select from unnest(:runs::text[]) x join plimsoll.run r on r.tenant_id = e.tenant_id
    and r.id = x where r.session_id = e.session_id and r.generation between e.from_generation and e.to_generation))
returning e.id;

-- name: errandsToClear
-- what was forgotten and may still be told to a model
select e.id, e.work_session as "workSession", e.run_id as "run" from plimsoll.errand e
where e.tenant_id = :tenant::text and e.environment = :environment::text and e.done_at is null and e.state = 'clearing'
  and e.outcome = 'forgotten' order by e.id;

-- name: clearErrand
select removed as "removed!", active as "active!" from plimsoll.forget_session(:tenant::text, :environment::text, :session::text, :blank::bytea, :blankPlan::bytea);

-- name: dropWorkSession
-- when nothing is left in it: the runs of an attempt stay, they say what it cost
select plimsoll.drop_session(:tenant::text, :environment::text, :session::text) as "n!";

-- name: closeErrand
-- done, or due again when its attempt had no outcome
update plimsoll.errand e set done_at = case when e.outcome is not null then now() end,
  due_at = now() + :delayMs::int8 * interval '1 millisecond',
  state = case when e.outcome is null then 'due' else 'done' end, tries = 0
where e.tenant_id = :tenant::text and e.id = :id::text and e.state = 'clearing'
returning e.state;

-- name: errandRun
select r.status, r.end_reason as "end" from plimsoll.run r where r.tenant_id = :tenant::text and r.id = :run::text;

-- name: errandReport
-- what came of errands: no content
select e.agent, e.kind, e.outcome as "outcome!", count(*)::int8 as "errands!", sum(e.attempts)::int8 as "attempts!" from plimsoll.errand e
where e.tenant_id = :tenant::text and e.environment = :environment::text and e.done_at is not null and e.outcome is not null
group by e.agent, e.kind, e.outcome order by e.agent, e.kind, e.outcome;
