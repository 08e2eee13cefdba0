-- name: step
select n as "n!", version as "version!" from plimsoll.step(:transitions::jsonb, :keys::text[], :worker::text);

-- name: load
select plimsoll.load(:tenant::text, :environment::text, :run::text) as "snapshot?";

-- name: cancel
select n as "n!", version as "version!" from plimsoll.cancel(:cancels::jsonb, :keys::text[]);

-- name: submit
select n as "n!", outcome as "outcome!", session_version as "sessionVersion?", generation as "generation?"
from plimsoll.submit(:submissions::jsonb, :keys::text[]);

-- name: tell
select n as "n!", outcome as "outcome!", waiters as "waiters!" from plimsoll.tell(:told::jsonb, :keys::text[]);

-- name: attend
select plimsoll.attend(:tenant::text, :environment::text, :run::text, :ms::int8, :parks::boolean) as "followed!";

-- name: before
-- what a submission must know: the conversation, its active runs, and how long its transcript is
select s.version, s.generation, s.agent, s.user_id as "user", s.subject_id as subject, s.closed_at is not null as "closed!",
  coalesce((select jsonb_agg(jsonb_build_object('run', r.id, 'status', r.status, 'phase', r.phase, 'wait', r.wait_reason) order by r.generation)
    from plimsoll.run r where r.tenant_id = s.tenant_id and r.session_id = s.id
      and r.status in ('queued', 'running', 'waiting_confirmation')), '[]') as "active!",
  coalesce((select sum(m.tokens) from plimsoll.run r join plimsoll.message m on m.tenant_id = r.tenant_id and m.run_id = r.id
    where r.tenant_id = s.tenant_id and r.session_id = s.id), 0)::int8 as "tokens!",
  -- the last message that people see: what is between the model and its tools is nobody's parent
  (select m.run_id || '.' || m.seq from plimsoll.run r join plimsoll.message m on m.tenant_id = r.tenant_id and m.run_id = r.id
    where r.tenant_id = s.tenant_id and r.session_id = s.id and m.visibility = 'user'
    order by r.generation desc, m.seq desc limit 1) as "head?"
from plimsoll.session s where s.tenant_id = :tenant::text and s.id = :session::text;

-- name: openSession
select n as "n!" from plimsoll.open_session(:sessions::jsonb, :keys::text[]);

-- name: audited
-- whether a person has said exactly this before
select exists (select from plimsoll.audit a where a.tenant_id = :tenant::text and a.run_id = :run::text and a.action = :action::text
  and a.target = :target::text and a.actor = :actor::text and a.outcome = :outcome::text and a.reason is not distinct from :reason?::text) as "found!";
