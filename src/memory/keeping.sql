-- name: walls
-- crosses tenants: where something is remembered, and no content
select tenant as "tenant!", environment as "environment!" from plimsoll.memory_walls(:afterTenant::text, :afterEnvironment::text, :limit::int);

-- name: unscanned
-- what the detectors of today have not seen: the memory with all that it holds
select m.id, m.version, m.key, m.value, m.detectors from plimsoll.memory m
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.detectors < :detectors::int and m.deleted_at is null
order by m.id limit :limit::int;

-- name: pastOf
select v.memory_id as memory, v.version, v.value as "value!" from plimsoll.memory_version v
where v.tenant_id = :tenant::text and v.environment = :environment::text and v.memory_id = any (:ids::text[]) and v.value is not null;

-- name: quotesOf
select s.memory_id as memory, s.kind, s.ref, s.quote as "quote!" from plimsoll.memory_source s
where s.tenant_id = :tenant::text and s.environment = :environment::text and s.memory_id = any (:ids::text[]) and s.quote is not null;

-- name: markScanned
-- What was found bars the memory, or takes away the version or the quote that holds it. A memory that changed meanwhile was
-- judged by whoever changed it.
with seen as (
  update plimsoll.memory m set detectors = :detectors::int, status = case when :barred::boolean then 'barred' else m.status end
  where m.tenant_id = :tenant::text and m.environment = :environment::text and m.id = :id::text and m.version = :version::int8
    and m.deleted_at is null
  returning m.id
), versions as (
  update plimsoll.memory_version v set value = null, value_hash = '' from seen
  where v.tenant_id = :tenant::text and v.memory_id = seen.id and v.version = any (:versions::text[]::int8[])
), quotes as (
  update plimsoll.memory_source s set quote = null from seen
  where s.tenant_id = :tenant::text and s.memory_id = seen.id and s.kind || ' ' || s.ref = any (:quotes::text[])
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select :tenant::text, :environment::text, :audit::text, 'operator', 'plimsoll', 'memory.bar', seen.id,
    case when :barred::boolean then 'barred' else 'cut' end
  from seen where :barred::boolean or cardinality(:versions::text[]) > 0 or cardinality(:quotes::text[]) > 0
)
select id as "id!" from seen;

-- name: cool
-- neither used nor written for as long as its kind allows: `days` stand in the order of `kinds`
update plimsoll.memory m set status = 'cold'
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.deleted_at is null and m.status = 'active' and m.id in (
  select c.id from plimsoll.memory c
  where c.tenant_id = :tenant::text and c.environment = :environment::text and c.deleted_at is null and c.status = 'active'
    and greatest(c.recorded_at, c.last_used_at)
      < now() - (:days::text[]::int[])[array_position(:kinds::text[], c.kind::text)] * interval '1 day'
  order by c.id limit :limit::int for update of c skip locked)
returning m.id;

-- name: unvectored
-- memories without a vector of their version and of this model
select m.id as "id!" from plimsoll.memory m
left join plimsoll.memory_vector v on v.tenant_id = m.tenant_id and v.environment = m.environment and v.place = m.place and v.memory_id = m.id
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.deleted_at is null and m.status in ('active', 'cold')
  and (v.version is distinct from m.version or v.model is distinct from :model::text)
order by m.id limit :limit::int;

-- name: evictable
-- what a subject has that no person has confirmed
select m.id as "id!", m.kind as "kind!", m.status as "status!", m.importance, m.confidence, m.use_count as "useCount",
  (extract(epoch from m.recorded_at) * 1000)::int8 as "recordedAt!", coalesce(m.expires_at <= now(), false) as "expired!"
from plimsoll.memory m
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.subject_id = :subject::text and m.deleted_at is null
  and m.confirmed_by is null
  -- a rule would end with it
  and not exists (select from plimsoll.procedure p where p.tenant_id = m.tenant_id and p.status = 'approved' and m.id = any (p.sources));
