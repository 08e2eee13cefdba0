-- name: claim
select tenant as "tenant!", environment as "environment!", run as "run!", epoch as "epoch!" from plimsoll.claim(:worker::text, :agents::text[], :limit::int);

-- name: abandon
select plimsoll.abandon(:limit::int) as "taken!";

-- name: reap
select plimsoll.reap(:limit::int) as "taken!";

-- name: layDown
-- without a parameter that names its tenant: the keys of it may be what is missing
select plimsoll.lay_down(:ofTenant::text, :ofEnvironment::text, :run::text, :worker::text, :epoch::int8) as "taken!";

-- name: enlist
insert into plimsoll.worker (id, host, pid, lease_until)
values (:worker::text, :host::text, :pid::int, now() + :leaseMs::int8 * interval '1 millisecond');

-- name: renew
update plimsoll.worker set lease_until = now() + :leaseMs::int8 * interval '1 millisecond'
where id = :worker::text and lease_until > now() returning id;

-- name: retire
delete from plimsoll.worker where id = :worker::text;

-- name: forgetWorkers
delete from plimsoll.worker where lease_until < now() - interval '1 day';

-- name: driven
select tenant as "tenant!", environment as "environment!", run as "run!", epoch as "epoch!", canceled as "canceled!", alone as "alone!" from plimsoll.driven(:worker::text);
