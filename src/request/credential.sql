-- name: insertCredential
with known as (insert into plimsoll.tenant (id) values (:tenant::text) on conflict do nothing)
insert into plimsoll.credential (hash, tenant_id, environment, id, kind, user_id, permissions)
values (:hash::bytea, :tenant::text, :environment::text, :id::text, :kind::text, :user::text, :permissions::text[])
returning id;

-- name: credentialByHash
-- a revoked one is found and refused, so that both cost the same
select c.tenant_id as tenant, c.environment, c.id, c.kind, c.user_id as "user", c.permissions, c.revoked_at is not null as "revoked!"
from plimsoll.credential c where c.hash = :hash::bytea;

-- name: liveCredential
select c.id from plimsoll.credential c where c.tenant_id = :tenant::text and c.id = :id::text and c.revoked_at is null;

-- name: revokeCredential
update plimsoll.credential set revoked_at = now() where tenant_id = :tenant::text and environment = :environment::text
  and id = :id::text and revoked_at is null returning id;
