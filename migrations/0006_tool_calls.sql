-- safe with the version before: yes
--
-- When a tool that has a rate was called. One row per tenant and tool holds the starts that the limit is counted from, so
-- that the limit holds over all workers; the row's lock orders them.

set local role plimsoll_owner;

create table plimsoll.tool_calls (
  tenant_id   text not null,
  environment text not null,
  tool        text not null,
  -- oldest first, as many as the contract allows in its span
  starts      timestamptz[] not null,
  primary key (tenant_id, environment, tool)
);

insert into plimsoll.tool_calls (tenant_id, environment, tool, starts)
select 'example', 'production', 'tool' || n, array[now()] from generate_series(1, 100) n;
analyze plimsoll.tool_calls;
truncate plimsoll.tool_calls;
alter table plimsoll.tool_calls set unlogged;
alter table plimsoll.tool_calls set logged;

do $wall$
begin
  alter table plimsoll.tool_calls enable row level security;
  alter table plimsoll.tool_calls force row level security;
  create policy tenant on plimsoll.tool_calls for all to plimsoll_app
    using (tenant_id = nullif(current_setting('app.tenant', true), '') and environment = nullif(current_setting('app.environment', true), ''))
    with check (tenant_id = nullif(current_setting('app.tenant', true), '') and environment = nullif(current_setting('app.environment', true), ''));
end $wall$;

grant select, insert, update (starts) on plimsoll.tool_calls to plimsoll_app;
reset role;
