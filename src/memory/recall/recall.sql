-- name: indexMemory
-- No row: there is no such memory. `gone`: it was deleted. `stale`: it has another version by now.
select plimsoll.index_memory(m.tenant_id, m.id, :version::int8, :lexer::text, :terms::text[]::int8[], :tfs::float8[]::real[], :length::float8::real)
  as "outcome!"
from plimsoll.memory m where m.tenant_id = :tenant::text and m.id = :id::text;

-- name: unindexMemory
with terms as (
  delete from plimsoll.memory_term t using plimsoll.memory_entry e
  where e.tenant_id = :tenant::text and e.memory_id = :id::text and t.tenant_id = e.tenant_id and t.environment = e.environment
    and t.place = e.place and t.term = any (e.terms) and t.memory_id = e.memory_id returning 1
), vectors as (
  delete from plimsoll.memory_vector v where v.tenant_id = :tenant::text and v.environment = :environment::text and v.memory_id = :id::text
    and v.place = (select m.place from plimsoll.memory m where m.tenant_id = :tenant::text and m.id = :id::text) returning 1
), entry as (
  delete from plimsoll.memory_entry e where e.tenant_id = :tenant::text and e.memory_id = :id::text returning 1
)
select (select count(*) from terms) + (select count(*) from vectors) + (select count(*) from entry) as "removed!";

-- name: sweepIndex
-- What no memory that could be found stands behind: it is deleted, or gone, or has a later version. A version later than the
-- memory's is one that was written meanwhile.
with live as materialized (
  select m.id, m.version from plimsoll.memory m where m.tenant_id = :tenant::text and m.environment = :environment::text
    and m.deleted_at is null
), terms as (
  delete from plimsoll.memory_term t where t.tenant_id = :tenant::text and t.environment = :environment::text
    and not exists (select from live l where l.id = t.memory_id and l.version <= t.version) returning 1
), vectors as (
  delete from plimsoll.memory_vector v where v.tenant_id = :tenant::text and v.environment = :environment::text
    and not exists (select from live l where l.id = v.memory_id and l.version <= v.version) returning 1
), entries as (
  delete from plimsoll.memory_entry e where e.tenant_id = :tenant::text and e.environment = :environment::text
    and not exists (select from live l where l.id = e.memory_id and l.version <= e.version) returning 1
)
select (select count(*) from terms) as "terms!", (select count(*) from vectors) as "vectors!", (select count(*) from entries) as "entries!";

-- name: forgetVectors
-- of these memories, or of all that are gone
delete from plimsoll.memory_vector v where v.tenant_id = :tenant::text and v.environment = :environment::text
  and (:only?::text[] is null or v.memory_id = any (:only?::text[]))
  and not exists (select from plimsoll.memory m where m.tenant_id = v.tenant_id and m.id = v.memory_id and m.deleted_at is null)
returning v.memory_id;

-- name: unindexed
-- memories that can be found and have no entry of their version and of this lexer
select m.id as "id!", m.version as "version!" from plimsoll.memory m
left join plimsoll.memory_entry e on e.tenant_id = m.tenant_id and e.memory_id = m.id
where m.tenant_id = :tenant::text and m.environment = :environment::text and m.deleted_at is null
  and (e.version is distinct from m.version or e.lexer is distinct from :lexer::text)
order by m.id limit :limit::int;

