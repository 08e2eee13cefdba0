-- name: sessionDetail
select s.id, s.agent, s.user_id as "user", s.subject_id as subject, s.version, s.generation,
  (extract(epoch from s.closed_at) * 1000)::int8 as "closedAt?", (extract(epoch from s.created_at) * 1000)::int8 as "createdAt!",
  coalesce((select jsonb_agg(jsonb_build_object('run', r.id, 'status', r.status, 'phase', r.phase, 'wait', r.wait_reason) order by r.generation)
    from plimsoll.run r where r.tenant_id = s.tenant_id and r.session_id = s.id
      and r.status in ('queued', 'running', 'waiting_confirmation')), '[]') as "active!",
  (select m.run_id || '.' || m.seq from plimsoll.run r join plimsoll.message m on m.tenant_id = r.tenant_id and m.run_id = r.id
    where r.tenant_id = s.tenant_id and r.session_id = s.id and m.visibility = 'user'
    order by r.generation desc, m.seq desc limit 1) as "head?"
from plimsoll.session s
where s.tenant_id = :tenant::text and s.id = :session::text and (:user::text = '' or (s.user_id = :user::text and strpos(s.agent, '/') = 0));

-- name: sessionList
-- newest first: the time stands at the front of an id
select s.id, s.agent, s.user_id as "user", s.subject_id as subject, s.version, s.generation,
  (extract(epoch from s.closed_at) * 1000)::int8 as "closedAt?", (extract(epoch from s.created_at) * 1000)::int8 as "createdAt!",
  coalesce((select jsonb_agg(jsonb_build_object('run', r.id, 'status', r.status, 'phase', r.phase, 'wait', r.wait_reason) order by r.generation)
    from plimsoll.run r where r.tenant_id = s.tenant_id and r.session_id = s.id
      and r.status in ('queued', 'running', 'waiting_confirmation')), '[]') as "active!"
from plimsoll.session s
where s.tenant_id = :tenant::text and (:user::text = '' or (s.user_id = :user::text and strpos(s.agent, '/') = 0)) and (:agent::text = '' or s.agent = :agent::text)
  and (:after::text = '' or s.id < :after::text)
order by s.id desc limit :limit::int;

-- name: sessionMessages
-- what people see of the conversation, oldest first; the parent of an answer is the visible message before it in its run
select v.run as "run!", v.seq as "seq!", v.generation as "generation!", v.role as "role!", v.body as "body!", v.hash as "hash!",
  v.partial as "partial!", v.parent as "parent?", v.at as "at!"
from (
  select m.run_id as run, m.seq, r.generation, m.role, m.body, m.content_hash as hash, m.partial,
    coalesce(m.parent_message, m.run_id || '.' || lag(m.seq) over (partition by m.run_id order by m.seq)) as parent,
    (extract(epoch from m.created_at) * 1000)::int8 as at
  from plimsoll.run r join plimsoll.message m on m.tenant_id = r.tenant_id and m.run_id = r.id
  where r.tenant_id = :tenant::text and r.session_id = :session::text and m.visibility = 'user'
) v
where v.generation > :generation::int8 or (v.generation = :generation::int8 and v.seq > :seq::int)
order by v.generation, v.seq limit :limit::int;

-- name: closeSession
select n as "n!", version as "version!" from plimsoll.close_session(:sessions::jsonb, :keys::text[]);
