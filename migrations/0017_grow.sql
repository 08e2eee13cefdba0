-- safe with the version before: yes
--
-- Memory that grows out of memory: questions know what they come from, so that they go with it, and what is to be drawn from
-- many is found by its key.

set local role plimsoll_owner;

-- what a question comes from, as `kind ref`: ids, so that a question goes when its source does
alter table plimsoll.memory_candidate add column sources text[] not null default '{}';
create index memory_candidate_value on plimsoll.memory_candidate (tenant_id, environment, place, subject_id, key, value_hash);
create index memory_candidate_sources on plimsoll.memory_candidate using gin (sources) where status = 'pending';
create index memory_key on plimsoll.memory (tenant_id, environment, key, place, subject_id) where deleted_at is null;

reset role;
