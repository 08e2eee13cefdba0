-- name: proposeProcedure
-- The sources are held while it is written: who forgets one of them finds the procedure. One success is no rule: what it comes from
-- happened on several occasions. An occasion is a conversation, and what somebody wrote without one.
with recursive held as (
  select m.id, m.version from plimsoll.memory m
  where m.tenant_id = :tenant::text and m.environment = :environment::text and m.id = any (:sources::text[]) and m.kind = 'experience'
    and m.status in ('active', 'cold') and m.deleted_at is null and (m.expires_at is null or m.expires_at > now())
  order by m.id for share
), trail as (
  -- down to what was said and done: a memory that was drawn from another one is no occasion of its own
  select s.tenant_id, s.memory_id, s.kind, s.ref, s.run_id from held join plimsoll.memory_source s
    on s.tenant_id = :tenant::text and s.memory_id = held.id and s.role = 'evidence'
  union
  select s.tenant_id, s.memory_id, s.kind, s.ref, s.run_id from trail t join plimsoll.memory_source s
    on t.kind = 'memory' and s.tenant_id = t.tenant_id and s.memory_id = t.ref and s.role = 'evidence'
), occasions as (
  select count(distinct case when s.kind in ('message', 'call') then coalesce(r.session_id, s.run_id, substring(s.ref from '^[^./]+'))
    else s.memory_id end) as n
  from trail s
  left join plimsoll.run r on r.tenant_id = s.tenant_id and r.id = coalesce(s.run_id, substring(s.ref from '^[^./]+'))
  where s.kind <> 'memory'
), all_of as (
  select array_agg(id order by id) as ids, array_agg(version order by id) as versions, count(*) as n from held
), made as (
  insert into plimsoll.procedure (tenant_id, environment, id, name, version, body, body_hash, sources, source_versions, proposed_by)
  select :tenant::text, :environment::text, :id::text, :name::text,
    1 + coalesce((select max(p.version) from plimsoll.procedure p where p.tenant_id = :tenant::text and p.environment = :environment::text
      and p.name = :name::text), 0), :body::bytea, :hash::text, a.ids, a.versions, :actor::text
  from all_of a, occasions o where a.n = cardinality(:sources::text[]) and o.n >= :occasions::int
  on conflict (tenant_id, environment, name, version) do nothing
  returning id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
  select :tenant::text, :environment::text, :audit::text, 'operator', :actor::text, 'procedure.propose', made.id, 'proposed', :reason::text from made
)
select coalesce((select id from made), '') as "id!", (select n = cardinality(:sources::text[]) from all_of) as "complete!",
  (select n >= :occasions::int from occasions) as "often!";

-- name: procedures
-- newest first, or one; without their texts where `body` is false
select p.id, p.name, p.version, case when :body::boolean then p.body else ''::bytea end as "body!", p.body_hash as hash, p.status, p.sources,
  to_jsonb(p.source_versions) as "sourceVersions!", p.evaluation, p.score, p.passed, p.proposed_by as "proposedBy", p.approved_by as "approvedBy",
  (extract(epoch from p.created_at) * 1000)::int8 as "createdAt!", (extract(epoch from p.evaluated_at) * 1000)::int8 as "evaluatedAt?",
  (extract(epoch from p.approved_at) * 1000)::int8 as "approvedAt?", (extract(epoch from p.ended_at) * 1000)::int8 as "endedAt?",
  (extract(epoch from coalesce(p.forgotten_at, (select min(t.created_at) from plimsoll.tombstone t where t.tenant_id = p.tenant_id
    and t.kind = 'memory' and t.id = any (p.sources)))) * 1000)::int8 as "forgottenAt?"
from plimsoll.procedure p
where p.tenant_id = :tenant::text and p.environment = :environment::text and (:id::text = '' or p.id = :id::text)
  and (:name::text = '' or p.name = :name::text) and (:after::text = '' or p.id < :after::text)
order by p.id desc limit :limit::int;

-- name: evaluateProcedure
-- once: what has failed is not evaluated until it passes
with done as (
  update plimsoll.procedure p set status = 'evaluated', evaluation = :evaluation::text, score = :score::float8, passed = :passed::boolean,
    evaluated_at = now()
  where p.tenant_id = :tenant::text and p.environment = :environment::text and p.id = :id::text and p.status = 'proposed'
    and p.body_hash = :hash::text
  returning p.id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome)
  select :tenant::text, :environment::text, :audit::text, 'operator', :actor::text, 'procedure.evaluate', done.id,
    case when :passed::boolean then 'passed' else 'failed' end from done
)
select id as "id!" from done;

