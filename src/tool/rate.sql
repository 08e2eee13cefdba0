-- name: takeCall
-- One row comes back when the call may start. The lock of the row orders the workers, and the clock is read under it.
insert into plimsoll.tool_calls as r (tenant_id, environment, tool, starts)
values (:tenant::text, :environment::text, :tool::text, array[clock_timestamp()])
on conflict (tenant_id, environment, tool) do update
set starts = r.starts[greatest(1, cardinality(r.starts) - :calls::int + 2):] || clock_timestamp()
where cardinality(r.starts) < :calls::int
  or r.starts[cardinality(r.starts) - :calls::int + 1] <= clock_timestamp() - :perMs::int8 * interval '1 millisecond'
returning true as "taken!";

-- name: waitForCall
-- until the oldest of the calls that count is out of the span
select greatest(0, extract(epoch from r.starts[cardinality(r.starts) - :calls::int + 1] - clock_timestamp()) * 1000 + :perMs::int8)::int8
  as "waitMs!"
from plimsoll.tool_calls r
where r.tenant_id = :tenant::text and r.environment = :environment::text and r.tool = :tool::text
  and cardinality(r.starts) >= :calls::int;
