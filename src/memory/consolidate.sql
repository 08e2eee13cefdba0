-- name: ripe
-- Places where memories of one key come from enough runs and are no part yet of what was drawn from them there. What was put
-- out of use, as its source was corrected, is drawn again; what ended by itself is not.
select m.scope as "scope!", m.scope_id as "scopeId!", m.place as "place!", m.subject_id as "subject!"
from plimsoll.memory m
join plimsoll.memory_source s on s.tenant_id = m.tenant_id and s.memory_id = m.id and s.role = 'evidence' and s.run_id is not null
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.key = :from::text and m.deleted_at is null
  and m.status = 'active' and (m.expires_at is null or m.expires_at > now())
  and (m.place, m.subject_id) > (:afterPlace::text, :afterSubject::text)
  and not exists (select from plimsoll.memory_source t join plimsoll.memory d on d.tenant_id = t.tenant_id and d.id = t.memory_id
    where t.tenant_id = m.tenant_id and t.kind = 'memory' and t.ref = m.id and t.role = 'evidence' and d.environment = m.environment
      and d.key = :key::text and d.place = m.place and d.subject_id = m.subject_id and d.deleted_at is null and d.status <> 'invalid')
group by m.scope, m.scope_id, m.place, m.subject_id
having count(distinct s.run_id) >= :atLeast::int
order by m.place, m.subject_id limit :limit::int;

-- name: episodes
-- Memories of one key at one place, once for each run that says what they say now: not what they said before they were
-- corrected, and not what was true before that.
select m.id as "memory!", m.version as "version!", m.value as "value!", s.run_id as "run!",
  (extract(epoch from max(s.created_at)) * 1000)::int8 as "at!",
  exists (select from plimsoll.memory_source t join plimsoll.memory d on d.tenant_id = t.tenant_id and d.id = t.memory_id
    where t.tenant_id = m.tenant_id and t.kind = 'memory' and t.ref = m.id and t.role = 'evidence' and d.environment = m.environment
      and d.key = :key::text and d.place = m.place and d.subject_id = m.subject_id and d.deleted_at is null and d.status <> 'invalid')
    as "isDrawn!"
from plimsoll.memory m
join plimsoll.memory_source s on s.tenant_id = m.tenant_id and s.memory_id = m.id and s.role = 'evidence' and s.run_id is not null
join plimsoll.memory_version v on v.tenant_id = s.tenant_id and v.memory_id = s.memory_id and v.version = s.version and v.change <> 'late'
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.key = :from::text and m.place = :place::text
  and m.subject_id = :subject::text and m.deleted_at is null and m.status = 'active' and (m.expires_at is null or m.expires_at > now())
  and not exists (select from plimsoll.memory_version w where w.tenant_id = v.tenant_id and w.memory_id = v.memory_id
    and w.version > v.version and w.change in ('superseded', 'corrected'))
group by m.tenant_id, m.environment, m.id, m.version, m.value, m.place, m.subject_id, s.run_id
order by max(s.created_at) desc, m.id, s.run_id limit :limit::int;
