-- safe with the version before: yes
--
-- What the app plane needs: a conversation can be closed, and a credential can be found by its id.

grant create on schema plimsoll to plimsoll_step;
set local role plimsoll_owner;

-- a token names the key that it was made with, and dies with it
create unique index credential_id on plimsoll.credential (tenant_id, id);
-- COMMIT S counts the attempts of an effect, so it must see the count
grant select (attempt) on plimsoll.effect to plimsoll_step;

reset role;
set local role plimsoll_step;

-- A closed conversation takes no message any more; its runs go on, since their life is their own (A5, A12).
create function plimsoll.close_session(p jsonb, p_keys text[])
returns table (n int, version int8)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
#variable_conflict use_column
begin
  perform set_config('app.batch', p_keys::text, true);
  return query
  with t as materialized (
    select * from rows from (jsonb_to_recordset(p) as (tenant text, environment text, session text, version int8))
      with ordinality as t(tenant, environment, session, version, n) order by tenant, session
  ),
  u as (
    update plimsoll.session x set closed_at = now(), version = x.version + 1
    from t
    where x.tenant_id = t.tenant and x.environment = t.environment and x.id = t.session and x.closed_at is null
      and x.version = coalesce(t.version, x.version)
    returning t.n, x.version
  )
  select u.n::int, u.version from u;
  perform set_config('app.batch', '', true);
end $f$;
revoke all on function plimsoll.close_session(jsonb, text[]) from public;
grant execute on function plimsoll.close_session(jsonb, text[]) to plimsoll_app;

reset role;
revoke create on schema plimsoll from plimsoll_step;