-- name: recall
-- One statement, one picture of the store. First who may see what: the places that the caller is in, then the memories there
-- that every dimension of the filter lets through. Only these are counted and ranked, so that nothing that is hidden has any
-- part in an order or a score. An entry of the index counts while it has the version of its memory. The sums are rounded,
-- since they come in any order and equal memories must be equal.
--
-- BM25 with the usual k1 = 1.2 and b = 0.75, twice: for the words of the question, and at a tenth of their weight for ten words
-- that the five best have in common and others have not. A word's rarity cannot be judged among a handful of memories, so
-- fifty more are thought to be there that have none of the words. Nobody tells the planner how large a place is, so that nothing here
-- is joined row by row with anything that grows: sums over unions, look-ups in arrays and hashed subqueries instead.
with asking as materialized (
  select :terms::text[]::int8[] as terms
), place as materialized (
  select p.place from unnest(:places::text[]) p (place)
  where p.place = 'tenant:' or p.place = 'user:' || :subject::text
    or (starts_with(p.place, 'conversation:') and exists (select from plimsoll.session s where s.tenant_id = :tenant::text
      and s.id = substr(p.place, 14) and s.environment = :environment::text and s.user_id = :user::text and s.subject_id = :subject::text))
    or (p.place ~ '^(group|project):' and exists (select from plimsoll.member g where g.tenant_id = :tenant::text
      and g.environment = :environment::text and g.place = p.place and g.user_id = :user::text and g.left_at is null))
), withdrawn as materialized (
  select coalesce(array_agg(c.purpose), '{}') as purposes from plimsoll.consent c
  where c.tenant_id = :tenant::text and c.environment = :environment::text and c.subject_id = :subject::text and c.state = 'withdrawn'
), eligible as materialized (
  select m.id, m.version, m.confidence, m.last_used_at
  from plimsoll.memory m
  where m.tenant_id = :tenant::text and m.environment = :environment::text and m.place = any (array(select place from place))
    and m.deleted_at is null
    and (m.subject_id in ('', :subject::text) or m.place ~ '^(group|project):')
    and m.permission_scope && :scopes::text[]
    and m.purpose = any (:purposes::text[])
    and m.valid_from <= to_timestamp(:now::float8 / 1000) and (m.expires_at is null or m.expires_at > to_timestamp(:now::float8 / 1000))
    and m.confidence >= :confidence::float8 and m.sensitivity = any (:sensitivities::text[]) and m.integrity = any (:integrities::text[])
    and (:kinds?::text[] is null or m.kind::text = any (:kinds?::text[])) and (:layers?::text[] is null or m.layer::text = any (:layers?::text[]))
    and (:only?::text[] is null or m.key = any (:only?::text[]))
    -- what has gone cold comes back when it is called by its name
    and (m.status = 'active' or (m.status = 'cold' and (m.key = any (:keys::text[]) or ((m.id, m.version) in (select t.memory_id, t.version
      from plimsoll.memory_term t where t.tenant_id = :tenant::text and t.environment = :environment::text
        and t.place = any (array(select place from place)) and t.term = any (:names::text[]::int8[]))) is true)))
    -- a subject that has said no to the purpose, or to all; the one who asks is looked up once
    and case when m.subject_id = :subject::text
      then (select cardinality(purposes) = 0 from withdrawn) or not (array[m.purpose, '*'] && (select purposes from withdrawn))
      else not exists (select from plimsoll.consent c where c.tenant_id = m.tenant_id and c.environment = m.environment
        and c.subject_id = m.subject_id and c.purpose in (m.purpose, '*') and c.state = 'withdrawn') end
), n as materialized (
  select count(*)::float8 as n from eligible
), hit as materialized (
  select t.memory_id as id, array_position((select terms from asking), t.term) as at, t.tf, t.length from plimsoll.memory_term t
  where t.tenant_id = :tenant::text and t.environment = :environment::text and t.place = any (array(select place from place))
    and t.term = any ((select terms from asking)::int8[]) and ((t.memory_id, t.version) in (select id, version from eligible)) is true
), counted as materialized (
  -- apart, so that no plan counts again for each word
  select at, count(*)::float8 as df from hit group by at
), asked as materialized (
  select array_agg(a.weight * ln(1 + (n.n + 50 - coalesce(d.df, 0) + 0.5) / (coalesce(d.df, 0) + 0.5)) order by a.at) as idf
  from unnest(:weights::float8[]) with ordinality a (weight, at) cross join n
  left join counted d on d.at = a.at
), pivot as materialized (
  select avg(length)::float8 as pivot from hit
), direct as materialized (
  select h.id, floor(sum((select idf from asked)[h.at] * h.tf * 2.2::float8
    / (h.tf + 1.2::float8 * (0.25::float8 + 0.75::float8 * h.length / (select pivot from pivot)))) * 1e6 + 0.5) / 1e6 as score
  from hit h group by h.id
), shared as materialized (
  -- what the five best speak of besides
  select u.term, sum(f.score * u.tf / y.length) as mass
  from (select id, score from direct order by score desc, id collate "C" limit 5) f
  join plimsoll.memory_entry y on y.tenant_id = :tenant::text and y.environment = :environment::text and y.memory_id = f.id
  cross join unnest(y.terms, y.tfs) u (term, tf)
  where u.term <> all ((select terms from asking)::int8[])
  group by u.term order by mass desc, u.term limit 20
), listed as materialized (
  select array_agg(term order by term) as terms, array_agg(mass order by term) as masses from shared
), also as materialized (
  select t.memory_id as id, array_position((select terms from listed), t.term) as at, t.tf, t.length from plimsoll.memory_term t
  where t.tenant_id = :tenant::text and t.environment = :environment::text and t.place = any (array(select place from place))
    and t.term = any ((select terms from listed)::int8[]) and ((t.memory_id, t.version) in (select id, version from eligible)) is true
), common as materialized (
  select at, count(*)::float8 as df from also group by at
), rare as materialized (
  select at, (select masses from listed)[at] * idf as mass, idf
  from (select at, ln(1 + ((select n from n) - df + 0.5) / (df + 0.5)) as idf from common) d
  order by mass desc, at limit 10
), added as materialized (
  select array_agg(0.1 * r.mass / (select max(mass) from rare) * r.idf order by a.at) as idf
  from generate_series(1, 20) a (at) left join rare r on r.at = a.at
), indirect as materialized (
  select a.id, sum((select idf from added)[a.at] * a.tf * 2.2::float8
    / (a.tf + 1.2::float8 * (0.25::float8 + 0.75::float8 * a.length / (select pivot from pivot)))) as score
  from also a where (select idf from added)[a.at] is not null group by a.id
), lexical as materialized (
  select id, sum(direct) as direct, floor(sum(score) * 1e6 + 0.5) / 1e6 as score
  from (select id, score as direct, score from direct union all select id, 0, score from indirect) l group by id
), semantic as materialized (
  select s.id, greatest(s.cosine, 0) as score from unnest(:ids::text[], :cosines::float8[]) s (id, cosine)
  where (s.id in (select id from eligible)) is true
), found as materialized (
  select id, sum(direct) as lexical, sum(cosine) as semantic, sum(relevance) as relevance
  from (
    select id, direct, 0::float8 as cosine, coalesce(score / nullif((select max(score) from lexical), 0), 0) as relevance from lexical
    union all
    select id, 0, score, :semantic::float8 * coalesce(score / nullif((select max(score) from semantic), 0), 0) from semantic
  ) legs group by id
), near as materialized (
  -- the best, and who is as relevant as the last of them: these are told apart by the record
  select * from found
  where relevance >= (select min(relevance) from (select relevance from found order by relevance desc limit :k::int) f)
), best as materialized (
  select id, max(confidence) as confidence, max(last_used_at) as last_used_at, sum(lexical) as lexical, sum(semantic) as semantic,
    sum(relevance) as relevance
  from (
    select id, null::real as confidence, null::timestamptz as last_used_at, lexical, semantic, relevance from near
    union all
    select id, confidence, last_used_at, 0, 0, 0 from eligible where (id in (select id from near)) is true
  ) every group by id
  union all
  (select id, confidence, last_used_at, 0, 0, 0 from eligible
   where (select count(*) from found) < :k::int and (id in (select id from found)) is not true
   order by confidence desc, last_used_at desc nulls last, id collate "C" limit :k::int)
), first as materialized (
  select * from best order by relevance desc, confidence desc, last_used_at desc nulls last, id collate "C" limit :k::int
)
select m.id as "id!", m.version as "version!", m.place as "place!", m.subject_id as "subject!", m.layer as "layer!", m.kind as "kind!",
  m.key as "key!", m.value as "value!", m.value_hash as "valueHash!", m.integrity as "integrity!", m.confidentiality as "confidentiality!",
  m.confidence as "confidence!", m.sensitivity as "sensitivity!", m.status as "status!", m.importance as "importance!",
  m.use_count as "useCount!", m.authority, m.authority_ref as "authorityRef", (extract(epoch from m.last_used_at) * 1000)::int8 as "lastUsedAt?",
  (extract(epoch from m.valid_from) * 1000)::int8 as "validFrom!", (extract(epoch from m.recorded_at) * 1000)::int8 as "recordedAt!",
  b.relevance as "relevance!", b.semantic as "semantic!",
  coalesce(b.lexical / nullif((select sum(i.idf) from asked, unnest(asked.idf) i (idf)), 0), 0) as "lexical!", (select n from n)::int8 as "eligible!"