-- name: approveProcedure
-- The version is locked, and then the memories that it comes from, so that one that is being forgotten is seen. What stood before ends
-- in the same statement. When another version of the name is approved at this moment, `procedure_standing` refuses: it is sent again.
with wanted as (
  select p.id, p.name, p.sources, p.source_versions from plimsoll.procedure p
  where p.tenant_id = :tenant::text and p.environment = :environment::text and p.id = :id::text and p.status = 'evaluated' and p.passed
    and p.body_hash = :hash::text
  for update
), standing as (
  select m.id, m.version, m.status from plimsoll.memory m
  where m.tenant_id = :tenant::text and m.environment = :environment::text and m.deleted_at is null
    and m.id in (select unnest(w.sources) from wanted w) order by m.id for share
), good as (
  select w.id, w.name from wanted w where not exists (select from unnest(w.sources, w.source_versions) as s (id, version)
    where not exists (select from standing t where t.id = s.id and (t.version = s.version
      -- said once more, it is the same experience
      or t.status in ('active', 'cold') and t.version - s.version = (select count(*) from plimsoll.memory_version v
        where v.tenant_id = :tenant::text and v.memory_id = t.id and v.version > s.version and v.change in ('merged', 'late')))))
), ended as (
  update plimsoll.procedure p set status = 'retired', ended_at = now() from good
  where p.tenant_id = :tenant::text and p.environment = :environment::text and p.name = good.name and p.status = 'approved'
  returning p.id
), begun as (
  -- behind the end of the other one: there are never two
  update plimsoll.procedure p set status = 'approved', approved_by = :actor::text, approved_at = now()
  from good, (select count(*) as n from ended) as e
  where p.tenant_id = :tenant::text and p.id = good.id and e.n >= 0
  returning p.id
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
  select :tenant::text, :environment::text, :audit::text, 'operator', :actor::text, 'procedure.approve', begun.id, 'approved', :reason::text from begun
)
select id as "id!" from begun;

-- name: endProcedure
-- a rule is retired; what never was one is declined
with done as (
  update plimsoll.procedure p set status = case p.status when 'approved' then 'retired' else 'declined' end, ended_at = now()
  where p.tenant_id = :tenant::text and p.environment = :environment::text and p.id = :id::text and p.status = any (:standing::text[])
  returning p.id, p.status
), audited as (
  insert into plimsoll.audit (tenant_id, environment, id, actor_kind, actor, action, target, outcome, reason)
  select :tenant::text, :environment::text, :audit::text, 'operator', :actor::text,
    case done.status when 'retired' then 'procedure.retire' else 'procedure.decline' end, done.id, done.status, :reason::text from done
)
select id as "id!" from done;

-- name: standingProcedures
-- the rules of these names as they stand now, in the order of the names
select p.id, p.name, p.version, p.body, p.body_hash as hash from plimsoll.procedure p
where p.tenant_id = :tenant::text and p.environment = :environment::text and p.name = any (:names::text[]) and p.status = 'approved'
  -- what is gone is no rule from this moment on, also before its text is taken away
  and not exists (select from plimsoll.tombstone t where t.tenant_id = p.tenant_id and t.kind = 'memory'
    and t.id = any (p.sources))
order by array_position(:names::text[], p.name);

-- name: keptProcedures
-- what runs keep: rules that stood when they were made, and still have their text
select p.id, p.name, p.version, case when :body::boolean then p.body else ''::bytea end as "body!", p.body_hash as hash
from plimsoll.procedure p
where p.tenant_id = :tenant::text and p.environment = :environment::text and p.id = any (:ids::text[]) and p.approved_at is not null
  and p.forgotten_at is null and not exists (select from plimsoll.tombstone t where t.tenant_id = p.tenant_id and t.kind = 'memory'
    and t.id = any (p.sources))
order by array_position(:ids::text[], p.id);

-- name: forgetProcedures
-- what comes from a memory that is gone: its text goes, and it is no rule any more
update plimsoll.procedure p set body = ''::bytea, body_hash = '', forgotten_at = now(), ended_at = coalesce(p.ended_at, now()),
  status = case when p.approved_at is null then 'declined' else 'retired' end
where p.tenant_id = :tenant::text and p.environment = :environment::text and p.forgotten_at is null
  and (:only?::text[] is null or p.sources && :only?::text[])
  and exists (select from plimsoll.tombstone t where t.tenant_id = p.tenant_id and t.kind = 'memory' and t.id = any (p.sources))
returning p.id;
