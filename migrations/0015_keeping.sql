-- safe with the version before: yes
--
-- Whose memories are looked after: the tenants and environments that remember anything, one page after the other. Each step
-- is one look into the index, however many memories a tenant has.

set local role plimsoll_owner;
-- where something is remembered, and not what or of whom
create policy walls on plimsoll.memory for select to plimsoll_retain using (deleted_at is null);
grant select (tenant_id, environment, deleted_at) on plimsoll.memory to plimsoll_retain;
reset role;

grant create on schema plimsoll to plimsoll_retain;
set local role plimsoll_retain;

create function plimsoll.memory_walls(p_tenant text, p_environment text, p_limit int)
returns table (tenant text, environment text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $f$
declare last record;
begin
  select p_tenant as tenant, p_environment as environment into last;
  for i in 1 .. p_limit loop
    select m.tenant_id as tenant, m.environment as environment into last from plimsoll.memory m
    where m.deleted_at is null and (m.tenant_id, m.environment) > (last.tenant, last.environment) order by m.tenant_id, m.environment limit 1;
    exit when not found;
    tenant := last.tenant; environment := last.environment;
    return next;
  end loop;
end $f$;

reset role;
revoke create on schema plimsoll from plimsoll_retain;
revoke all on function plimsoll.memory_walls(text, text, int) from public;
grant execute on function plimsoll.memory_walls(text, text, int) to plimsoll_app;