from first b join plimsoll.memory m on m.tenant_id = :tenant::text and m.id = b.id
order by b.relevance desc, b.confidence desc, b.last_used_at desc nulls last, b.id collate "C";

-- name: stillThere
-- which of these may be used at this moment, at these versions: what is deleted, ended, barred or withdrawn meanwhile is not
select m.id from unnest(:ids::text[], :versions::text[]::int8[]) a (id, version)
join plimsoll.memory m on m.tenant_id = :tenant::text and m.id = a.id and m.version = a.version
where m.environment = :environment::text and m.deleted_at is null and m.status in ('active', 'cold')
  and (m.expires_at is null or m.expires_at > now())
  and not exists (select from plimsoll.consent c where c.tenant_id = m.tenant_id and c.environment = m.environment
    and c.subject_id = m.subject_id and c.purpose in (m.purpose, '*') and c.state = 'withdrawn')
  and (m.place !~ '^(group|project):' or exists (select from plimsoll.member g where g.tenant_id = m.tenant_id
    and g.environment = m.environment and g.place = m.place and g.user_id = :user::text and g.left_at is null));

-- name: vectors
-- Vectors of what may be eligible, newest first; which of them count, the ranking decides.
select v.memory_id as id, v.model, v.dimensions, v.body
from plimsoll.memory_vector v join plimsoll.memory m on m.tenant_id = v.tenant_id and m.id = v.memory_id and m.version = v.version
where v.tenant_id = :tenant::text and v.environment = :environment::text and v.place = any (:places::text[])
  and m.deleted_at is null and m.permission_scope && :scopes::text[] and m.purpose = any (:purposes::text[])
  and (m.subject_id in ('', :subject::text) or exists (select from plimsoll.member g where g.tenant_id = v.tenant_id
    and g.environment = v.environment and g.place = v.place and g.user_id = :user::text and g.left_at is null))
order by m.recorded_at desc, v.memory_id limit :limit::int;

-- name: writeVector
insert into plimsoll.memory_vector as v (tenant_id, environment, place, memory_id, version, model, dimensions, body)
select m.tenant_id, m.environment, m.place, m.id, m.version, :model::text, :dimensions::int, :body::bytea
from plimsoll.memory m where m.tenant_id = :tenant::text and m.id = :id::text and m.version = :version::int8 and m.deleted_at is null
on conflict (tenant_id, environment, place, memory_id) do update
set version = excluded.version, model = excluded.model, dimensions = excluded.dimensions, body = excluded.body
where v.version <= excluded.version
returning v.version;
