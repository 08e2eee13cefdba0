-- name: claimKey
-- One statement inserts the claim, takes over one whose request died, or reads what is there. Until it is completed
-- `response` holds the token of whoever holds the claim.
insert into plimsoll.idempotency as i (tenant_id, caller, key, environment, operation, body_hash, run_id, response, expires_at)
values (:tenant::text, :caller::text, :key::text, :environment::text, :operation::text, :bodyHash::text, :run::text, :token::bytea,
  now() + :keepMs::int8 * interval '1 millisecond')
on conflict (tenant_id, environment, caller, key) do update set
  run_id = case when i.status is null and i.created_at < now() - :staleMs::int8 * interval '1 millisecond'
    and i.body_hash = excluded.body_hash and i.operation = excluded.operation then excluded.run_id else i.run_id end,
  response = case when i.status is null and i.created_at < now() - :staleMs::int8 * interval '1 millisecond'
    and i.body_hash = excluded.body_hash and i.operation = excluded.operation then excluded.response else i.response end,
  created_at = case when i.status is null and i.created_at < now() - :staleMs::int8 * interval '1 millisecond'
    and i.body_hash = excluded.body_hash and i.operation = excluded.operation then now() else i.created_at end
returning i.operation, i.body_hash as "bodyHash", i.status, i.response, i.expires_at <= now() as "expired!", xmax = 0 as "fresh!";

-- name: completeKey
update plimsoll.idempotency set status = :status::int, response = :response::bytea
where tenant_id = :tenant::text and environment = :environment::text and caller = :caller::text and key = :key::text
  and status is null and response = :token::bytea;

-- name: releaseKey
delete from plimsoll.idempotency
where tenant_id = :tenant::text and environment = :environment::text and caller = :caller::text and key = :key::text
  and status is null and response = :token::bytea;

-- name: forgetKeys
delete from plimsoll.idempotency where tenant_id = :tenant::text and expires_at <= now();
