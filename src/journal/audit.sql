-- name: insertAudit
insert into plimsoll.audit (tenant_id, id, environment, run_id, actor_kind, actor, action, target, outcome, reason)
values (:tenant::text, :id::text, :environment::text, :run::text, :actorKind::text, :actor::text, :action::text, :target::text, :outcome::text, :reason::text)
returning id;
