-- name: mark
-- how far the log is, and the time of this database; what is written later has a later name
select m.segment, (extract(epoch from m.written_at) * 1000)::float8 as "writtenAt!", (extract(epoch from now()) * 1000)::float8 as "now!"
from plimsoll.restore_log m;

-- name: entries
-- what has happened in the time before the mark too, as long as a transaction may last, since it may have been committed late
select e.kind as "kind!", e.tenant as "tenant!", e.environment as "environment!", e.id as "id!", e.target as "target!",
  (extract(epoch from e.at) * 1000)::float8 as "at!"
from plimsoll.restore_log m, plimsoll.restore_entries(m.written_at - :overlapMs::int8 * interval '1 millisecond') e
order by e.at;

-- name: reached
update plimsoll.restore_log set segment = greatest(segment, :segment::text collate "C"),
  written_at = greatest(written_at, to_timestamp(:at::float8 / 1000));

-- name: restore
select r.kind as "kind!", r.changed as "changed!" from plimsoll.restore(:entries::jsonb) r;
