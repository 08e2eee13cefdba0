-- name: destroyTenant
select outcome as "outcome!", runs as "runs!" from plimsoll.destroy_tenant(:tenant::text, :environment::text, :audit::text,
  'operator', :actor::text, :reason::text);
