-- name: tenantKeys
select k.epoch, k.kek, k.wrapped, extract(epoch from now() - k.created_at)::float8 * 1000 as "ageMs!",
  k.destroyed_at is not null as "destroyed!"
from plimsoll.tenant_key k where k.tenant_id = :tenant::text order by k.epoch;

-- name: insertTenantKey
-- A tenant that was destroyed keeps the rows of its keys, so that it never gets another one. Of two that make the same epoch
-- one wins.
insert into plimsoll.tenant_key (tenant_id, epoch, environment, kek, wrapped)
select :tenant::text, :epoch::int4, :environment::text, :kek::text, :wrapped::bytea
where not exists (select from plimsoll.tenant_key k where k.tenant_id = :tenant::text and k.destroyed_at is not null)
on conflict do nothing
returning epoch;

-- name: rewrapTenantKey
update plimsoll.tenant_key set kek = :kek::text, wrapped = :wrapped::bytea
where tenant_id = :tenant::text and epoch = :epoch::int4 and kek = :from::text and destroyed_at is null
returning epoch;

-- name: keysUnderOthers
select k.tenant as "tenant!", k.kek as "kek!" from plimsoll.keys_under_others(:keks::text[], :limit::int4) k;
