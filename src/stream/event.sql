-- name: tail
-- What a stream has not sent yet, of one instant: durable events, then pieces of the answer in progress, then one row that
-- says how far the run is. A piece counts only while its attempt is the one that may speak (A4).
with told as (
  select e.seq, e.type, e.body, (extract(epoch from e.created_at) * 1000)::int8 as at from plimsoll.event e
  where e.tenant_id = :tenant::text and e.run_id = :run::text and e.seq > :after::int8 and e.visibility = any (:visible::text[])
  order by e.seq limit :limit::int
), said as (
  select d.seq, d.step, d.attempt, d.body
  from plimsoll.delta d join plimsoll.run r on r.tenant_id = d.tenant_id and r.id = d.run_id
  where d.tenant_id = :tenant::text and d.run_id = :run::text and d.seq > :piece::int8 and d.generation = r.generation
    and d.step = r.step + 1 and d.attempt / 100 = r.epoch and r.status = 'running' and r.cancel_cause is null
  order by d.seq limit :limit::int
)
select 1 as "sort!", 'event' as "kind!", t.seq as "seq!", 0 as "step!", 0 as "attempt!", t.type as "type!", t.body as "body?", t.at as "at!" from told t
union all select 2, 'piece', s.seq, s.step, s.attempt, '', s.body, 0 from said s
union all select 3, 'state', r.event_seq, r.step, 0, r.status, null, 0
from plimsoll.run r where r.tenant_id = :tenant::text and r.id = :run::text
order by 1, 3;

-- name: texts
-- visible messages of a run
select m.seq, m.body, m.content_hash as hash, m.partial from plimsoll.message m
where m.tenant_id = :tenant::text and m.run_id = :run::text and m.seq = any (:seqs::int[]) and m.visibility = 'user' and m.role = 'assistant';

-- name: putPiece
-- no row: the attempt may not speak any more
insert into plimsoll.delta (tenant_id, run_id, seq, environment, generation, step, attempt, body)
select r.tenant_id, r.id, :seq::int8, r.environment, r.generation, :step::int, :attempt::int, :body::bytea
from plimsoll.run r
where r.tenant_id = :tenant::text and r.id = :run::text and r.epoch = :epoch::int8 and r.generation = :generation::int8
  and r.step + 1 = :step::int and r.status = 'running' and r.cancel_cause is null
returning seq;

-- name: dropPieces
delete from plimsoll.delta where tenant_id = :tenant::text and run_id = :run::text and seq < :below::int8;
