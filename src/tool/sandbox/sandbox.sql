-- name: overSessions
-- of these conversations, those whose folders are needed no more: closed without an active run, or not there at all
select x.id as "id!" from unnest(:sessions::text[]) as x (id)
where not exists (
  select from plimsoll.session s where s.tenant_id = :tenant::text and s.id = x.id
    and (s.closed_at is null or exists (select from plimsoll.run r where r.tenant_id = s.tenant_id and r.session_id = s.id
      and r.status in ('queued', 'running', 'waiting_confirmation'))));
