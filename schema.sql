-- Written by `npm run schema` from migrations/: change nothing here.

-- roles
create role plimsoll_app nologin;
create role plimsoll_claim nologin;
create role plimsoll_owner nologin;
create role plimsoll_relay nologin;
create role plimsoll_retain nologin;
create role plimsoll_shred nologin;
create role plimsoll_step nologin;

-- schemas
create schema plimsoll authorization postgres;
grant create, usage on schema plimsoll to plimsoll_owner;
grant usage on schema plimsoll to plimsoll_app;
grant usage on schema plimsoll to plimsoll_claim;
grant usage on schema plimsoll to plimsoll_relay;
grant usage on schema plimsoll to plimsoll_retain;
grant usage on schema plimsoll to plimsoll_shred;
grant usage on schema plimsoll to plimsoll_step;
grant usage on schema public to public;

-- types
create domain plimsoll.amount as bigint CHECK ((VALUE >= 0));
create domain plimsoll.approval as text CHECK ((VALUE = ANY (ARRAY['auto'::text, 'confirm'::text, 'strong_confirm'::text, 'refused'::text])));
create domain plimsoll.artifact_kind as text CHECK ((VALUE = ANY (ARRAY['result'::text, 'file'::text, 'upload'::text])));
create domain plimsoll.cancel_cause as text CHECK ((VALUE = ANY (ARRAY['user'::text, 'superseded'::text, 'disconnect'::text, 'operator'::text, 'parent'::text])));
create domain plimsoll.delivery_outcome as text CHECK ((VALUE = ANY (ARRAY['delivered'::text, 'failed'::text, 'given_up'::text])));
create domain plimsoll.effect_kind as text CHECK ((VALUE = ANY (ARRAY['tool'::text, 'memory'::text, 'child'::text, 'notification'::text])));
create domain plimsoll.effect_level as text CHECK ((VALUE = ANY (ARRAY['read'::text, 'write'::text, 'irreversible'::text])));
create domain plimsoll.effect_status as text CHECK ((VALUE = ANY (ARRAY['intended'::text, 'started'::text, 'waiting'::text, 'settled'::text, 'unknown'::text])));
create domain plimsoll.endpoint_state as text CHECK ((VALUE = ANY (ARRAY['enabled'::text, 'disabled'::text])));
create domain plimsoll.ledger_kind as text CHECK ((VALUE = ANY (ARRAY['open'::text, 'model'::text, 'tools'::text, 'recovery'::text, 'close'::text])));
create domain plimsoll.ledger_level as text CHECK ((VALUE = ANY (ARRAY['run'::text, 'subject'::text, 'tenant'::text])));
create domain plimsoll.memory_kind as text CHECK ((VALUE = ANY (ARRAY['preference'::text, 'fact'::text, 'task'::text, 'experience'::text])));
create domain plimsoll.memory_layer as text CHECK ((VALUE = ANY (ARRAY['session'::text, 'episodic'::text, 'semantic'::text, 'procedural'::text])));
create domain plimsoll.memory_scope as text CHECK ((VALUE = ANY (ARRAY['user'::text, 'conversation'::text, 'group'::text, 'project'::text, 'tenant'::text])));
create domain plimsoll.memory_status as text CHECK ((VALUE = ANY (ARRAY['active'::text, 'cold'::text, 'barred'::text, 'invalid'::text, 'deleted'::text])));
create domain plimsoll.name as text CHECK ((VALUE ~ '^[a-z0-9_]{1,40}$'::text));
create domain plimsoll.outcome as text CHECK ((VALUE = ANY (ARRAY['ok'::text, 'error'::text])));
create domain plimsoll.phase as text CHECK ((VALUE = ANY (ARRAY['planning'::text, 'tool_running'::text, 'awaiting_observation'::text, 'finalizing'::text])));
create domain plimsoll.retention_class as text CHECK ((VALUE = ANY (ARRAY['delta'::text, 'event'::text, 'message'::text, 'value'::text, 'attempt'::text, 'idempotency'::text, 'artifact'::text, 'signal'::text, 'rate'::text])));
create domain plimsoll.role as text CHECK ((VALUE = ANY (ARRAY['user'::text, 'assistant'::text, 'tool'::text])));
create domain plimsoll.run_status as text CHECK ((VALUE = ANY (ARRAY['queued'::text, 'running'::text, 'waiting_confirmation'::text, 'succeeded'::text, 'failed'::text, 'canceled'::text])));
create domain plimsoll.visibility as text CHECK ((VALUE = ANY (ARRAY['user'::text, 'model'::text, 'internal'::text, 'operator'::text])));
create domain plimsoll.wait_reason as text CHECK ((VALUE = ANY (ARRAY['confirmation'::text, 'unknown_effect'::text, 'question'::text, 'timer'::text, 'external'::text, 'follower'::text])));

-- tables

create table plimsoll.artifact (
  tenant_id text not null,
  id text not null,
  environment text not null,
  session_id text not null,
  user_id text not null,
  subject_id text not null,
  run_id text not null,
  step integer not null,
  "position" integer not null,
  call_id text not null,
  kind plimsoll.artifact_kind not null,
  media_type text not null,
  bytes plimsoll.amount not null,
  sha256 text not null,
  object_key text not null,
  about bytea,
  result_hash text not null,
  integrity text not null,
  confidentiality text not null,
  origin jsonb not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone,
  removed_at timestamp with time zone,
  constraint artifact_pkey PRIMARY KEY (tenant_id, id)
);
alter table plimsoll.artifact enable row level security;
alter table plimsoll.artifact force row level security;
alter table plimsoll.artifact owner to plimsoll_owner;
CREATE INDEX artifact_file ON plimsoll.artifact USING btree (tenant_id, session_id) WHERE ((kind)::text = 'file'::text);
CREATE INDEX artifact_run ON plimsoll.artifact USING btree (tenant_id, run_id, step, "position");
CREATE UNIQUE INDEX artifact_object ON plimsoll.artifact USING btree (tenant_id, object_key);
create policy retain on plimsoll.artifact for all to plimsoll_retain using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy shred on plimsoll.artifact for all to plimsoll_shred using ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy tenant on plimsoll.artifact for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert, select on table plimsoll.artifact to plimsoll_app;
grant select (environment, removed_at, run_id, tenant_id) on table plimsoll.artifact to plimsoll_retain;
grant select (removed_at, tenant_id) on table plimsoll.artifact to plimsoll_shred;
grant update (about, removed_at) on table plimsoll.artifact to plimsoll_app;
grant update (about, removed_at) on table plimsoll.artifact to plimsoll_retain;
grant update (expires_at) on table plimsoll.artifact to plimsoll_shred;

create table plimsoll.audit (
  tenant_id text not null,
  id text not null,
  environment text not null,
  run_id text,
  actor_kind text not null,
  actor text not null,
  action text not null,
  target text not null,
  outcome text not null,
  reason text,
  digest text,
  created_at timestamp with time zone not null default now(),
  constraint audit_pkey PRIMARY KEY (tenant_id, id)
);
alter table plimsoll.audit enable row level security;
alter table plimsoll.audit force row level security;
alter table plimsoll.audit owner to plimsoll_owner;
create policy batch on plimsoll.audit for all to plimsoll_step using ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || run_id) || '|'::text)) > 0)) with check ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || run_id) || '|'::text)) > 0));
create policy shred on plimsoll.audit for all to plimsoll_shred using ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy tenant on plimsoll.audit for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert on table plimsoll.audit to plimsoll_shred;
grant insert on table plimsoll.audit to plimsoll_step;
grant insert, select on table plimsoll.audit to plimsoll_app;
grant select (environment, id, tenant_id) on table plimsoll.audit to plimsoll_shred;
grant update (reason) on table plimsoll.audit to plimsoll_shred;

create table plimsoll.confirmation (
  tenant_id text not null,
  id text not null,
  environment text not null,
  session_id text not null,
  user_id text not null,
  subject_id text not null,
  run_id text not null,
  step integer not null,
  "position" integer not null,
  generation bigint not null,
  tool text not null,
  tool_version integer not null,
  params_hash text not null,
  resource text,
  resource_version text,
  plan bytea not null,
  level text not null,
  confirmers text[] not null,
  nonce text not null,
  status text not null default 'pending'::text,
  version bigint not null default 1,
  expires_at timestamp with time zone not null,
  execute_by timestamp with time zone,
  decided_by text,
  decided_at timestamp with time zone,
  consumed_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  constraint confirmation_pkey PRIMARY KEY (tenant_id, id),
  constraint confirmation_tenant_id_run_id_step_position_nonce_key UNIQUE (tenant_id, run_id, step, "position", nonce),
  constraint confirmation_level_check CHECK ((level = ANY (ARRAY['confirm'::text, 'strong_confirm'::text]))),
  constraint confirmation_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'approved'::text, 'rejected'::text, 'expired'::text, 'superseded'::text, 'consumed'::text])))
);
alter table plimsoll.confirmation enable row level security;
alter table plimsoll.confirmation force row level security;
alter table plimsoll.confirmation owner to plimsoll_owner;
CREATE INDEX confirmation_open ON plimsoll.confirmation USING btree (tenant_id, id) WHERE (status = 'pending'::text);
CREATE INDEX confirmation_resource ON plimsoll.confirmation USING btree (tenant_id, resource) WHERE (status = 'pending'::text);
CREATE INDEX confirmation_spent ON plimsoll.confirmation USING btree (consumed_at) WHERE (consumed_at IS NOT NULL);
create policy batch on plimsoll.confirmation for all to plimsoll_step using ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || run_id) || '|'::text)) > 0)) with check ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || run_id) || '|'::text)) > 0));
create policy retain on plimsoll.confirmation for all to plimsoll_retain using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy shred on plimsoll.confirmation for all to plimsoll_shred using ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy spent on plimsoll.confirmation for select to plimsoll_shred using ((consumed_at IS NOT NULL));
create policy tenant on plimsoll.confirmation for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert on table plimsoll.confirmation to plimsoll_step;
grant select on table plimsoll.confirmation to plimsoll_app;
grant select (confirmers, decided_by, environment, execute_by, expires_at, id, params_hash, "position", resource_version, run_id, status, step, tenant_id, version) on table plimsoll.confirmation to plimsoll_step;
grant select (consumed_at, decided_by, environment, id, "position", run_id, status, step, tenant_id, version) on table plimsoll.confirmation to plimsoll_shred;
grant select (environment, "position", run_id, step, tenant_id) on table plimsoll.confirmation to plimsoll_retain;
grant update (consumed_at, decided_at, decided_by, execute_by, status, version) on table plimsoll.confirmation to plimsoll_step;
grant update (consumed_at, decided_at, decided_by, resource, resource_version, status, version) on table plimsoll.confirmation to plimsoll_shred;
grant update (plan) on table plimsoll.confirmation to plimsoll_retain;

create table plimsoll.consent (
  tenant_id text not null,
  environment text not null,
  subject_id text not null,
  purpose text not null,
  state text not null,
  basis text not null,
  decided_by text not null,
  decided_at timestamp with time zone not null default now(),
  constraint consent_pkey PRIMARY KEY (tenant_id, environment, subject_id, purpose),
  constraint consent_state_check CHECK ((state = ANY (ARRAY['granted'::text, 'withdrawn'::text])))
);
alter table plimsoll.consent enable row level security;
alter table plimsoll.consent force row level security;
alter table plimsoll.consent owner to plimsoll_owner;
create policy tenant on plimsoll.consent for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert, select on table plimsoll.consent to plimsoll_app;
grant update (basis, decided_at, decided_by, state) on table plimsoll.consent to plimsoll_app;

create table plimsoll.credential (
  hash bytea not null,
  tenant_id text not null,
  environment text not null,
  id text not null,
  kind text not null,
  user_id text not null,
  permissions text[] not null default '{}'::text[],
  created_at timestamp with time zone not null default now(),
  revoked_at timestamp with time zone,
  constraint credential_pkey PRIMARY KEY (hash),
  constraint credential_kind_check CHECK ((kind = ANY (ARRAY['service'::text, 'operator'::text])))
);
alter table plimsoll.credential owner to plimsoll_owner;
CREATE INDEX credential_revoked ON plimsoll.credential USING btree (revoked_at) WHERE (revoked_at IS NOT NULL);
CREATE UNIQUE INDEX credential_id ON plimsoll.credential USING btree (tenant_id, id);
grant insert, select on table plimsoll.credential to plimsoll_app;
grant select (environment, id, revoked_at, tenant_id) on table plimsoll.credential to plimsoll_shred;
grant update (revoked_at) on table plimsoll.credential to plimsoll_app;
grant update (revoked_at) on table plimsoll.credential to plimsoll_shred;

create table plimsoll.deletion (
  tenant_id text not null,
  id text not null,
  environment text not null,
  subject_id text not null,
  kind text not null,
  target text not null,
  memories text[] not null default '{}'::text[],
  messages text[] not null default '{}'::text[],
  sessions text[] not null default '{}'::text[],
  actor_kind text not null,
  actor text not null,
  due_at timestamp with time zone not null default now(),
  attempts integer not null default 0,
  created_at timestamp with time zone not null default now(),
  done_at timestamp with time zone,
  constraint deletion_pkey PRIMARY KEY (tenant_id, id),
  constraint deletion_kind_check CHECK ((kind = ANY (ARRAY['memory'::text, 'message'::text, 'conversation'::text, 'artifact'::text, 'subject'::text, 'purpose'::text])))
) with (fillfactor=70);
alter table plimsoll.deletion enable row level security;
alter table plimsoll.deletion force row level security;
alter table plimsoll.deletion owner to plimsoll_owner;
CREATE INDEX deletion_due ON plimsoll.deletion USING btree (due_at) WHERE (done_at IS NULL);
CREATE INDEX deletion_subject ON plimsoll.deletion USING btree (tenant_id, environment, subject_id, created_at);
create policy due on plimsoll.deletion for select to plimsoll_retain using ((done_at IS NULL));
create policy put_off on plimsoll.deletion for update to plimsoll_retain using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy tenant on plimsoll.deletion for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert, select on table plimsoll.deletion to plimsoll_app;
grant select (done_at, due_at, environment, id, tenant_id) on table plimsoll.deletion to plimsoll_retain;
grant update (attempts, done_at, due_at, memories, messages, sessions) on table plimsoll.deletion to plimsoll_app;
grant update (due_at) on table plimsoll.deletion to plimsoll_retain;

create table plimsoll.deletion_part (
  tenant_id text not null,
  deletion_id text not null,
  derivative text not null,
  environment text not null,
  removed bigint not null default 0,
  error text,
  done_at timestamp with time zone,
  constraint deletion_part_pkey PRIMARY KEY (tenant_id, deletion_id, derivative)
) with (fillfactor=70);
alter table plimsoll.deletion_part enable row level security;
alter table plimsoll.deletion_part force row level security;
alter table plimsoll.deletion_part owner to plimsoll_owner;
create policy tenant on plimsoll.deletion_part for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert, select on table plimsoll.deletion_part to plimsoll_app;
grant update (done_at, error, removed) on table plimsoll.deletion_part to plimsoll_app;

create table plimsoll.delivery (
  tenant_id text not null,
  endpoint_id text not null,
  run_id text not null,
  environment text not null,
  sent bigint not null,
  head bigint not null,
  attempt integer not null default 0,
  due_at timestamp with time zone not null default now(),
  worker_id text,
  epoch bigint not null default 0,
  constraint delivery_pkey PRIMARY KEY (tenant_id, endpoint_id, run_id)
) with (fillfactor=70);
alter table plimsoll.delivery enable row level security;
alter table plimsoll.delivery force row level security;
alter table plimsoll.delivery owner to plimsoll_owner;
CREATE INDEX delivery_claimed ON plimsoll.delivery USING btree (endpoint_id) WHERE (worker_id IS NOT NULL);
CREATE INDEX delivery_waiting ON plimsoll.delivery USING btree (endpoint_id, tenant_id, due_at) WHERE (due_at < 'infinity'::timestamp with time zone);
create policy relay on plimsoll.delivery for all to plimsoll_relay using (((EXISTS ( SELECT
   FROM plimsoll.sink s
  WHERE (s.name = delivery.endpoint_id))) OR (EXISTS ( SELECT
   FROM plimsoll.endpoint e
  WHERE ((e.tenant_id = delivery.tenant_id) AND (e.environment = delivery.environment) AND (e.id = delivery.endpoint_id)))))) with check (((EXISTS ( SELECT
   FROM plimsoll.sink s
  WHERE (s.name = delivery.endpoint_id))) OR (EXISTS ( SELECT
   FROM plimsoll.endpoint e
  WHERE ((e.tenant_id = delivery.tenant_id) AND (e.environment = delivery.environment) AND (e.id = delivery.endpoint_id))))));
create policy retain on plimsoll.delivery for all to plimsoll_retain using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy shred on plimsoll.delivery for all to plimsoll_shred using ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy tenant on plimsoll.delivery for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant delete on table plimsoll.delivery to plimsoll_retain;
grant delete on table plimsoll.delivery to plimsoll_shred;
grant delete, insert, select on table plimsoll.delivery to plimsoll_app;
grant insert, select on table plimsoll.delivery to plimsoll_relay;
grant select (due_at, endpoint_id, environment, run_id, tenant_id) on table plimsoll.delivery to plimsoll_retain;
grant select (environment, run_id, tenant_id) on table plimsoll.delivery to plimsoll_shred;
grant update (attempt, due_at, epoch, head, sent, worker_id) on table plimsoll.delivery to plimsoll_app;
grant update (due_at, epoch, head, worker_id) on table plimsoll.delivery to plimsoll_relay;

create table plimsoll.delivery_attempt (
  tenant_id text not null,
  endpoint_id text not null,
  run_id text not null,
  seq bigint not null,
  epoch bigint not null,
  environment text not null,
  outcome plimsoll.delivery_outcome not null,
  status integer,
  fault text,
  millis integer not null,
  created_at timestamp with time zone not null default now(),
  constraint delivery_attempt_pkey PRIMARY KEY (tenant_id, endpoint_id, run_id, seq, epoch)
);
alter table plimsoll.delivery_attempt enable row level security;
alter table plimsoll.delivery_attempt force row level security;
alter table plimsoll.delivery_attempt owner to plimsoll_owner;
CREATE INDEX delivery_attempt_newest ON plimsoll.delivery_attempt USING btree (tenant_id, endpoint_id, created_at);
CREATE INDEX delivery_attempt_old ON plimsoll.delivery_attempt USING btree (tenant_id, created_at);
create policy retain on plimsoll.delivery_attempt for all to plimsoll_retain using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy tenant on plimsoll.delivery_attempt for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant delete on table plimsoll.delivery_attempt to plimsoll_retain;
grant delete, insert, select on table plimsoll.delivery_attempt to plimsoll_app;
grant select (created_at, endpoint_id, environment, epoch, run_id, seq, tenant_id) on table plimsoll.delivery_attempt to plimsoll_retain;

create unlogged table plimsoll.delta (
  tenant_id text not null,
  run_id text not null,
  seq bigint not null,
  environment text not null,
  generation bigint not null,
  step integer not null,
  attempt integer not null,
  body bytea not null,
  created_at timestamp with time zone not null default now(),
  constraint delta_pkey PRIMARY KEY (tenant_id, run_id, seq)
);
alter table plimsoll.delta enable row level security;
alter table plimsoll.delta force row level security;
alter table plimsoll.delta owner to plimsoll_owner;
create policy batch on plimsoll.delta for all to plimsoll_step using ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || run_id) || '|'::text)) > 0)) with check ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || run_id) || '|'::text)) > 0));
create policy retain on plimsoll.delta for all to plimsoll_retain using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy shred on plimsoll.delta for all to plimsoll_shred using ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy tenant on plimsoll.delta for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant delete on table plimsoll.delta to plimsoll_retain;
grant delete on table plimsoll.delta to plimsoll_shred;
grant delete, insert, select on table plimsoll.delta to plimsoll_app;
grant select (environment, run_id, tenant_id) on table plimsoll.delta to plimsoll_retain;
grant select (environment, run_id, tenant_id) on table plimsoll.delta to plimsoll_shred;

create table plimsoll.effect (
  tenant_id text not null,
  run_id text not null,
  step integer not null,
  "position" integer not null,
  environment text not null,
  session_id text not null,
  user_id text not null,
  subject_id text not null,
  kind plimsoll.effect_kind not null default 'tool'::text,
  call_id text not null,
  tool text not null,
  tool_version integer not null,
  level plimsoll.effect_level not null,
  approval plimsoll.approval not null,
  arguments bytea not null,
  arguments_hash text not null,
  fingerprint text not null,
  idempotency_key text not null,
  status plimsoll.effect_status not null,
  outcome plimsoll.outcome,
  error_code text,
  result bytea,
  result_hash text,
  attempt integer not null default 0,
  again boolean not null default false,
  wait_signal text,
  wait_until timestamp with time zone,
  waits integer not null default 0,
  resource text,
  resource_version text,
  compensates text,
  labels jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default now(),
  started_at timestamp with time zone,
  settled_at timestamp with time zone,
  forgotten_at timestamp with time zone,
  constraint effect_pkey PRIMARY KEY (tenant_id, run_id, step, "position"),
  constraint effect_check CHECK ((((status)::text = 'settled'::text) = (outcome IS NOT NULL))),
  constraint effect_check1 CHECK ((((level)::text = 'read'::text) OR ((status)::text = 'intended'::text) OR ((approval)::text = 'refused'::text) OR (started_at IS NOT NULL) OR ((outcome)::text = 'error'::text)))
) with (fillfactor=70);
alter table plimsoll.effect enable row level security;
alter table plimsoll.effect force row level security;
alter table plimsoll.effect owner to plimsoll_owner;
CREATE INDEX effect_repeats ON plimsoll.effect USING btree (tenant_id, session_id, arguments_hash) WHERE ((level)::text = 'irreversible'::text);
CREATE INDEX effect_signal ON plimsoll.effect USING btree (tenant_id, wait_signal) WHERE ((status)::text = 'waiting'::text);
CREATE INDEX effect_unknown ON plimsoll.effect USING btree (tenant_id, started_at) WHERE ((status)::text = 'unknown'::text);
CREATE UNIQUE INDEX effect_compensates ON plimsoll.effect USING btree (tenant_id, compensates) WHERE ((compensates IS NOT NULL) AND ((outcome IS NULL) OR ((outcome)::text = 'ok'::text)));
CREATE UNIQUE INDEX effect_key ON plimsoll.effect USING btree (tenant_id, idempotency_key) WHERE ((level)::text <> 'read'::text);
create policy batch on plimsoll.effect for all to plimsoll_step using ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || run_id) || '|'::text)) > 0)) with check ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || run_id) || '|'::text)) > 0));
create policy compensated on plimsoll.effect for select to plimsoll_step using ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/effect:'::text) || COALESCE(compensates, idempotency_key)) || '|'::text)) > 0));
create policy retain on plimsoll.effect for all to plimsoll_retain using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy shred on plimsoll.effect for all to plimsoll_shred using ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy tenant on plimsoll.effect for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert on table plimsoll.effect to plimsoll_step;
grant select on table plimsoll.effect to plimsoll_app;
grant select (approval, arguments_hash, attempt, compensates, environment, idempotency_key, level, outcome, "position", run_id, session_id, status, step, tenant_id, tool, user_id, wait_signal, waits) on table plimsoll.effect to plimsoll_step;
grant select (attempt, environment, "position", run_id, status, step, tenant_id) on table plimsoll.effect to plimsoll_shred;
grant select (environment, forgotten_at, "position", run_id, status, step, tenant_id) on table plimsoll.effect to plimsoll_retain;
grant update (again, attempt, error_code, outcome, resource, resource_version, result, result_hash, settled_at, started_at, status, wait_signal, wait_until, waits) on table plimsoll.effect to plimsoll_step;
grant update (arguments, forgotten_at, result) on table plimsoll.effect to plimsoll_retain;
grant update (attempt, resource, resource_version, started_at, status) on table plimsoll.effect to plimsoll_shred;

create table plimsoll.endpoint (
  tenant_id text not null,
  id text not null,
  environment text not null,
  url bytea not null,
  secret bytea not null,
  previous_secret bytea,
  previous_until timestamp with time zone,
  types text[],
  state plimsoll.endpoint_state not null default 'enabled'::text,
  reason text,
  starts_at timestamp with time zone not null default now(),
  seen_at timestamp with time zone not null default now(),
  failures integer not null default 0,
  failing_since timestamp with time zone,
  retry_at timestamp with time zone not null default now(),
  created_at timestamp with time zone not null default now(),
  constraint endpoint_pkey PRIMARY KEY (tenant_id, id)
) with (fillfactor=70);
alter table plimsoll.endpoint enable row level security;
alter table plimsoll.endpoint force row level security;
alter table plimsoll.endpoint owner to plimsoll_owner;
CREATE INDEX endpoint_enabled ON plimsoll.endpoint USING btree (tenant_id, environment) WHERE ((state)::text = 'enabled'::text);
create policy relay on plimsoll.endpoint for all to plimsoll_relay using (((state)::text = 'enabled'::text)) with check (((state)::text = 'enabled'::text));
create policy retain on plimsoll.endpoint for all to plimsoll_retain using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy shred on plimsoll.endpoint for all to plimsoll_shred using ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy tenant on plimsoll.endpoint for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant delete, insert, select on table plimsoll.endpoint to plimsoll_app;
grant select (environment, failures, id, retry_at, seen_at, starts_at, state, tenant_id, types) on table plimsoll.endpoint to plimsoll_relay;
grant select (environment, id, tenant_id) on table plimsoll.endpoint to plimsoll_shred;
grant select (environment, seen_at, starts_at, state, tenant_id) on table plimsoll.endpoint to plimsoll_retain;
grant update (failing_since, failures, previous_secret, previous_until, reason, retry_at, secret, state) on table plimsoll.endpoint to plimsoll_app;
grant update (reason, state) on table plimsoll.endpoint to plimsoll_shred;
grant update (seen_at) on table plimsoll.endpoint to plimsoll_relay;

create table plimsoll.errand (
  tenant_id text not null,
  id text not null,
  environment text not null,
  kind text not null,
  agent text not null,
  session_id text not null,
  user_id text not null,
  subject_id text not null,
  from_generation bigint not null,
  to_generation bigint not null,
  upto text not null,
  state text not null default 'due'::text,
  work_session text,
  run_id text,
  outcome text,
  attempts integer not null default 0,
  due_at timestamp with time zone not null default now(),
  created_at timestamp with time zone not null default now(),
  done_at timestamp with time zone,
  tries integer not null default 0,
  constraint errand_pkey PRIMARY KEY (tenant_id, id),
  constraint errand_check CHECK (((state = 'done'::text) = (done_at IS NOT NULL))),
  constraint errand_state_check CHECK ((state = ANY (ARRAY['due'::text, 'running'::text, 'clearing'::text, 'done'::text])))
) with (fillfactor=70);
alter table plimsoll.errand enable row level security;
alter table plimsoll.errand force row level security;
alter table plimsoll.errand owner to plimsoll_owner;
CREATE INDEX errand_due ON plimsoll.errand USING btree (due_at) WHERE (done_at IS NULL);
CREATE INDEX errand_run ON plimsoll.errand USING btree (tenant_id, run_id) WHERE (done_at IS NULL);
CREATE UNIQUE INDEX errand_extract ON plimsoll.errand USING btree (tenant_id, session_id, from_generation) WHERE ((kind = 'extract'::text) AND (outcome IS DISTINCT FROM 'forgotten'::text));
CREATE UNIQUE INDEX errand_open ON plimsoll.errand USING btree (tenant_id, session_id, kind, upto) WHERE (done_at IS NULL);
create policy due on plimsoll.errand for select to plimsoll_retain using ((done_at IS NULL));
create policy put_off on plimsoll.errand for update to plimsoll_retain using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy tenant on plimsoll.errand for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert, select on table plimsoll.errand to plimsoll_app;
grant select (done_at, due_at, environment, id, tenant_id) on table plimsoll.errand to plimsoll_retain;
grant update (attempts, done_at, due_at, outcome, run_id, state, tries, work_session) on table plimsoll.errand to plimsoll_app;
grant update (due_at) on table plimsoll.errand to plimsoll_retain;

create table plimsoll.event (
  tenant_id text not null,
  run_id text not null,
  seq bigint not null,
  environment text not null,
  type text not null,
  visibility plimsoll.visibility not null,
  body bytea not null,
  created_at timestamp with time zone not null default now(),
  constraint event_pkey PRIMARY KEY (tenant_id, run_id, seq)
);
alter table plimsoll.event enable row level security;
alter table plimsoll.event force row level security;
alter table plimsoll.event owner to plimsoll_owner;
CREATE INDEX event_created ON plimsoll.event USING brin (created_at);
create policy batch on plimsoll.event for all to plimsoll_step using ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || run_id) || '|'::text)) > 0)) with check ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || run_id) || '|'::text)) > 0));
create policy relay on plimsoll.event for select to plimsoll_relay using (((visibility)::text = 'user'::text));
create policy retain on plimsoll.event for all to plimsoll_retain using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy tenant on plimsoll.event for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant delete on table plimsoll.event to plimsoll_retain;
grant insert on table plimsoll.event to plimsoll_step;
grant select on table plimsoll.event to plimsoll_app;
grant select (created_at, environment, run_id, seq, tenant_id, type, visibility) on table plimsoll.event to plimsoll_relay;
grant select (created_at, environment, run_id, tenant_id, visibility) on table plimsoll.event to plimsoll_retain;

create table plimsoll.idempotency (
  tenant_id text not null,
  caller text not null,
  key text not null,
  environment text not null,
  operation text not null,
  body_hash text not null,
  run_id text not null,
  status integer,
  response bytea,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  constraint idempotency_pkey PRIMARY KEY (tenant_id, environment, caller, key)
);
alter table plimsoll.idempotency enable row level security;
alter table plimsoll.idempotency force row level security;
alter table plimsoll.idempotency owner to plimsoll_owner;
CREATE INDEX idempotency_old ON plimsoll.idempotency USING btree (tenant_id, expires_at);
CREATE INDEX idempotency_open ON plimsoll.idempotency USING btree (tenant_id, run_id) WHERE (status IS NULL);
create policy batch on plimsoll.idempotency for all to plimsoll_step using ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || run_id) || '|'::text)) > 0)) with check ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || run_id) || '|'::text)) > 0));
create policy retain on plimsoll.idempotency for all to plimsoll_retain using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy shred on plimsoll.idempotency for all to plimsoll_shred using ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy tenant on plimsoll.idempotency for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant delete on table plimsoll.idempotency to plimsoll_retain;
grant delete on table plimsoll.idempotency to plimsoll_shred;
grant delete, insert, select on table plimsoll.idempotency to plimsoll_app;
grant select (caller, environment, expires_at, key, tenant_id) on table plimsoll.idempotency to plimsoll_retain;
grant select (environment, key, tenant_id) on table plimsoll.idempotency to plimsoll_shred;
grant select (environment, run_id, status, tenant_id) on table plimsoll.idempotency to plimsoll_step;
grant update (created_at, response, run_id, status) on table plimsoll.idempotency to plimsoll_app;
grant update (response, status) on table plimsoll.idempotency to plimsoll_step;

create table plimsoll.ledger (
  tenant_id text not null,
  run_id text not null,
  seq bigint not null,
  environment text not null,
  level plimsoll.ledger_level not null default 'run'::text,
  parent_run_id text,
  step integer not null,
  kind plimsoll.ledger_kind not null,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  spent_cost bigint not null default 0,
  tool_calls integer not null default 0,
  known boolean not null default true,
  suspect boolean not null default false,
  reserved_tokens bigint not null default 0,
  reserved_cost bigint not null default 0,
  released_tokens bigint not null default 0,
  released_cost bigint not null default 0,
  created_at timestamp with time zone not null default now(),
  constraint ledger_pkey PRIMARY KEY (tenant_id, run_id, seq, level)
);
alter table plimsoll.ledger enable row level security;
alter table plimsoll.ledger force row level security;
alter table plimsoll.ledger owner to plimsoll_owner;
create policy batch on plimsoll.ledger for all to plimsoll_step using ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || run_id) || '|'::text)) > 0)) with check ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || run_id) || '|'::text)) > 0));
create policy tenant on plimsoll.ledger for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert on table plimsoll.ledger to plimsoll_step;
grant select on table plimsoll.ledger to plimsoll_app;

create table plimsoll.legal_hold (
  tenant_id text not null,
  id text not null,
  environment text not null,
  subject_id text,
  created_at timestamp with time zone not null default now(),
  released_at timestamp with time zone,
  constraint legal_hold_pkey PRIMARY KEY (tenant_id, id)
);
alter table plimsoll.legal_hold enable row level security;
alter table plimsoll.legal_hold force row level security;
alter table plimsoll.legal_hold owner to plimsoll_owner;
create policy retain on plimsoll.legal_hold for all to plimsoll_retain using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy shred on plimsoll.legal_hold for all to plimsoll_shred using ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy tenant on plimsoll.legal_hold for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert, select on table plimsoll.legal_hold to plimsoll_app;
grant select on table plimsoll.legal_hold to plimsoll_retain;
grant select (released_at, tenant_id) on table plimsoll.legal_hold to plimsoll_shred;
grant update (released_at) on table plimsoll.legal_hold to plimsoll_app;

create table plimsoll.member (
  tenant_id text not null,
  environment text not null,
  place text not null,
  user_id text not null,
  joined_at timestamp with time zone not null default now(),
  left_at timestamp with time zone,
  constraint member_pkey PRIMARY KEY (tenant_id, environment, place, user_id),
  constraint member_place_check CHECK ((place ~ '^(group|project):'::text))
);
alter table plimsoll.member enable row level security;
alter table plimsoll.member force row level security;
alter table plimsoll.member owner to plimsoll_owner;
CREATE INDEX member_user ON plimsoll.member USING btree (tenant_id, environment, user_id) WHERE (left_at IS NULL);
create policy tenant on plimsoll.member for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert, select on table plimsoll.member to plimsoll_app;
grant update (joined_at, left_at) on table plimsoll.member to plimsoll_app;

create table plimsoll.memory (
  tenant_id text not null,
  id text not null,
  environment text not null,
  subject_id text not null,
  user_id text not null,
  scope plimsoll.memory_scope not null,
  scope_id text not null,
  place text not null generated always as ((((scope)::text || ':'::text) || scope_id)) stored,
  permission_scope text[] not null,
  layer plimsoll.memory_layer not null,
  kind plimsoll.memory_kind not null,
  key text not null,
  slot text not null default ''::text,
  value bytea not null,
  value_hash text not null,
  version bigint not null default 1,
  status plimsoll.memory_status not null default 'active'::text,
  integrity text not null,
  confidentiality text not null,
  confidence real not null,
  importance real not null,
  sensitivity text not null,
  purpose text not null,
  consent_basis text not null,
  confirmed_by text,
  authority text,
  authority_ref text,
  detectors integer not null,
  recorded_at timestamp with time zone not null default now(),
  valid_from timestamp with time zone not null,
  expires_at timestamp with time zone,
  last_used_at timestamp with time zone,
  use_count bigint not null default 0,
  deleted_at timestamp with time zone,
  constraint memory_pkey PRIMARY KEY (tenant_id, id),
  constraint memory_check CHECK ((((status)::text = 'deleted'::text) = (deleted_at IS NOT NULL))),
  constraint memory_confidence_check CHECK (((confidence >= (0)::double precision) AND (confidence <= (1)::double precision))),
  constraint memory_importance_check CHECK (((importance >= (0)::double precision) AND (importance <= (1)::double precision))),
  constraint memory_permission_scope_check CHECK ((cardinality(permission_scope) > 0)),
  constraint memory_sensitivity_check CHECK ((sensitivity = ANY (ARRAY['none'::text, 'personal'::text, 'special'::text])))
) with (fillfactor=80);
alter table plimsoll.memory enable row level security;
alter table plimsoll.memory force row level security;
alter table plimsoll.memory owner to plimsoll_owner;
CREATE INDEX memory_authority ON plimsoll.memory USING btree (tenant_id, environment, authority, authority_ref) WHERE (authority IS NOT NULL);
CREATE INDEX memory_key ON plimsoll.memory USING btree (tenant_id, environment, key, place, subject_id) WHERE (deleted_at IS NULL);
CREATE INDEX memory_place ON plimsoll.memory USING btree (tenant_id, environment, place) WHERE (deleted_at IS NULL);
CREATE INDEX memory_subject ON plimsoll.memory USING btree (tenant_id, environment, subject_id, recorded_at);
CREATE UNIQUE INDEX memory_current ON plimsoll.memory USING btree (tenant_id, environment, place, subject_id, key, slot) WHERE (deleted_at IS NULL);
create policy shred on plimsoll.memory for all to plimsoll_shred using ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy tenant on plimsoll.memory for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy walls on plimsoll.memory for select to plimsoll_retain using ((deleted_at IS NULL));
grant insert, select on table plimsoll.memory to plimsoll_app;
grant select (deleted_at, environment, id, tenant_id, version) on table plimsoll.memory to plimsoll_shred;
grant select (deleted_at, environment, tenant_id) on table plimsoll.memory to plimsoll_retain;
grant update (authority, authority_ref, confidence, confidentiality, confirmed_by, consent_basis, deleted_at, detectors, expires_at, importance, integrity, last_used_at, permission_scope, purpose, recorded_at, sensitivity, slot, status, use_count, user_id, valid_from, value, value_hash, version) on table plimsoll.memory to plimsoll_app;
grant update (deleted_at, status, value, value_hash, version) on table plimsoll.memory to plimsoll_shred;

create table plimsoll.memory_candidate (
  tenant_id text not null,
  id text not null,
  environment text not null,
  subject_id text not null,
  user_id text not null,
  session_id text,
  run_id text,
  place text not null,
  key text not null,
  body bytea not null,
  value_hash text not null,
  reasons text[] not null,
  status text not null default 'pending'::text,
  version bigint not null default 1,
  memory_id text,
  decided_by text,
  decided_at timestamp with time zone,
  expires_at timestamp with time zone not null,
  created_at timestamp with time zone not null default now(),
  sources text[] not null default '{}'::text[],
  constraint memory_candidate_pkey PRIMARY KEY (tenant_id, id),
  constraint memory_candidate_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'accepted'::text, 'declined'::text, 'expired'::text, 'superseded'::text])))
) with (fillfactor=80);
alter table plimsoll.memory_candidate enable row level security;
alter table plimsoll.memory_candidate force row level security;
alter table plimsoll.memory_candidate owner to plimsoll_owner;
CREATE INDEX memory_candidate_sources ON plimsoll.memory_candidate USING gin (sources) WHERE (status = 'pending'::text);
CREATE INDEX memory_candidate_subject ON plimsoll.memory_candidate USING btree (tenant_id, environment, subject_id, created_at);
CREATE INDEX memory_candidate_value ON plimsoll.memory_candidate USING btree (tenant_id, environment, place, subject_id, key, value_hash);
CREATE UNIQUE INDEX memory_candidate_open ON plimsoll.memory_candidate USING btree (tenant_id, environment, place, subject_id, key, value_hash) WHERE (status = 'pending'::text);
create policy tenant on plimsoll.memory_candidate for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert, select on table plimsoll.memory_candidate to plimsoll_app;
grant update (body, decided_at, decided_by, memory_id, status, version) on table plimsoll.memory_candidate to plimsoll_app;

create table plimsoll.memory_entry (
  tenant_id text not null,
  memory_id text not null,
  environment text not null,
  place text not null,
  version bigint not null,
  lexer text not null,
  terms bigint[] not null,
  tfs real[] not null,
  length real not null,
  indexed_at timestamp with time zone not null default now(),
  constraint memory_entry_pkey PRIMARY KEY (tenant_id, memory_id),
  constraint memory_entry_check CHECK ((cardinality(tfs) = cardinality(terms)))
);
alter table plimsoll.memory_entry enable row level security;
alter table plimsoll.memory_entry force row level security;
alter table plimsoll.memory_entry owner to plimsoll_owner;
CREATE INDEX memory_entry_lexer ON plimsoll.memory_entry USING btree (tenant_id, environment, lexer);
create policy tenant on plimsoll.memory_entry for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant delete, insert, select on table plimsoll.memory_entry to plimsoll_app;
grant update (indexed_at, length, lexer, terms, tfs, version) on table plimsoll.memory_entry to plimsoll_app;

create table plimsoll.memory_source (
  tenant_id text not null,
  memory_id text not null,
  kind text not null,
  ref text not null,
  environment text not null,
  role text not null,
  version bigint not null,
  run_id text,
  quote bytea,
  created_at timestamp with time zone not null default now(),
  constraint memory_source_pkey PRIMARY KEY (tenant_id, memory_id, kind, ref, role),
  constraint memory_source_kind_check CHECK ((kind = ANY (ARRAY['message'::text, 'user'::text, 'call'::text, 'memory'::text, 'authority'::text, 'operator'::text, 'import'::text]))),
  constraint memory_source_role_check CHECK ((role = ANY (ARRAY['evidence'::text, 'neighbour'::text, 'writer'::text])))
);
alter table plimsoll.memory_source enable row level security;
alter table plimsoll.memory_source force row level security;
alter table plimsoll.memory_source owner to plimsoll_owner;
CREATE INDEX memory_source_ref ON plimsoll.memory_source USING btree (tenant_id, kind, ref);
create policy shred on plimsoll.memory_source for all to plimsoll_shred using ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy tenant on plimsoll.memory_source for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant delete, insert, select on table plimsoll.memory_source to plimsoll_app;
grant select (memory_id, tenant_id) on table plimsoll.memory_source to plimsoll_shred;
grant update (quote) on table plimsoll.memory_source to plimsoll_app;
grant update (quote) on table plimsoll.memory_source to plimsoll_shred;

create table plimsoll.memory_term (
  tenant_id text not null,
  environment text not null,
  place text not null,
  term bigint not null,
  memory_id text not null,
  version bigint not null,
  tf real not null,
  length real not null,
  constraint memory_term_pkey PRIMARY KEY (tenant_id, environment, place, term, memory_id) INCLUDE (version, tf, length),
  constraint memory_term_length_check CHECK ((length > (0)::double precision)),
  constraint memory_term_tf_check CHECK ((tf > (0)::double precision))
);
alter table plimsoll.memory_term enable row level security;
alter table plimsoll.memory_term force row level security;
alter table plimsoll.memory_term owner to plimsoll_owner;
create policy tenant on plimsoll.memory_term for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant delete, insert, select on table plimsoll.memory_term to plimsoll_app;
grant update (length, tf, version) on table plimsoll.memory_term to plimsoll_app;

create table plimsoll.memory_use (
  tenant_id text not null,
  run_id text not null,
  memory_id text not null,
  environment text not null,
  version bigint not null,
  rank integer not null,
  score real not null,
  reason text not null,
  created_at timestamp with time zone not null default now(),
  constraint memory_use_pkey PRIMARY KEY (tenant_id, run_id, memory_id)
);
alter table plimsoll.memory_use enable row level security;
alter table plimsoll.memory_use force row level security;
alter table plimsoll.memory_use owner to plimsoll_owner;
CREATE INDEX memory_use_memory ON plimsoll.memory_use USING btree (tenant_id, memory_id, created_at);
create policy tenant on plimsoll.memory_use for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant delete, insert, select on table plimsoll.memory_use to plimsoll_app;

create table plimsoll.memory_vector (
  tenant_id text not null,
  environment text not null,
  place text not null,
  memory_id text not null,
  version bigint not null,
  model text not null,
  dimensions integer not null,
  body bytea not null,
  constraint memory_vector_pkey PRIMARY KEY (tenant_id, environment, place, memory_id),
  constraint memory_vector_dimensions_check CHECK ((dimensions > 0))
);
alter table plimsoll.memory_vector enable row level security;
alter table plimsoll.memory_vector force row level security;
alter table plimsoll.memory_vector owner to plimsoll_owner;
create policy tenant on plimsoll.memory_vector for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant delete, insert, select on table plimsoll.memory_vector to plimsoll_app;
grant update (body, dimensions, model, version) on table plimsoll.memory_vector to plimsoll_app;

create table plimsoll.memory_version (
  tenant_id text not null,
  memory_id text not null,
  version bigint not null,
  environment text not null,
  value bytea,
  value_hash text not null,
  user_id text not null,
  change text not null,
  integrity text not null,
  confidence real not null,
  valid_from timestamp with time zone not null,
  recorded_at timestamp with time zone not null default now(),
  constraint memory_version_pkey PRIMARY KEY (tenant_id, memory_id, version),
  constraint memory_version_change_check CHECK ((change = ANY (ARRAY['created'::text, 'superseded'::text, 'merged'::text, 'corrected'::text, 'late'::text])))
);
alter table plimsoll.memory_version enable row level security;
alter table plimsoll.memory_version force row level security;
alter table plimsoll.memory_version owner to plimsoll_owner;
create policy shred on plimsoll.memory_version for all to plimsoll_shred using ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy tenant on plimsoll.memory_version for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert, select on table plimsoll.memory_version to plimsoll_app;
grant select (memory_id, tenant_id) on table plimsoll.memory_version to plimsoll_shred;
grant update (value, value_hash) on table plimsoll.memory_version to plimsoll_app;
grant update (value, value_hash) on table plimsoll.memory_version to plimsoll_shred;

create table plimsoll.message (
  tenant_id text not null,
  run_id text not null,
  seq integer not null,
  environment text not null,
  session_id text not null,
  user_id text not null,
  subject_id text not null,
  step integer not null,
  "position" integer,
  role plimsoll.role not null,
  parent_message text,
  body bytea not null,
  content_hash text not null,
  visibility plimsoll.visibility not null,
  integrity text not null,
  confidentiality text not null,
  origin jsonb not null,
  partial boolean not null default false,
  tokens integer not null,
  created_at timestamp with time zone not null default now(),
  constraint message_pkey PRIMARY KEY (tenant_id, run_id, seq)
);
alter table plimsoll.message enable row level security;
alter table plimsoll.message force row level security;
alter table plimsoll.message owner to plimsoll_owner;
create policy batch on plimsoll.message for all to plimsoll_step using ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || run_id) || '|'::text)) > 0)) with check ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || run_id) || '|'::text)) > 0));
create policy retain on plimsoll.message for all to plimsoll_retain using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy tenant on plimsoll.message for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant delete on table plimsoll.message to plimsoll_retain;
grant insert on table plimsoll.message to plimsoll_step;
grant select on table plimsoll.message to plimsoll_app;
grant select (environment, run_id, seq, step, tenant_id) on table plimsoll.message to plimsoll_retain;
grant update (body, content_hash, tokens) on table plimsoll.message to plimsoll_retain;

create table plimsoll.migration (
  version integer not null,
  name text not null,
  checksum text not null,
  safe boolean not null,
  applied_at timestamp with time zone not null default now(),
  constraint migration_pkey PRIMARY KEY (version)
);
alter table plimsoll.migration owner to plimsoll_owner;
grant select on table plimsoll.migration to plimsoll_app;

create table plimsoll.procedure (
  tenant_id text not null,
  id text not null,
  environment text not null,
  name text not null,
  version integer not null,
  body bytea not null,
  body_hash text not null,
  status text not null default 'proposed'::text,
  sources text[] not null,
  source_versions bigint[] not null,
  evaluation text,
  score double precision,
  passed boolean,
  evaluated_at timestamp with time zone,
  proposed_by text not null,
  created_at timestamp with time zone not null default now(),
  approved_by text,
  approved_at timestamp with time zone,
  ended_at timestamp with time zone,
  forgotten_at timestamp with time zone,
  constraint procedure_pkey PRIMARY KEY (tenant_id, id),
  constraint procedure_tenant_id_environment_name_version_key UNIQUE (tenant_id, environment, name, version),
  constraint procedure_check CHECK ((cardinality(source_versions) = cardinality(sources))),
  constraint procedure_check1 CHECK (((status = ANY (ARRAY['approved'::text, 'retired'::text])) = (approved_at IS NOT NULL))),
  constraint procedure_check2 CHECK (((approved_by IS NULL) = (approved_at IS NULL))),
  constraint procedure_check3 CHECK (((passed IS NULL) = (evaluated_at IS NULL))),
  constraint procedure_check4 CHECK (((forgotten_at IS NULL) = (octet_length(body) > 0))),
  constraint procedure_check5 CHECK (((approved_at IS NULL) OR (passed IS TRUE))),
  constraint procedure_sources_check CHECK ((cardinality(sources) > 0)),
  constraint procedure_status_check CHECK ((status = ANY (ARRAY['proposed'::text, 'evaluated'::text, 'approved'::text, 'retired'::text, 'declined'::text]))),
  constraint procedure_version_check CHECK ((version > 0))
);
alter table plimsoll.procedure enable row level security;
alter table plimsoll.procedure force row level security;
alter table plimsoll.procedure owner to plimsoll_owner;
CREATE UNIQUE INDEX procedure_standing ON plimsoll.procedure USING btree (tenant_id, environment, name) WHERE (status = 'approved'::text);
create policy tenant on plimsoll.procedure for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert, select on table plimsoll.procedure to plimsoll_app;
grant update (approved_at, approved_by, body, body_hash, ended_at, evaluated_at, evaluation, forgotten_at, passed, score, status) on table plimsoll.procedure to plimsoll_app;

create table plimsoll.restore_log (
  name text not null,
  segment text not null default ''::text,
  written_at timestamp with time zone not null default now(),
  constraint restore_log_pkey PRIMARY KEY (name),
  constraint restore_log_name_check CHECK ((name = 'log'::text))
);
alter table plimsoll.restore_log owner to plimsoll_owner;
grant select on table plimsoll.restore_log to plimsoll_app;
grant update (segment, written_at) on table plimsoll.restore_log to plimsoll_app;

create table plimsoll.retention (
  tenant_id text not null,
  environment text not null,
  class plimsoll.retention_class not null,
  days integer,
  after_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  after_run text not null default ''::text,
  kept_at timestamp with time zone,
  swept_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  failed_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  constraint retention_pkey PRIMARY KEY (tenant_id, environment, class),
  constraint retention_days_check CHECK (((days >= 0) AND (days <= 36500)))
);
alter table plimsoll.retention enable row level security;
alter table plimsoll.retention force row level security;
alter table plimsoll.retention owner to plimsoll_owner;
CREATE INDEX retention_due ON plimsoll.retention USING btree (swept_at) WHERE (days IS NOT NULL);
create policy due on plimsoll.retention for select to plimsoll_retain using ((days IS NOT NULL));
create policy retain on plimsoll.retention for all to plimsoll_retain using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy shred on plimsoll.retention for all to plimsoll_shred using ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy tenant on plimsoll.retention for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert, select on table plimsoll.retention to plimsoll_app;
grant select on table plimsoll.retention to plimsoll_retain;
grant select (tenant_id) on table plimsoll.retention to plimsoll_shred;
grant update (after_at, after_run, days, kept_at) on table plimsoll.retention to plimsoll_app;
grant update (after_at, after_run, failed_at, kept_at, swept_at) on table plimsoll.retention to plimsoll_retain;
grant update (days) on table plimsoll.retention to plimsoll_shred;

create table plimsoll.run (
  tenant_id plimsoll.name not null,
  id text not null,
  environment plimsoll.name not null,
  session_id text not null,
  branch text not null default 'main'::text,
  generation bigint not null,
  user_id text not null,
  subject_id text not null,
  permissions text[] not null default '{}'::text[],
  agent text not null,
  release text not null,
  state_version integer not null default 1,
  parent_run_id text,
  status plimsoll.run_status not null,
  wait_reason plimsoll.wait_reason,
  phase plimsoll.phase not null default 'planning'::text,
  step integer not null default 0,
  version bigint not null default 1,
  event_seq bigint not null default 0,
  message_seq integer not null default 0,
  commits bigint not null default 0,
  worker_id text,
  epoch bigint not null default 0,
  attempts integer not null default 0,
  due_at timestamp with time zone not null default now(),
  progress_at timestamp with time zone,
  followed_until timestamp with time zone,
  progress_ms plimsoll.amount not null,
  deadline_at timestamp with time zone not null,
  max_steps integer not null,
  max_tool_calls integer not null,
  max_tokens plimsoll.amount not null,
  max_cost plimsoll.amount not null,
  max_attempts integer not null,
  used_tool_calls integer not null default 0,
  used_tokens plimsoll.amount not null default 0,
  used_cost plimsoll.amount not null default 0,
  reserved_tokens plimsoll.amount not null default 0,
  reserved_cost plimsoll.amount not null default 0,
  cancel_cause plimsoll.cancel_cause,
  integrity text not null default 'user'::text,
  confidentiality text not null default 'public'::text,
  watermark_from text,
  end_reason text,
  created_at timestamp with time zone not null default now(),
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  parks_alone boolean not null default false,
  procedures text[] not null default '{}'::text[],
  constraint run_pkey PRIMARY KEY (tenant_id, id),
  constraint run_check CHECK ((((status)::text = ANY (ARRAY['succeeded'::text, 'failed'::text, 'canceled'::text])) = (end_reason IS NOT NULL))),
  constraint run_check1 CHECK ((((status)::text = 'waiting_confirmation'::text) = (wait_reason IS NOT NULL))),
  constraint run_check2 CHECK ((((status)::text = 'running'::text) = (worker_id IS NOT NULL)))
) with (fillfactor=50);
alter table plimsoll.run enable row level security;
alter table plimsoll.run force row level security;
alter table plimsoll.run owner to plimsoll_owner;
CREATE INDEX run_active ON plimsoll.run USING btree (tenant_id, session_id, branch, generation) WHERE ((status)::text = ANY (ARRAY['queued'::text, 'running'::text, 'waiting_confirmation'::text]));
CREATE INDEX run_driven ON plimsoll.run USING btree (worker_id) WHERE ((status)::text = 'running'::text);
CREATE INDEX run_due ON plimsoll.run USING btree (due_at) WHERE ((status)::text = ANY (ARRAY['queued'::text, 'waiting_confirmation'::text]));
CREATE INDEX run_ended ON plimsoll.run USING btree (tenant_id, environment, ended_at, id) WHERE (ended_at IS NOT NULL);
CREATE INDEX run_followed ON plimsoll.run USING btree (followed_until) WHERE ((followed_until IS NOT NULL) AND ((status)::text = ANY (ARRAY['queued'::text, 'running'::text, 'waiting_confirmation'::text])));
CREATE UNIQUE INDEX run_generation ON plimsoll.run USING btree (tenant_id, session_id, branch, generation);
create policy abandon on plimsoll.run for update to plimsoll_claim using ((((status)::text = ANY (ARRAY['queued'::text, 'running'::text, 'waiting_confirmation'::text])) AND (cancel_cause IS NULL) AND (followed_until < now()))) with check (((cancel_cause)::text = 'disconnect'::text));
create policy batch on plimsoll.run for all to plimsoll_step using ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || (tenant_id)::text) || '/'::text) || (environment)::text) || '/'::text) || id) || '|'::text)) > 0)) with check ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || (tenant_id)::text) || '/'::text) || (environment)::text) || '/'::text) || id) || '|'::text)) > 0));
create policy claim on plimsoll.run for update to plimsoll_claim using (((((status)::text = ANY (ARRAY['queued'::text, 'waiting_confirmation'::text])) AND (due_at <= now())) OR (((status)::text = 'running'::text) AND (((progress_at + ((progress_ms)::double precision * '00:00:00.001'::interval)) <= now()) OR (NOT (EXISTS ( SELECT
   FROM plimsoll.worker w
  WHERE ((w.id = run.worker_id) AND (w.lease_until > now()))))))))) with check (((status)::text = ANY (ARRAY['queued'::text, 'running'::text])));
create policy claimable on plimsoll.run for select to plimsoll_claim using (((status)::text = ANY (ARRAY['queued'::text, 'running'::text, 'waiting_confirmation'::text])));
create policy relay on plimsoll.run for select to plimsoll_relay using ((strpos(agent, '/'::text) > 0));
create policy retain on plimsoll.run for all to plimsoll_retain using ((((tenant_id)::text = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND ((environment)::text = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check ((((tenant_id)::text = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND ((environment)::text = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy shred on plimsoll.run for all to plimsoll_shred using (((tenant_id)::text = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check (((tenant_id)::text = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy tenant on plimsoll.run for all to plimsoll_app using ((((tenant_id)::text = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND ((environment)::text = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check ((((tenant_id)::text = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND ((environment)::text = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert, select on table plimsoll.run to plimsoll_step;
grant select on table plimsoll.run to plimsoll_app;
grant select (agent, attempts, branch, cancel_cause, created_at, deadline_at, due_at, environment, epoch, followed_until, generation, id, parks_alone, progress_at, progress_ms, session_id, started_at, status, tenant_id, version, wait_reason, worker_id) on table plimsoll.run to plimsoll_claim;
grant select (agent, id, tenant_id) on table plimsoll.run to plimsoll_relay;
grant select (created_at, ended_at, environment, id, session_id, status, subject_id, tenant_id) on table plimsoll.run to plimsoll_retain;
grant select (ended_at, environment, epoch, id, status, tenant_id, version) on table plimsoll.run to plimsoll_shred;
grant update (attempts, cancel_cause, commits, confidentiality, due_at, end_reason, ended_at, event_seq, followed_until, integrity, message_seq, parks_alone, phase, progress_at, reserved_cost, reserved_tokens, status, step, used_cost, used_tokens, used_tool_calls, version, wait_reason, watermark_from, worker_id) on table plimsoll.run to plimsoll_step;
grant update (attempts, cancel_cause, due_at, epoch, progress_at, started_at, status, version, wait_reason, worker_id) on table plimsoll.run to plimsoll_claim;
grant update (cancel_cause, due_at, end_reason, ended_at, epoch, followed_until, phase, reserved_cost, reserved_tokens, status, version, wait_reason, worker_id) on table plimsoll.run to plimsoll_shred;

create table plimsoll.session (
  tenant_id text not null,
  id text not null,
  environment text not null,
  user_id text not null,
  subject_id text not null,
  agent text not null,
  version bigint not null default 1,
  generation bigint not null default 0,
  closed_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  constraint session_pkey PRIMARY KEY (tenant_id, id)
) with (fillfactor=70);
alter table plimsoll.session enable row level security;
alter table plimsoll.session force row level security;
alter table plimsoll.session owner to plimsoll_owner;
create policy batch on plimsoll.session for all to plimsoll_step using ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || id) || '|'::text)) > 0)) with check ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || id) || '|'::text)) > 0));
create policy shred on plimsoll.session for all to plimsoll_shred using ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy tenant on plimsoll.session for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant delete, insert, select on table plimsoll.session to plimsoll_step;
grant select on table plimsoll.session to plimsoll_app;
grant select (closed_at, tenant_id) on table plimsoll.session to plimsoll_shred;
grant update (closed_at) on table plimsoll.session to plimsoll_shred;
grant update (closed_at, generation, version) on table plimsoll.session to plimsoll_step;

create table plimsoll.signal (
  tenant_id text not null,
  environment text not null,
  key text not null,
  waiters text[] not null default '{}'::text[],
  body bytea,
  body_hash text,
  created_at timestamp with time zone not null default now(),
  told_at timestamp with time zone,
  constraint signal_pkey PRIMARY KEY (tenant_id, environment, key),
  constraint signal_check CHECK (((body IS NULL) = (body_hash IS NULL)))
) with (fillfactor=70);
alter table plimsoll.signal enable row level security;
alter table plimsoll.signal force row level security;
alter table plimsoll.signal owner to plimsoll_owner;
CREATE INDEX signal_old ON plimsoll.signal USING btree (tenant_id, environment, created_at);
create policy batch on plimsoll.signal for all to plimsoll_step using ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || ('signal:'::text || key)) || '|'::text)) > 0)) with check ((strpos(current_setting('app.batch'::text, true), (((((('|'::text || tenant_id) || '/'::text) || environment) || '/'::text) || ('signal:'::text || key)) || '|'::text)) > 0));
create policy retain on plimsoll.signal for all to plimsoll_retain using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy shred on plimsoll.signal for all to plimsoll_shred using ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy tenant on plimsoll.signal for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant delete on table plimsoll.signal to plimsoll_retain;
grant delete on table plimsoll.signal to plimsoll_shred;
grant insert, select, update on table plimsoll.signal to plimsoll_step;
grant select on table plimsoll.signal to plimsoll_app;
grant select (created_at, environment, key, tenant_id, told_at, waiters) on table plimsoll.signal to plimsoll_retain;
grant select (environment, key, tenant_id) on table plimsoll.signal to plimsoll_shred;

create table plimsoll.sink (
  name text not null,
  starts_at timestamp with time zone not null default now(),
  seen_at timestamp with time zone not null default now(),
  constraint sink_pkey PRIMARY KEY (name),
  constraint sink_name_check CHECK (((name ~ '^[a-z0-9_]{1,40}$'::text) AND (name !~ '^whk_'::text)))
);
alter table plimsoll.sink owner to plimsoll_owner;
grant insert, select on table plimsoll.sink to plimsoll_relay;
grant select (seen_at, starts_at) on table plimsoll.sink to plimsoll_retain;
grant update (seen_at) on table plimsoll.sink to plimsoll_relay;

create table plimsoll.summary (
  tenant_id text not null,
  id text not null,
  environment text not null,
  session_id text not null,
  user_id text not null,
  subject_id text not null,
  agent text not null,
  from_generation bigint not null,
  to_generation bigint not null,
  from_message text not null,
  to_message text not null,
  model text not null,
  prompt integer not null,
  state text not null,
  reason text,
  body bytea not null,
  created_at timestamp with time zone not null default now(),
  rechecked_at timestamp with time zone,
  recheck_reason text,
  constraint summary_pkey PRIMARY KEY (tenant_id, id),
  constraint summary_check CHECK (((state = 'verified'::text) = (reason IS NULL))),
  constraint summary_state_check CHECK ((state = ANY (ARRAY['verified'::text, 'rejected'::text, 'stale'::text])))
) with (fillfactor=80);
alter table plimsoll.summary enable row level security;
alter table plimsoll.summary force row level security;
alter table plimsoll.summary owner to plimsoll_owner;
CREATE INDEX summary_session ON plimsoll.summary USING btree (tenant_id, session_id, from_generation);
create policy tenant on plimsoll.summary for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert, select on table plimsoll.summary to plimsoll_app;
grant update (body, reason, recheck_reason, rechecked_at, state) on table plimsoll.summary to plimsoll_app;

create table plimsoll.tenant (
  id text not null,
  created_at timestamp with time zone not null default now(),
  constraint tenant_pkey PRIMARY KEY (id),
  constraint tenant_id_check CHECK ((id ~ '^[a-z0-9_]{1,40}$'::text))
);
alter table plimsoll.tenant owner to plimsoll_owner;
grant insert, select on table plimsoll.tenant to plimsoll_app;

create table plimsoll.tenant_key (
  tenant_id text not null,
  epoch integer not null,
  environment text not null,
  kek text not null,
  wrapped bytea not null,
  created_at timestamp with time zone not null default now(),
  destroyed_at timestamp with time zone,
  constraint tenant_key_pkey PRIMARY KEY (tenant_id, epoch),
  constraint tenant_key_check CHECK (((destroyed_at IS NULL) OR (wrapped = '\x'::bytea))),
  constraint tenant_key_epoch_check CHECK ((epoch > 0))
);
alter table plimsoll.tenant_key enable row level security;
alter table plimsoll.tenant_key force row level security;
alter table plimsoll.tenant_key owner to plimsoll_owner;
CREATE INDEX tenant_key_destroyed ON plimsoll.tenant_key USING btree (destroyed_at) WHERE (destroyed_at IS NOT NULL);
create policy relay on plimsoll.tenant_key for select to plimsoll_relay using ((destroyed_at IS NOT NULL));
create policy shred on plimsoll.tenant_key for all to plimsoll_shred using ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy tenant on plimsoll.tenant_key for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy wrapped on plimsoll.tenant_key for select to plimsoll_shred using ((epoch > 0));
grant insert on table plimsoll.tenant_key to plimsoll_shred;
grant insert, select on table plimsoll.tenant_key to plimsoll_app;
grant select (created_at, destroyed_at, environment, epoch, kek, tenant_id) on table plimsoll.tenant_key to plimsoll_shred;
grant select (destroyed_at, tenant_id) on table plimsoll.tenant_key to plimsoll_relay;
grant update (destroyed_at, wrapped) on table plimsoll.tenant_key to plimsoll_shred;
grant update (kek, wrapped) on table plimsoll.tenant_key to plimsoll_app;

create table plimsoll.tombstone (
  tenant_id text not null,
  kind text not null,
  id text not null,
  environment text not null,
  created_at timestamp with time zone not null default now(),
  constraint tombstone_pkey PRIMARY KEY (tenant_id, kind, id)
);
alter table plimsoll.tombstone enable row level security;
alter table plimsoll.tombstone force row level security;
alter table plimsoll.tombstone owner to plimsoll_owner;
CREATE INDEX tombstone_new ON plimsoll.tombstone USING btree (created_at);
create policy gone on plimsoll.tombstone for select to plimsoll_shred using ((created_at IS NOT NULL));
create policy shred on plimsoll.tombstone for all to plimsoll_shred using ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text))) with check ((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)));
create policy tenant on plimsoll.tombstone for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant insert, select on table plimsoll.tombstone to plimsoll_app;
grant insert, select on table plimsoll.tombstone to plimsoll_shred;
grant update (created_at) on table plimsoll.tombstone to plimsoll_app;

create table plimsoll.tool_calls (
  tenant_id text not null,
  environment text not null,
  tool text not null,
  starts timestamp with time zone[] not null,
  constraint tool_calls_pkey PRIMARY KEY (tenant_id, environment, tool)
);
alter table plimsoll.tool_calls enable row level security;
alter table plimsoll.tool_calls force row level security;
alter table plimsoll.tool_calls owner to plimsoll_owner;
create policy retain on plimsoll.tool_calls for all to plimsoll_retain using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
create policy tenant on plimsoll.tool_calls for all to plimsoll_app using (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text)))) with check (((tenant_id = NULLIF(current_setting('app.tenant'::text, true), ''::text)) AND (environment = NULLIF(current_setting('app.environment'::text, true), ''::text))));
grant delete on table plimsoll.tool_calls to plimsoll_retain;
grant insert, select on table plimsoll.tool_calls to plimsoll_app;
grant select (environment, starts, tenant_id, tool) on table plimsoll.tool_calls to plimsoll_retain;
grant update (starts) on table plimsoll.tool_calls to plimsoll_app;

create table plimsoll.worker (
  id text not null,
  host text not null,
  pid integer not null,
  started_at timestamp with time zone not null default now(),
  lease_until timestamp with time zone not null,
  constraint worker_pkey PRIMARY KEY (id)
);
alter table plimsoll.worker owner to plimsoll_owner;
grant delete, insert, select, update on table plimsoll.worker to plimsoll_app;
grant select on table plimsoll.worker to plimsoll_claim;
grant select on table plimsoll.worker to plimsoll_relay;
grant select on table plimsoll.worker to plimsoll_step;

-- functions

CREATE OR REPLACE FUNCTION plimsoll.abandon(p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare
  taken int;
begin
  with left_alone as materialized (
    select q.tenant_id, q.id from plimsoll.run q
    where q.followed_until < now() and q.status in ('queued', 'running', 'waiting_confirmation') and q.cancel_cause is null
      and not q.parks_alone
    for update skip locked
    limit p_limit
  )
  update plimsoll.run r set cancel_cause = 'disconnect', version = r.version + 1,
    due_at = case when r.status = 'running' or r.wait_reason = 'unknown_effect' then r.due_at else now() end
  from left_alone x where r.tenant_id = x.tenant_id and r.id = x.id;
  get diagnostics taken = row_count;
  return taken;
end $function$;
alter function plimsoll.abandon(integer) owner to plimsoll_claim;
grant execute on function plimsoll.abandon(integer) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.attend(p_tenant text, p_environment text, p_run text, p_ms bigint, p_parks boolean DEFAULT false)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare
  wall text;
  found_rows int;
begin
  wall := set_config('app.batch', '|' || p_tenant || '/' || p_environment || '/' || p_run || '|', true);
  update plimsoll.run r set followed_until = greatest(r.followed_until, now() + p_ms * interval '1 millisecond'),
    parks_alone = p_parks,
    due_at = case when r.wait_reason = 'follower' then now() else r.due_at end
  where r.tenant_id = p_tenant and r.environment = p_environment and r.id = p_run
    and r.status in ('queued', 'running', 'waiting_confirmation');
  get diagnostics found_rows = row_count;
  wall := set_config('app.batch', '', true);
  return found_rows;
end $function$;
alter function plimsoll.attend(text,text,text,bigint,boolean) owner to plimsoll_step;
grant execute on function plimsoll.attend(text,text,text,bigint,boolean) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.cancel(p jsonb, p_keys text[])
 RETURNS TABLE(n integer, version bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  wall text;
  t record;
  r record;
begin
  wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);
  for t in
    select * from rows from (jsonb_to_recordset(p) as (tenant text, environment text, run text, version int8, cause text, event text))
      with ordinality as t(tenant, environment, run, version, cause, event, n) order by tenant, run
  loop
    update plimsoll.run x set cancel_cause = t.cause, version = x.version + 1, event_seq = x.event_seq + 1
    where x.tenant_id = t.tenant and x.environment = t.environment and x.id = t.run
      and x.version = t.version and x.status = 'running' and x.cancel_cause is null
    returning x.version, x.event_seq into r;
    continue when not found;
    insert into plimsoll.event (tenant_id, run_id, seq, environment, type, visibility, body)
    values (t.tenant, t.run, r.event_seq, t.environment, 'cancel_requested', 'user', decode(t.event, 'base64'));
    n := t.n;
    version := r.version;
    return next;
  end loop;
  wall := set_config('app.batch', '', true);
end $function$;
alter function plimsoll.cancel(jsonb,text[]) owner to plimsoll_step;
grant execute on function plimsoll.cancel(jsonb,text[]) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.claim(p_worker text, p_agents text[], p_limit integer)
 RETURNS TABLE(tenant text, environment text, run text, epoch bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
begin
  return query
  -- materialized: joined as a subquery it may be scanned again for each row, and each scan locks further runs
  with due as materialized (
    select q.tenant_id, q.id from plimsoll.run q
    where q.status in ('queued', 'waiting_confirmation') and q.due_at <= now()
      -- a worker takes what it can drive; whose time is over can be ended by any
      and (q.agent = any (p_agents) or q.deadline_at <= now())
      -- one active generation per branch: a younger one waits until the older has ended
      and not exists (
        select from plimsoll.run older
        where older.tenant_id = q.tenant_id and older.session_id = q.session_id and older.branch = q.branch
          and older.generation < q.generation and older.status in ('queued', 'running', 'waiting_confirmation'))
      and exists (select from plimsoll.worker w where w.id = p_worker and w.lease_until > now())
    order by q.due_at
    for update skip locked
    limit p_limit
  )
  update plimsoll.run r set status = 'running', wait_reason = null, worker_id = p_worker, epoch = r.epoch + 1,
    version = r.version + 1, started_at = coalesce(r.started_at, now()), progress_at = now()
  from due where r.tenant_id = due.tenant_id and r.id = due.id
  returning r.tenant_id::text, r.environment::text, r.id, r.epoch;
end $function$;
alter function plimsoll.claim(text,text[],integer) owner to plimsoll_claim;
grant execute on function plimsoll.claim(text,text[],integer) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.close_session(p jsonb, p_keys text[])
 RETURNS TABLE(n integer, version bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  wall text;
  t record;
begin
  wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);
  for t in
    select * from rows from (jsonb_to_recordset(p) as (tenant text, environment text, session text, version int8))
      with ordinality as t(tenant, environment, session, version, n) order by tenant, session
  loop
    update plimsoll.session x set closed_at = now(), version = x.version + 1
    where x.tenant_id = t.tenant and x.environment = t.environment and x.id = t.session and x.closed_at is null
      and x.version = coalesce(t.version, x.version)
    returning x.version into version;
    continue when not found;
    n := t.n;
    return next;
  end loop;
  wall := set_config('app.batch', '', true);
end $function$;
alter function plimsoll.close_session(jsonb,text[]) owner to plimsoll_step;
grant execute on function plimsoll.close_session(jsonb,text[]) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.decide(p jsonb, p_keys text[])
 RETURNS TABLE(n integer, outcome text, status text, version bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  wall text;
  t record;
  v int8;
begin
  wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);
  for t in
    select * from rows from (jsonb_to_recordset(p) as (tenant text, environment text, run text, confirmation text, version int8,
      params_hash text, actor text, actor_kind text, approve boolean, execute_ms int8, audit text, reason text, event text))
      with ordinality as t(tenant, environment, run, confirmation, version, params_hash, actor, actor_kind, approve,
        execute_ms, audit, reason, event, n)
    order by tenant, run
  loop
    -- run before confirmation, as COMMIT S does: the same order everywhere, so no deadlock
    perform from plimsoll.run r where r.tenant_id = t.tenant and r.environment = t.environment and r.id = t.run for update;
    update plimsoll.confirmation c set
      status = case when t.approve then 'approved' else 'rejected' end, version = c.version + 1,
      decided_by = t.actor, decided_at = now(), execute_by = now() + t.execute_ms * interval '1 millisecond'
    where c.tenant_id = t.tenant and c.environment = t.environment and c.run_id = t.run and c.id = t.confirmation
      and c.status = 'pending'
      and c.expires_at > now()
      and c.version = t.version
      and c.params_hash = t.params_hash
      and t.actor = any (c.confirmers)
      and exists (select from plimsoll.run r where r.tenant_id = c.tenant_id and r.id = c.run_id
        and r.status in ('queued', 'running', 'waiting_confirmation') and r.wait_reason is not distinct from
          case when r.status = 'waiting_confirmation' then 'confirmation' end
        and r.cancel_cause is null and r.deadline_at > now())
    returning c.version into v;
    if found then
      update plimsoll.run r set version = r.version + 1, event_seq = r.event_seq + 1,
        status = case when r.status = 'waiting_confirmation' then 'queued' else r.status end,
        wait_reason = null,
        due_at = case when r.status = 'waiting_confirmation' then now() else r.due_at end
      where r.tenant_id = t.tenant and r.environment = t.environment and r.id = t.run;
      insert into plimsoll.event (tenant_id, run_id, seq, environment, type, visibility, body)
      select r.tenant_id, r.id, r.event_seq, r.environment, 'confirmation_decided', 'user', decode(t.event, 'base64')
      from plimsoll.run r where r.tenant_id = t.tenant and r.id = t.run;
      insert into plimsoll.audit (tenant_id, id, environment, run_id, actor_kind, actor, action, target, outcome, reason)
      values (t.tenant, t.audit, t.environment, t.run, t.actor_kind, t.actor, 'confirmation.decide', t.confirmation,
        case when t.approve then 'approved' else 'rejected' end, t.reason);
      return query select t.n::int, 'decided'::text, case when t.approve then 'approved' else 'rejected' end, v;
    else
      return query
      select t.n::int,
        case when c.id is null then 'not_found'
             when not t.actor = any (c.confirmers) then 'not_permitted'
             when c.status = 'superseded' then 'superseded'
             when c.status = 'expired' or (c.status = 'pending' and c.expires_at <= now()) then 'expired'
             when c.status <> 'pending' then 'already_decided'
             when c.version <> t.version then 'version'
             when c.params_hash <> t.params_hash then 'hash'
             else 'run_closed' end,
        c.status, c.version
      from (values (1)) as one
      left join plimsoll.confirmation c on c.tenant_id = t.tenant and c.environment = t.environment and c.run_id = t.run
        and c.id = t.confirmation;
    end if;
  end loop;
  wall := set_config('app.batch', '', true);
end $function$;
alter function plimsoll.decide(jsonb,text[]) owner to plimsoll_step;
grant execute on function plimsoll.decide(jsonb,text[]) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.deletion_due(p_limit integer)
 RETURNS TABLE(tenant text, environment text, id text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return query select x.tenant_id, x.environment, x.id from plimsoll.deletion x
  where x.done_at is null and x.due_at <= now() order by x.due_at limit p_limit;
end $function$;
alter function plimsoll.deletion_due(integer) owner to plimsoll_retain;
grant execute on function plimsoll.deletion_due(integer) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.deletion_failed(p_tenant text, p_environment text, p_id text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare
  taken int;
begin
  perform set_config('app.tenant', p_tenant, true), set_config('app.environment', p_environment, true);
  update plimsoll.deletion x set due_at = now() + interval '5 minutes'
  where x.tenant_id = p_tenant and x.environment = p_environment and x.id = p_id and x.done_at is null and x.due_at <= now();
  get diagnostics taken = row_count;
  perform set_config('app.tenant', '', true), set_config('app.environment', '', true);
  return taken;
end $function$;
alter function plimsoll.deletion_failed(text,text,text) owner to plimsoll_retain;
grant execute on function plimsoll.deletion_failed(text,text,text) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.destroy_tenant(p_tenant text, p_environment text, p_audit text, p_actor_kind text, p_actor text, p_reason text)
 RETURNS TABLE(outcome text, runs integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
#variable_conflict use_column
begin
  perform set_config('app.tenant', p_tenant, true);
  runs := 0;
  perform pg_advisory_xact_lock(hashtextextended('plimsoll.destroy/' || p_tenant, 0));
  if exists (select from plimsoll.legal_hold h where h.tenant_id = p_tenant and h.released_at is null) then
    outcome := 'held';
  elsif exists (select from plimsoll.tenant_key k where k.tenant_id = p_tenant and k.destroyed_at is not null) then
    outcome := 'destroyed_before';
  else
    outcome := 'destroyed';
    -- a tenant that has sealed nothing yet must not get a key afterwards
    insert into plimsoll.tenant_key (tenant_id, epoch, environment, kek, wrapped) values (p_tenant, 1, '_', '', '')
    on conflict do nothing;
    update plimsoll.tenant_key k set wrapped = '', destroyed_at = now() where k.tenant_id = p_tenant;
    update plimsoll.run x set status = 'canceled', wait_reason = null, worker_id = null, cancel_cause = 'operator',
      end_reason = 'operator_canceled', ended_at = now(), due_at = now(), followed_until = null, reserved_tokens = 0, reserved_cost = 0,
      version = x.version + 1, epoch = x.epoch + 1
    where x.tenant_id = p_tenant and x.status in ('queued', 'running', 'waiting_confirmation');
    get diagnostics runs = row_count;
    update plimsoll.confirmation c set status = 'superseded', version = c.version + 1
    where c.tenant_id = p_tenant and c.status in ('pending', 'approved');
    update plimsoll.confirmation c set resource = null, resource_version = null where c.tenant_id = p_tenant;
    update plimsoll.effect e set resource = null, resource_version = null where e.tenant_id = p_tenant;
    update plimsoll.audit a set reason = null where a.tenant_id = p_tenant;
    -- files on disks and in buckets are what the sweeps take, and rules what they go by
    update plimsoll.session s set closed_at = now() where s.tenant_id = p_tenant and s.closed_at is null;
    update plimsoll.artifact a set expires_at = now() where a.tenant_id = p_tenant and a.removed_at is null;
    update plimsoll.retention r set days = null where r.tenant_id = p_tenant;
    delete from plimsoll.delta d where d.tenant_id = p_tenant;
    delete from plimsoll.delivery d where d.tenant_id = p_tenant;
    delete from plimsoll.idempotency i where i.tenant_id = p_tenant;
    delete from plimsoll.signal s where s.tenant_id = p_tenant;
    update plimsoll.endpoint e set state = 'disabled', reason = 'content_destroyed' where e.tenant_id = p_tenant;
    insert into plimsoll.tombstone (tenant_id, kind, id, environment) values (p_tenant, 'tenant', p_tenant, '_') on conflict do nothing;
    insert into plimsoll.audit (tenant_id, id, environment, actor_kind, actor, action, target, outcome, reason)
    values (p_tenant, p_audit, p_environment, p_actor_kind, p_actor, 'tenant.destroy', p_tenant, 'destroyed', p_reason);
  end if;
  perform set_config('app.tenant', '', true);
  return next;
end $function$;
alter function plimsoll.destroy_tenant(text,text,text,text,text,text) owner to plimsoll_shred;
grant execute on function plimsoll.destroy_tenant(text,text,text,text,text,text) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.driven(p_worker text)
 RETURNS TABLE(tenant text, environment text, run text, epoch bigint, canceled boolean, alone boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  return query select r.tenant_id::text, r.environment::text, r.id, r.epoch, r.cancel_cause is not null,
    r.parks_alone and coalesce(r.followed_until < now(), false) from plimsoll.run r
  where r.worker_id = p_worker and r.status = 'running';
end $function$;
alter function plimsoll.driven(text) owner to plimsoll_claim;
grant execute on function plimsoll.driven(text) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.drop_session(p_tenant text, p_environment text, p_session text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare
  n int;
begin
  perform set_config('app.batch', '|' || p_tenant || '/' || p_environment || '/' || p_session || '|', true);
  delete from plimsoll.session s where s.tenant_id = p_tenant and s.environment = p_environment and s.id = p_session and strpos(s.agent, '/') > 0;
  get diagnostics n = row_count;
  perform set_config('app.batch', '', true);
  return n;
end $function$;
alter function plimsoll.drop_session(text,text,text) owner to plimsoll_step;
grant execute on function plimsoll.drop_session(text,text,text) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.errand_due(p_limit integer)
 RETURNS TABLE(tenant text, environment text, id text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return query select x.tenant_id, x.environment, x.id from plimsoll.errand x
  where x.done_at is null and x.due_at <= now() order by x.due_at limit p_limit;
end $function$;
alter function plimsoll.errand_due(integer) owner to plimsoll_retain;
grant execute on function plimsoll.errand_due(integer) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.errand_failed(p_tenant text, p_environment text, p_id text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare
  taken int;
begin
  perform set_config('app.tenant', p_tenant, true), set_config('app.environment', p_environment, true);
  update plimsoll.errand x set due_at = now() + interval '5 minutes'
  where x.tenant_id = p_tenant and x.environment = p_environment and x.id = p_id and x.done_at is null and x.due_at <= now();
  get diagnostics taken = row_count;
  perform set_config('app.tenant', '', true), set_config('app.environment', '', true);
  return taken;
end $function$;
alter function plimsoll.errand_failed(text,text,text) owner to plimsoll_retain;
grant execute on function plimsoll.errand_failed(text,text,text) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.forget_calls(p_tenant text, p_environment text, p_calls jsonb, p_blank bytea, p_blank_plan bytea)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare n int;
begin
  perform set_config('app.tenant', p_tenant, true), set_config('app.environment', p_environment, true);
  update plimsoll.confirmation c set plan = p_blank_plan
  from jsonb_to_recordset(p_calls) as f (run text, step int, "position" int)
  where c.tenant_id = p_tenant and c.run_id = f.run and c.step = f.step and c.position = f.position;
  update plimsoll.effect e set arguments = p_blank, result = p_blank, forgotten_at = now()
  from jsonb_to_recordset(p_calls) as f (run text, step int, "position" int)
  where e.tenant_id = p_tenant and e.run_id = f.run and e.step = f.step and e.position = f.position and e.status = 'settled'
    and e.forgotten_at is null;
  get diagnostics n = row_count;
  return n;
end $function$;
alter function plimsoll.forget_calls(text,text,jsonb,bytea,bytea) owner to plimsoll_retain;
grant execute on function plimsoll.forget_calls(text,text,jsonb,bytea,bytea) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.forget_messages(p_tenant text, p_environment text, p_messages jsonb)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare n int;
begin
  perform set_config('app.tenant', p_tenant, true), set_config('app.environment', p_environment, true);
  update plimsoll.message m set body = decode(f.body, 'base64'), content_hash = f.hash, tokens = f.tokens
  from jsonb_to_recordset(p_messages) as f (run text, seq int, body text, hash text, tokens int)
  where m.tenant_id = p_tenant and m.run_id = f.run and m.seq = f.seq;
  get diagnostics n = row_count;
  return n;
end $function$;
alter function plimsoll.forget_messages(text,text,jsonb) owner to plimsoll_retain;
grant execute on function plimsoll.forget_messages(text,text,jsonb) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.forget_session(p_tenant text, p_environment text, p_session text, p_blank bytea, p_blank_plan bytea)
 RETURNS TABLE(removed integer, active integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  r record;
  n int;
begin
  perform set_config('app.tenant', p_tenant, true), set_config('app.environment', p_environment, true);
  removed := 0; active := 0;
  for r in select x.id, x.ended_at from plimsoll.run x where x.tenant_id = p_tenant and x.environment = p_environment and x.session_id = p_session loop
    if r.ended_at is null then
      active := active + 1;
      continue;
    end if;
    delete from plimsoll.message m where m.tenant_id = p_tenant and m.run_id = r.id;
    get diagnostics n = row_count;
    removed := removed + n;
    delete from plimsoll.delta d where d.tenant_id = p_tenant and d.run_id = r.id;
    update plimsoll.confirmation c set plan = p_blank_plan where c.tenant_id = p_tenant and c.run_id = r.id;
    update plimsoll.effect e set arguments = p_blank, result = p_blank, forgotten_at = now()
    where e.tenant_id = p_tenant and e.run_id = r.id and e.forgotten_at is null;
    get diagnostics n = row_count;
    removed := removed + n;
    update plimsoll.artifact a set about = null, removed_at = now() where a.tenant_id = p_tenant and a.run_id = r.id and a.removed_at is null;
    get diagnostics n = row_count;
    removed := removed + n;
  end loop;
  return next;
end $function$;
alter function plimsoll.forget_session(text,text,text,bytea,bytea) owner to plimsoll_retain;
grant execute on function plimsoll.forget_session(text,text,text,bytea,bytea) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.index_memory(p_tenant text, p_id text, p_version bigint, p_lexer text, p_terms bigint[], p_tfs real[], p_length real)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  held record;
  former int8[];
begin
  select m.environment, m.place, m.version, m.deleted_at into held from plimsoll.memory m
  where m.tenant_id = p_tenant and m.id = p_id for no key update;
  if not found or held.deleted_at is not null then return 'gone'; end if;
  if held.version <> p_version then return 'stale'; end if;
  select e.terms into former from plimsoll.memory_entry e where e.tenant_id = p_tenant and e.memory_id = p_id;
  delete from plimsoll.memory_term t
  where t.tenant_id = p_tenant and t.environment = held.environment and t.place = held.place and t.term = any (former)
    and t.memory_id = p_id and t.term <> all (p_terms);
  insert into plimsoll.memory_term as t (tenant_id, environment, place, term, memory_id, version, tf, length)
  select p_tenant, held.environment, held.place, u.term, p_id, p_version, u.tf, p_length from unnest(p_terms, p_tfs) u (term, tf)
  on conflict (tenant_id, environment, place, term, memory_id) do update
  set version = excluded.version, tf = excluded.tf, length = excluded.length;
  insert into plimsoll.memory_entry as e (tenant_id, memory_id, environment, place, version, lexer, terms, tfs, length)
  values (p_tenant, p_id, held.environment, held.place, p_version, p_lexer, p_terms, p_tfs, p_length)
  on conflict (tenant_id, memory_id) do update
  set version = excluded.version, lexer = excluded.lexer, terms = excluded.terms, tfs = excluded.tfs, length = excluded.length,
    indexed_at = now();
  return 'indexed';
end $function$;
alter function plimsoll.index_memory(text,text,bigint,text,bigint[],real[],real) owner to plimsoll_owner;
grant execute on function plimsoll.index_memory(text,text,bigint,text,bigint[],real[],real) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.keys_under_others(p_keks text[], p_limit integer)
 RETURNS TABLE(tenant text, kek text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return query select distinct k.tenant_id, k.kek from plimsoll.tenant_key k
  where k.destroyed_at is null and k.kek <> all (p_keks) order by 1 limit p_limit;
end $function$;
alter function plimsoll.keys_under_others(text[],integer) owner to plimsoll_shred;
grant execute on function plimsoll.keys_under_others(text[],integer) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.lay_down(p_tenant text, p_environment text, p_run text, p_worker text, p_epoch bigint)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare
  taken int;
begin
  perform set_config('app.batch', '|' || p_tenant || '/' || p_environment || '/' || p_run || '|', true);
  update plimsoll.run x set status = 'queued', wait_reason = null, worker_id = null, version = x.version + 1,
    attempts = x.attempts + 1, due_at = now() + least(2 ^ least(x.attempts, 20), 300) * interval '1 second'
  where x.tenant_id = p_tenant and x.environment = p_environment and x.id = p_run
    and x.status = 'running' and x.worker_id = p_worker and x.epoch = p_epoch;
  get diagnostics taken = row_count;
  perform set_config('app.batch', '', true);
  return taken;
end $function$;
alter function plimsoll.lay_down(text,text,text,text,bigint) owner to plimsoll_step;
grant execute on function plimsoll.lay_down(text,text,text,text,bigint) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.load(p_tenant text, p_environment text, p_run text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare
  found jsonb;
begin
  perform set_config('app.tenant', p_tenant, true), set_config('app.environment', p_environment, true);
  select jsonb_build_object(
    'run', to_jsonb(r) - array['due_at', 'progress_at', 'progress_ms', 'deadline_at', 'created_at', 'started_at', 'ended_at', 'parent_run_id'],
    'alone', r.parks_alone and coalesce(r.followed_until < now(), false),
    'deadline_ms', floor(extract(epoch from r.deadline_at - now()) * 1000)::int8,
    'messages', coalesce((
      select jsonb_agg(jsonb_build_object('run', m.run_id, 'seq', m.seq, 'step', m.step, 'position', m.position, 'role', m.role,
        'body', encode(m.body, 'base64'), 'hash', m.content_hash, 'visibility', m.visibility, 'integrity', m.integrity,
        'confidentiality', m.confidentiality, 'origin', m.origin, 'partial', m.partial, 'tokens', m.tokens)
        order by h.generation, m.seq)
      from plimsoll.run h join plimsoll.message m on m.tenant_id = h.tenant_id and m.run_id = h.id
      where h.tenant_id = r.tenant_id and h.session_id = r.session_id and h.branch = r.branch and h.generation <= r.generation), '[]'),
    'effects', coalesce((
      select jsonb_agg(jsonb_build_object('step', e.step, 'position', e.position, 'callId', e.call_id, 'tool', e.tool,
        'toolVersion', e.tool_version, 'level', e.level, 'approval', e.approval, 'argumentsHash', e.arguments_hash,
        'fingerprint', e.fingerprint, 'key', e.idempotency_key, 'status', e.status, 'outcome', e.outcome,
        'errorCode', e.error_code, 'resultHash', e.result_hash, 'attempt', e.attempt, 'again', e.again, 'compensates', e.compensates,
        'startedMs', floor(extract(epoch from now() - e.started_at) * 1000)::int8,
        'wait', case when e.status = 'waiting' then jsonb_build_object('signal', e.wait_signal, 'count', e.waits,
          'leftMs', floor(extract(epoch from e.wait_until - now()) * 1000)::int8,
          'body', (select encode(s.body, 'base64') from plimsoll.signal s where s.tenant_id = e.tenant_id
            and s.environment = e.environment and s.key = e.wait_signal)) end,
        'arguments', case when e.step = r.step then encode(e.arguments, 'base64') end,
        'result', case when e.step = r.step or e.outcome = 'error' then encode(e.result, 'base64') end)
        order by e.step, e.position)
      from plimsoll.effect e where e.tenant_id = r.tenant_id and e.run_id = r.id), '[]'),
    'confirmations', coalesce((
      select jsonb_agg(jsonb_build_object('id', c.id, 'step', c.step, 'position', c.position, 'status', c.status,
        'paramsHash', c.params_hash, 'resourceVersion', c.resource_version,
        'leftMs', floor(extract(epoch from c.expires_at - now()) * 1000)::int8,
        'executeMs', floor(extract(epoch from c.execute_by - now()) * 1000)::int8)
        order by c.created_at, c.id)
      from plimsoll.confirmation c where c.tenant_id = r.tenant_id and c.run_id = r.id and c.step = r.step), '[]'),
    -- those that stood when the run was made: its context is decided again and again, and stays the same
    'summaries', coalesce((
      select jsonb_agg(jsonb_build_object('id', s.id, 'from', s.from_generation, 'to', s.to_generation, 'through', s.to_message,
        'body', encode(s.body, 'base64')) order by s.from_generation, s.id)
      from plimsoll.summary s where s.tenant_id = r.tenant_id and s.session_id = r.session_id and s.state = 'verified'
        and s.created_at <= r.created_at), '[]'))
  into found
  from plimsoll.run r where r.tenant_id = p_tenant and r.environment = p_environment and r.id = p_run;
  perform set_config('app.tenant', '', true), set_config('app.environment', '', true);
  return found;
end $function$;
alter function plimsoll.load(text,text,text) owner to plimsoll_owner;
grant execute on function plimsoll.load(text,text,text) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.memory_walls(p_tenant text, p_environment text, p_limit integer)
 RETURNS TABLE(tenant text, environment text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare last record;
begin
  select p_tenant as tenant, p_environment as environment into last;
  for i in 1 .. p_limit loop
    select m.tenant_id as tenant, m.environment as environment into last from plimsoll.memory m
    where m.deleted_at is null and (m.tenant_id, m.environment) > (last.tenant, last.environment) order by m.tenant_id, m.environment limit 1;
    exit when not found;
    tenant := last.tenant; environment := last.environment;
    return next;
  end loop;
end $function$;
alter function plimsoll.memory_walls(text,text,integer) owner to plimsoll_retain;
grant execute on function plimsoll.memory_walls(text,text,integer) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.open_session(p jsonb, p_keys text[])
 RETURNS TABLE(n integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  wall text;
  t record;
begin
  wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);
  for t in
    select * from rows from (jsonb_to_recordset(p) as (tenant text, environment text, session text, user_id text, subject text, agent text))
      with ordinality as t(tenant, environment, session, user_id, subject, agent, n) order by tenant, session
  loop
    insert into plimsoll.session (tenant_id, id, environment, user_id, subject_id, agent)
    values (t.tenant, t.session, t.environment, t.user_id, t.subject, t.agent) on conflict do nothing;
    continue when not found;
    n := t.n;
    return next;
  end loop;
  wall := set_config('app.batch', '', true);
end $function$;
alter function plimsoll.open_session(jsonb,text[]) owner to plimsoll_step;
grant execute on function plimsoll.open_session(jsonb,text[]) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.outbox_look(p_sinks text[], p_every_ms bigint, p_back_ms bigint)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare
  back constant interval := p_back_ms * interval '1 millisecond';
  stale constant timestamptz := now() - p_every_ms * interval '1 millisecond';
  served int;
begin
  insert into plimsoll.sink (name) select unnest(p_sinks) except select name from plimsoll.sink on conflict do nothing;
  select (select count(*) from plimsoll.endpoint e where e.state = 'enabled')
       + (select count(*) from plimsoll.sink s where s.name = any (p_sinks)) into served;
  if served = 0 then return 0; end if;

  with listener as materialized (
    select e.tenant_id, e.environment, e.id, e.types, e.starts_at, e.seen_at from plimsoll.endpoint e
    where e.state = 'enabled' and e.seen_at <= stale
    for update skip locked
  ), sinking as materialized (
    select s.name, s.starts_at, s.seen_at from plimsoll.sink s where s.name = any (p_sinks) and s.seen_at <= stale
    for update skip locked
  ), recent as materialized (
    select v.tenant_id, v.environment, v.run_id, v.seq, v.type, v.created_at from plimsoll.event v
    where v.visibility = 'user'
      and v.created_at > (select min(x.seen_at) from (select seen_at from listener union all select seen_at from sinking) x) - back
  ), fresh as (
    select l.tenant_id, l.environment, l.id as endpoint, l.starts_at, r.run_id, max(r.seq) as head
    from listener l join recent r on r.tenant_id = l.tenant_id and r.environment = l.environment
    where r.created_at >= l.starts_at and r.created_at > l.seen_at - back and (l.types is null or r.type = any (l.types))
    group by 1, 2, 3, 4, 5
    union all
    select r.tenant_id, r.environment, s.name, s.starts_at, r.run_id, max(r.seq)
    from sinking s join recent r on r.created_at >= s.starts_at and r.created_at > s.seen_at - back
    group by 1, 2, 3, 4, 5
  ), made as (
    insert into plimsoll.delivery as d (tenant_id, endpoint_id, run_id, environment, sent, head)
    select f.tenant_id, f.endpoint, f.run_id, f.environment,
      (select min(v.seq) - 1 from plimsoll.event v
       where v.tenant_id = f.tenant_id and v.run_id = f.run_id and v.visibility = 'user' and v.created_at >= f.starts_at),
      f.head
    from fresh f
    where not exists (select from plimsoll.run r where r.tenant_id = f.tenant_id and r.id = f.run_id and strpos(r.agent, '/') > 0)
      and not exists (select from plimsoll.tenant_key k where k.tenant_id = f.tenant_id and k.destroyed_at is not null)
    on conflict (tenant_id, endpoint_id, run_id) do update
      set head = excluded.head, due_at = case when d.due_at = 'infinity' then now() else d.due_at end
      where d.head < excluded.head
  ), told as (
    update plimsoll.endpoint e set seen_at = now() from listener l where e.tenant_id = l.tenant_id and e.id = l.id
  )
  update plimsoll.sink s set seen_at = now() from sinking x where s.name = x.name;
  return served;
end $function$;
alter function plimsoll.outbox_look(text[],bigint,bigint) owner to plimsoll_relay;
grant execute on function plimsoll.outbox_look(text[],bigint,bigint) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.outbox_take(p_worker text, p_sinks text[], p_limit integer, p_each integer, p_held text[])
 RETURNS TABLE(tenant text, environment text, endpoint text, run text, epoch bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  places constant int := p_limit + cardinality(p_held);
  share constant int := greatest(1, places / 4);
begin
  return query
  with recursive heard as (
    -- the tenants that a sink has something to hear of, from one to the next
    select s.name, (select min(d.tenant_id) from plimsoll.delivery d where d.endpoint_id = s.name and d.due_at < 'infinity') as tenant_id
    from plimsoll.sink s where s.name = any (p_sinks)
    union all
    select h.name, (select min(d.tenant_id) from plimsoll.delivery d
                    where d.endpoint_id = h.name and d.tenant_id > h.tenant_id and d.due_at < 'infinity')
    from heard h where h.tenant_id is not null
  ), carried as materialized (
    select c.tenant_id, c.endpoint_id, c.endpoint_id = any (p_sinks) as is_sink, w.id = p_worker as is_own
    from plimsoll.delivery c join plimsoll.worker w on w.id = c.worker_id
    where c.worker_id is not null and w.lease_until > now()
      and (w.id <> p_worker or c.endpoint_id || '/' || c.run_id = any (p_held))
  ), beside as materialized (
    select c.tenant_id, c.endpoint_id, count(*) as n from carried c group by 1, 2
  ), own as materialized (
    select c.tenant_id, c.is_sink, count(*) as n from carried c where c.is_own group by 1, 2
  ), place as materialized (
    select e.tenant_id, e.id, false as is_sink, case when e.failures > 0 then 1 else p_each end as most, null as free
    from plimsoll.endpoint e
    where e.state = 'enabled' and e.retry_at <= now()
    union all
    -- one that hears of a single tenant alone would be stopped by it
    select h.tenant_id, h.name, true, greatest(1, p_each - 1), p_each - (select coalesce(sum(b.n), 0) from beside b where b.endpoint_id = h.name)
    from heard h where h.tenant_id is not null
  ), waiting as materialized (
    select x.tenant_id, x.endpoint_id, x.run_id, x.due_at, x.epoch, p.is_sink, p.free, coalesce(o.n, 0) as owned,
      coalesce(b.n, 0) + row_number() over (partition by p.tenant_id, p.id order by x.due_at) as of_place
    from place p
    left join beside b on b.tenant_id = p.tenant_id and b.endpoint_id = p.id
    left join own o on o.tenant_id = p.tenant_id and o.is_sink = p.is_sink
    cross join lateral (
      select d.tenant_id, d.endpoint_id, d.run_id, d.due_at, d.epoch from plimsoll.delivery d
      where d.endpoint_id = p.id and d.tenant_id = p.tenant_id and d.due_at <= now()
        and d.due_at < 'infinity'
        and not exists (select from plimsoll.worker w where w.id = d.worker_id and w.lease_until > now()
                        and (w.id <> p_worker or d.endpoint_id || '/' || d.run_id = any (p_held)))
        and exists (select from plimsoll.worker w where w.id = p_worker and w.lease_until > now())
      order by d.due_at
      limit greatest(0, least(p.most - coalesce(b.n, 0), share - coalesce(o.n, 0), p.free))
    ) x
  ), shared as (
    select w.*, w.owned + row_number() over (partition by w.tenant_id, w.is_sink order by w.of_place, w.due_at) as of_tenant from waiting w
  ), fitting as (
    select s.*, row_number() over (partition by s.endpoint_id order by s.of_tenant, s.due_at) as of_sink from shared s
    where s.of_tenant <= share
  ), kind as (
    select f.*, row_number() over (partition by f.is_sink order by f.of_tenant, f.due_at)
        + (select coalesce(sum(o.n), 0) from own o where o.is_sink = f.is_sink) as of_kind
    from fitting f
    where not f.is_sink or f.of_sink <= f.free
  ), chosen as materialized (
    select k.tenant_id, k.endpoint_id, k.run_id, k.epoch from kind k
    where k.of_kind <= greatest(1, places - case when cardinality(p_sinks) > 0 then share else 0 end)
    order by k.of_tenant, k.due_at
    limit p_limit
  ), due as materialized (
    -- whoever took it since has raised the epoch
    select d.tenant_id, d.endpoint_id, d.run_id
    from chosen x join plimsoll.delivery d on d.tenant_id = x.tenant_id and d.endpoint_id = x.endpoint_id and d.run_id = x.run_id
    where d.epoch = x.epoch
    for update of d skip locked
  )
  update plimsoll.delivery d set worker_id = p_worker, epoch = d.epoch + 1
  from due where d.tenant_id = due.tenant_id and d.endpoint_id = due.endpoint_id and d.run_id = due.run_id
  returning d.tenant_id, d.environment, d.endpoint_id, d.run_id, d.epoch;
end $function$;
alter function plimsoll.outbox_take(text,text[],integer,integer,text[]) owner to plimsoll_relay;
grant execute on function plimsoll.outbox_take(text,text[],integer,integer,text[]) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.reap(p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare
  taken int;
begin
  with lost as materialized (
    select q.tenant_id, q.id from plimsoll.run q
    where q.status = 'running'
      and (q.progress_at + q.progress_ms * interval '1 millisecond' <= now()
        or not exists (select from plimsoll.worker w where w.id = q.worker_id and w.lease_until > now()))
    for update skip locked
    limit p_limit
  )
  update plimsoll.run r set status = 'queued', worker_id = null, due_at = now(), version = r.version + 1, attempts = r.attempts + 1
  from lost where r.tenant_id = lost.tenant_id and r.id = lost.id;
  get diagnostics taken = row_count;
  return taken;
end $function$;
alter function plimsoll.reap(integer) owner to plimsoll_claim;
grant execute on function plimsoll.reap(integer) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.restore(p jsonb)
 RETURNS TABLE(kind text, changed integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
#variable_conflict use_column
declare
  e record;
  c record;
begin
  for e in select * from jsonb_to_recordset(p) as x(kind text, tenant text, environment text, id text, target text, at_ms float8) loop
    perform set_config('app.tenant', e.tenant, true);
    kind := e.kind;
    changed := 0;
    if e.kind = 'tombstone' then
      insert into plimsoll.tombstone (tenant_id, kind, id, environment) values (e.tenant, e.target, e.id, e.environment) on conflict do nothing;
      get diagnostics changed = row_count;
      if e.target = 'memory' then
        update plimsoll.memory m set status = 'deleted', deleted_at = now(), value = '', value_hash = '', version = m.version + 1
        where m.tenant_id = e.tenant and m.id = e.id and m.deleted_at is null;
        update plimsoll.memory_version v set value = null, value_hash = '' where v.tenant_id = e.tenant and v.memory_id = e.id;
        update plimsoll.memory_source s set quote = null where s.tenant_id = e.tenant and s.memory_id = e.id;
      end if;
    elsif e.kind = 'revoked' then
      update plimsoll.credential r set revoked_at = to_timestamp(e.at_ms / 1000)
      where r.tenant_id = e.tenant and r.id = e.id and r.revoked_at is null;
      get diagnostics changed = row_count;
    elsif e.kind = 'destroyed' then
      select d.outcome into c from plimsoll.destroy_tenant(e.tenant, '_', 'aud_restored_' || e.tenant, 'system', 'restore', null) d;
      changed := (c.outcome = 'destroyed')::int;
    elsif e.kind = 'spent' then
      update plimsoll.confirmation x set status = 'consumed', version = x.version + 1, consumed_at = to_timestamp(e.at_ms / 1000)
      where x.tenant_id = e.tenant and x.environment = e.environment and x.id = e.id and x.status <> 'consumed'
      returning x.run_id, x.step, x.position into c;
      get diagnostics changed = row_count;
      if changed > 0 then
        update plimsoll.effect f set status = 'started', started_at = to_timestamp(e.at_ms / 1000), attempt = f.attempt + 1
        where f.tenant_id = e.tenant and f.run_id = c.run_id and f.step = c.step and f.position = c.position and f.status = 'intended';
        update plimsoll.run r set status = 'queued', wait_reason = null, worker_id = null, phase = 'tool_running', due_at = now(),
          version = r.version + 1, epoch = r.epoch + 1
        where r.tenant_id = e.tenant and r.id = c.run_id and r.status in ('queued', 'running', 'waiting_confirmation');
      end if;
    end if;
    perform set_config('app.tenant', '', true);
    return next;
  end loop;
end $function$;
alter function plimsoll.restore(jsonb) owner to plimsoll_shred;
grant execute on function plimsoll.restore(jsonb) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.restore_entries(p_since timestamp with time zone)
 RETURNS TABLE(kind text, tenant text, environment text, id text, target text, at timestamp with time zone)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return query
  select 'tombstone', t.tenant_id, t.environment, t.id, t.kind, t.created_at from plimsoll.tombstone t
  where t.created_at > p_since and t.kind <> 'tenant'
  union all
  select 'spent', c.tenant_id, c.environment, c.id, c.run_id, c.consumed_at from plimsoll.confirmation c where c.consumed_at > p_since
  union all
  select 'revoked', r.tenant_id, r.environment, r.id, '', r.revoked_at from plimsoll.credential r where r.revoked_at > p_since
  union all
  select 'destroyed', k.tenant_id, '_', k.tenant_id, '', max(k.destroyed_at) from plimsoll.tenant_key k
  where k.destroyed_at > p_since group by k.tenant_id;
end $function$;
alter function plimsoll.restore_entries(timestamp with time zone) owner to plimsoll_shred;
grant execute on function plimsoll.restore_entries(timestamp with time zone) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.retention_due(p_limit integer)
 RETURNS TABLE(tenant text, environment text, class text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  return query select x.tenant_id, x.environment, x.class::text from plimsoll.retention x
  where x.days is not null and x.swept_at < now() - interval '1 day' order by greatest(x.swept_at, x.failed_at) limit p_limit;
end $function$;
alter function plimsoll.retention_due(integer) owner to plimsoll_retain;
grant execute on function plimsoll.retention_due(integer) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.retention_failed(p_tenant text, p_environment text, p_class text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
declare
  taken int;
begin
  perform set_config('app.tenant', p_tenant, true), set_config('app.environment', p_environment, true);
  update plimsoll.retention x set failed_at = now()
  where x.tenant_id = p_tenant and x.environment = p_environment and x.class::text = p_class;
  get diagnostics taken = row_count;
  perform set_config('app.tenant', '', true), set_config('app.environment', '', true);
  return taken;
end $function$;
alter function plimsoll.retention_failed(text,text,text) owner to plimsoll_retain;
grant execute on function plimsoll.retention_failed(text,text,text) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.start(p jsonb, p_keys text[], p_worker text)
 RETURNS TABLE(n integer, outcome text, version bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  wall text;
  t record;
  v int8;
begin
  wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);
  for t in
    select * from rows from (jsonb_to_recordset(p) as (tenant text, environment text, run text, epoch int8, version int8, step int,
      position int, arguments_hash text, confirmation text, resource_version text, again boolean, event text))
      with ordinality as t(tenant, environment, run, epoch, version, step, position, arguments_hash, confirmation,
        resource_version, again, event, n)
    order by tenant, run
  loop
    update plimsoll.run r set version = r.version + 1, commits = r.commits + 1, event_seq = r.event_seq + 1,
      phase = 'tool_running', progress_at = now()
    where r.tenant_id = t.tenant and r.environment = t.environment and r.id = t.run
      and r.version = t.version
      and r.status = 'running' and r.worker_id = p_worker and r.epoch = t.epoch
      and r.cancel_cause is null
      and r.deadline_at > now()
      and exists (select from plimsoll.worker w where w.id = p_worker and w.lease_until > now())
      and exists (
        select from plimsoll.effect e
        where e.tenant_id = r.tenant_id and e.run_id = r.id and e.step = t.step and e.position = t.position
          and e.arguments_hash = t.arguments_hash
          and ((e.status in ('started', 'unknown') and t.again)
            or (e.status = 'intended' and (e.approval = 'auto' or exists (
                  select from plimsoll.confirmation c
                  where c.tenant_id = r.tenant_id and c.run_id = r.id and c.step = t.step and c.position = t.position
                    and c.id = t.confirmation
                    and c.status = 'approved' and c.execute_by > now()
                    and c.params_hash = t.arguments_hash
                    and c.resource_version is not distinct from t.resource_version)))))
    returning r.version into v;
    if found then
      update plimsoll.effect e set status = 'started', started_at = now(), attempt = e.attempt + 1, again = false
      where e.tenant_id = t.tenant and e.run_id = t.run and e.step = t.step and e.position = t.position;
      update plimsoll.confirmation c set status = 'consumed', consumed_at = now(), version = c.version + 1
      where c.tenant_id = t.tenant and c.run_id = t.run and c.id = t.confirmation and c.status = 'approved';
      insert into plimsoll.event (tenant_id, run_id, seq, environment, type, visibility, body)
      select r.tenant_id, r.id, r.event_seq, r.environment, 'effect_started', 'user', decode(t.event, 'base64')
      from plimsoll.run r where r.tenant_id = t.tenant and r.id = t.run;
      return query select t.n::int, 'started'::text, v;
    else
      return query
      select t.n::int,
        case when r.id is null or r.status <> 'running' or r.worker_id is distinct from p_worker or r.epoch <> t.epoch
               or not exists (select from plimsoll.worker w where w.id = p_worker and w.lease_until > now()) then 'lease_lost'
             when r.cancel_cause is not null then 'canceled'
             when r.deadline_at <= now() then 'deadline'
             when r.version <> t.version then 'conflict'
             when c.status = 'approved' and c.execute_by <= now() then 'expired'
             else 'not_approved' end,
        r.version
      from (values (1)) as one
      left join plimsoll.run r on r.tenant_id = t.tenant and r.environment = t.environment and r.id = t.run
      left join plimsoll.confirmation c on c.tenant_id = t.tenant and c.run_id = t.run and c.id = t.confirmation;
    end if;
  end loop;
  wall := set_config('app.batch', '', true);
end $function$;
alter function plimsoll.start(jsonb,text[],text) owner to plimsoll_step;
grant execute on function plimsoll.start(jsonb,text[],text) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.step(p jsonb, p_keys text[], p_worker text)
 RETURNS TABLE(n integer, version bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
#variable_conflict use_column
declare
  wall text;
  t record;
  r record;
begin
  wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);
  -- who answers the same effect comes one after the other, in one order, and before any run is touched: no circle
  if strpos(wall, '/effect:') > 0 then
    perform pg_advisory_xact_lock(hashtextextended(k, 0))
    from (select x as k from unnest(p_keys) as x where strpos(x, '/effect:') > 0 order by 1) as answered;
  end if;
  for t in
    select * from rows from (jsonb_to_recordset(p) as (
      tenant text, environment text, run text, epoch int8, version int8, "from" text, "to" text, wait text, phase text,
      step int, attempts int, due_ms int8, cancel text, end_reason text, message_seq int, event_seq int8, tool_calls int,
      kind text, input_tokens int8, output_tokens int8, spent_cost int8, known boolean, suspect boolean, reserved_tokens int8,
      reserved_cost int8, released_tokens int8, released_cost int8, integrity text, confidentiality text,
      watermark_from text, messages jsonb, effects jsonb, settled jsonb, waiting jsonb, listens text[], confirmations jsonb, closed jsonb,
      events jsonb, audit jsonb
    )) with ordinality as t(
      tenant, environment, run, epoch, version, "from", "to", wait, phase, step, attempts, due_ms, cancel, end_reason, message_seq,
      event_seq, tool_calls, kind, input_tokens, output_tokens, spent_cost, known, suspect, reserved_tokens, reserved_cost,
      released_tokens, released_cost, integrity, confidentiality, watermark_from, messages, effects, settled,
      waiting, listens, confirmations, closed, events, audit, n)
    -- one order for everybody, so that two batches cannot wait for one another in a circle
    order by tenant, run
  loop
    -- a compensation answers an effect of this conversation that is done, and that nothing answers yet (J7)
    if jsonb_path_exists(t.effects, '$[*].compensates ? (@ != null)') then
      continue when (select count(e.compensates) <> count(distinct e.compensates) or bool_or(e.compensates is not null and (
        not exists (
          select from plimsoll.run mine join plimsoll.effect d on d.tenant_id = mine.tenant_id and d.environment = mine.environment
            and d.session_id = mine.session_id and d.user_id = mine.user_id
          where mine.tenant_id = t.tenant and mine.environment = t.environment and mine.id = t.run
            and d.idempotency_key = e.compensates and d.tool = e.compensated_tool
            and d.level <> 'read' and d.status = 'settled' and d.outcome = 'ok')
        or exists (
          select from plimsoll.effect o where o.tenant_id = t.tenant and o.compensates = e.compensates
            and (o.outcome is null or o.outcome = 'ok'))))
        from jsonb_to_recordset(t.effects) as e (compensates text, compensated_tool text));
    end if;
    update plimsoll.run x set
      status = t."to", wait_reason = t.wait, phase = t.phase, step = t.step, version = x.version + 1,
      commits = x.commits + (x.status = 'running')::int, event_seq = t.event_seq, message_seq = t.message_seq,
      attempts = t.attempts, progress_at = now(),
      worker_id = case when t."to" = 'running' then x.worker_id end,
      due_at = case when t."to" = 'queued' then now()
                    when t."to" = 'waiting_confirmation' then coalesce(now() + t.due_ms * interval '1 millisecond', 'infinity')
                    else x.due_at end,
      used_tool_calls = x.used_tool_calls + t.tool_calls,
      used_tokens = x.used_tokens + t.input_tokens + t.output_tokens,
      used_cost = x.used_cost + t.spent_cost,
      reserved_tokens = x.reserved_tokens + t.reserved_tokens - t.released_tokens,
      reserved_cost = x.reserved_cost + t.reserved_cost - t.released_cost,
      cancel_cause = coalesce(x.cancel_cause, t.cancel),
      integrity = t.integrity, confidentiality = t.confidentiality, watermark_from = t.watermark_from,
      end_reason = t.end_reason, ended_at = case when t.end_reason is not null then now() end
    where x.tenant_id = t.tenant and x.environment = t.environment and x.id = t.run
      and x.version = t.version
      and x.status = t."from"
      and x.end_reason is null
      and (x.status <> 'running' or (x.worker_id = p_worker and x.epoch = t.epoch))
      and t.step <= x.max_steps
      and x.used_tool_calls + t.tool_calls <= x.max_tool_calls
      and (t.reserved_tokens = 0 or x.used_tokens + t.input_tokens + t.output_tokens + x.reserved_tokens
           - t.released_tokens + t.reserved_tokens <= x.max_tokens)
      and (t.reserved_cost = 0 or x.used_cost + t.spent_cost + x.reserved_cost - t.released_cost + t.reserved_cost <= x.max_cost)
    returning x.tenant_id, x.environment, x.id, x.version, x.session_id, x.user_id, x.subject_id, x.generation, x.parent_run_id
    into r;
    continue when not found;

    if t.messages <> '[]' then
      insert into plimsoll.message (tenant_id, run_id, seq, environment, session_id, user_id, subject_id, step, position, role,
        body, content_hash, visibility, integrity, confidentiality, origin, partial, tokens)
      select r.tenant_id, r.id, m.seq, r.environment, r.session_id, r.user_id, r.subject_id, m.step, m.position, m.role,
        decode(m.body, 'base64'), m.hash, m.visibility, m.integrity, m.confidentiality, m.origin, m.partial, m.tokens
      from jsonb_to_recordset(t.messages) as m (seq int, step int, position int, role text, body text, hash text,
        visibility text, integrity text, confidentiality text, origin jsonb, partial boolean, tokens int);
    end if;
    if t.effects <> '[]' then
      insert into plimsoll.effect (tenant_id, run_id, step, position, environment, session_id, user_id, subject_id, call_id, tool,
        tool_version, level, approval, arguments, arguments_hash, fingerprint, idempotency_key, status, outcome, error_code,
        result, result_hash, compensates, settled_at)
      select r.tenant_id, r.id, e.step, e.position, r.environment, r.session_id, r.user_id, r.subject_id, e.call_id, e.tool,
        e.tool_version, e.level, e.approval, decode(e.arguments, 'base64'), e.arguments_hash, e.fingerprint, e.key, e.status,
        e.outcome, e.error_code, decode(e.result, 'base64'), e.result_hash, e.compensates, case when e.status = 'settled' then now() end
      from jsonb_to_recordset(t.effects) as e (step int, position int, call_id text, tool text, tool_version int, level text,
        approval text, arguments text, arguments_hash text, fingerprint text, key text, status text, outcome text,
        error_code text, result text, result_hash text, compensates text);
    end if;
    if t.settled <> '[]' then
      update plimsoll.effect e set status = s.status, outcome = s.outcome, error_code = s.error_code,
        result = decode(s.result, 'base64'), result_hash = s.result_hash, again = s.status = 'started',
        settled_at = case when s.status = 'settled' then now() end
      from jsonb_to_recordset(t.settled) as s (position int, status text, outcome text, error_code text, result text,
        result_hash text)
      where e.tenant_id = r.tenant_id and e.run_id = r.id and e.step = t.step and e.position = s.position
        and e.status <> 'settled';
    end if;
    if t.waiting <> '[]' then
      update plimsoll.effect e set status = 'waiting', wait_signal = w.signal, wait_until = now() + w.ms * interval '1 millisecond',
        waits = e.waits + 1
      from jsonb_to_recordset(t.waiting) as w (position int, signal text, ms int8)
      where e.tenant_id = r.tenant_id and e.run_id = r.id and e.step = t.step and e.position = w.position
        and e.status in ('intended', 'started', 'waiting');
      -- in one order, and behind the run: who tells takes them the other way round, but holds one signal only
      insert into plimsoll.signal as s (tenant_id, environment, key, waiters)
      select distinct r.tenant_id, r.environment, w.signal, array[r.id]
      from jsonb_to_recordset(t.waiting) as w (signal text) where w.signal is not null order by 3
      on conflict (tenant_id, environment, key) do update set waiters = array_append(array_remove(s.waiters, r.id), r.id);
    end if;
    -- what was told before somebody waited for it is not waited for
    if t."to" = 'waiting_confirmation' and t.listens <> '{}' and exists (
      select from plimsoll.signal s where s.tenant_id = r.tenant_id and s.environment = r.environment and s.key = any (t.listens)
        and s.body is not null)
    then
      update plimsoll.run x set due_at = now() where x.tenant_id = r.tenant_id and x.environment = r.environment and x.id = r.id;
    end if;
    if t.confirmations <> '[]' then
      insert into plimsoll.confirmation (tenant_id, id, environment, session_id, user_id, subject_id, run_id, step, position,
        generation, tool, tool_version, params_hash, resource, resource_version, plan, level, confirmers, nonce, expires_at)
      select r.tenant_id, c.id, r.environment, r.session_id, r.user_id, r.subject_id, r.id, c.step, c.position, r.generation,
        c.tool, c.tool_version, c.params_hash, c.resource, c.resource_version, decode(c.plan, 'base64'), c.level, c.confirmers,
        c.nonce, now() + c.open_ms * interval '1 millisecond'
      from jsonb_to_recordset(t.confirmations) as c (id text, step int, position int, tool text, tool_version int,
        params_hash text, resource text, resource_version text, plan text, level text, confirmers text[], nonce text, open_ms int8);
    end if;
    if t.closed <> '[]' then
      update plimsoll.confirmation c set status = x.status, version = c.version + 1
      from jsonb_to_recordset(t.closed) as x (id text, status text)
      where c.tenant_id = r.tenant_id and c.run_id = r.id and c.id = x.id and c.status in ('pending', 'approved');
    end if;
    if t.kind is not null then
      insert into plimsoll.ledger (tenant_id, run_id, seq, environment, parent_run_id, step, kind, input_tokens, output_tokens,
        spent_cost, tool_calls, known, suspect, reserved_tokens, reserved_cost, released_tokens, released_cost)
      values (r.tenant_id, r.id, r.version, r.environment, r.parent_run_id, t.step, t.kind, t.input_tokens, t.output_tokens,
        t.spent_cost, t.tool_calls, t.known, t.suspect, t.reserved_tokens, t.reserved_cost, t.released_tokens, t.released_cost);
    end if;
    if t.events <> '[]' then
      insert into plimsoll.event (tenant_id, run_id, seq, environment, type, visibility, body)
      select r.tenant_id, r.id, v.seq, r.environment, v.type, v.visibility, decode(v.body, 'base64')
      from jsonb_to_recordset(t.events) as v (seq int8, type text, visibility text, body text);
    end if;
    -- what a person did to the run, when this is that
    if t.audit is not null then
      insert into plimsoll.audit (tenant_id, id, environment, run_id, actor_kind, actor, action, target, outcome, reason)
      select r.tenant_id, w.id, r.environment, r.id, w.actor_kind, w.actor, w.action, w.target, w.outcome, w.reason
      from jsonb_to_recordset(t.audit) as w (id text, actor_kind text, actor text, action text, target text, outcome text,
        reason text);
    end if;
    n := t.n;
    version := r.version;
    return next;
  end loop;
  wall := set_config('app.batch', '', true);
end $function$;
alter function plimsoll.step(jsonb,text[],text) owner to plimsoll_step;
grant execute on function plimsoll.step(jsonb,text[],text) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.submit(p jsonb, p_keys text[])
 RETURNS TABLE(n integer, outcome text, session_version bigint, generation bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  wall text;
  t record;
  s record;
begin
  wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);
  for t in
    select * from rows from (jsonb_to_recordset(p) as (tenant text, environment text, session text, session_version int8,
      user_id text, subject text, permissions text[], agent text, release text, run text, parent_run text, parent_message text,
      max_steps int, max_tool_calls int, max_tokens int8, max_cost int8, max_attempts int, deadline_ms int8, progress_ms int8,
      reserved_tokens int8, reserved_cost int8, body text, hash text, tokens int, replaced jsonb, resting jsonb, event text,
      response text, status int, procedures text[]))
      with ordinality as t(tenant, environment, session, session_version, user_id, subject, permissions, agent, release, run,
        parent_run, parent_message, max_steps, max_tool_calls, max_tokens, max_cost, max_attempts, deadline_ms, progress_ms,
        reserved_tokens, reserved_cost, body, hash, tokens, replaced, resting, event, response, status,
        procedures, n)
    order by tenant, run
  loop
    if t.session_version is null then
      insert into plimsoll.session (tenant_id, id, environment, user_id, subject_id, agent)
      values (t.tenant, t.session, t.environment, t.user_id, t.subject, t.agent) on conflict do nothing;
    end if;
    update plimsoll.session x set version = x.version + 1, generation = x.generation + 1
    where x.tenant_id = t.tenant and x.environment = t.environment and x.id = t.session and x.closed_at is null
      and x.version = coalesce(t.session_version, 1)
    returning x.version, x.generation into s;
    if not found then
      return query
      select t.n::int, case when x.id is null then 'not_found' when x.closed_at is not null then 'closed' else 'version' end,
        x.version, x.generation
      from (values (1)) as one
      left join plimsoll.session x on x.tenant_id = t.tenant and x.environment = t.environment and x.id = t.session;
      continue;
    end if;
    update plimsoll.run r set cancel_cause = coalesce(r.cancel_cause, 'superseded'), version = r.version + 1,
      due_at = case when r.status = 'running' then r.due_at else now() end
    from (select e.id from jsonb_array_elements_text(t.replaced) as e (id) order by e.id) as x
    where r.tenant_id = t.tenant and r.environment = t.environment and r.id = x.id and r.session_id = t.session
      and r.status in ('queued', 'running', 'waiting_confirmation');
    -- who says something more is there: what rests because nobody was goes on before it (K2)
    update plimsoll.run r set followed_until = null, due_at = now(), version = r.version + 1
    from (select e.id from jsonb_array_elements_text(t.resting) as e (id) order by e.id) as x
    where r.tenant_id = t.tenant and r.environment = t.environment and r.id = x.id and r.session_id = t.session
      and r.wait_reason = 'follower';
    insert into plimsoll.run (tenant_id, id, environment, session_id, generation, user_id, subject_id, permissions, agent, release,
      parent_run_id, status, event_seq, message_seq, deadline_at, progress_ms, max_steps, max_tool_calls, max_tokens, max_cost, max_attempts,
      reserved_tokens, reserved_cost, procedures)
    values (t.tenant, t.run, t.environment, t.session, s.generation, t.user_id, t.subject, t.permissions, t.agent, t.release,
      t.parent_run, 'queued', 1, 1, now() + t.deadline_ms * interval '1 millisecond',
      t.progress_ms, t.max_steps, t.max_tool_calls,
      t.max_tokens, t.max_cost, t.max_attempts, t.reserved_tokens, t.reserved_cost, coalesce(t.procedures, '{}'));
    insert into plimsoll.message (tenant_id, run_id, seq, environment, session_id, user_id, subject_id, step, role, parent_message,
      body, content_hash, visibility, integrity, confidentiality, origin, tokens)
    values (t.tenant, t.run, 1, t.environment, t.session, t.user_id, t.subject, 0, 'user', t.parent_message,
      decode(t.body, 'base64'), t.hash, 'user', 'user', 'subject', '{"kind":"user"}', t.tokens);
    insert into plimsoll.ledger (tenant_id, run_id, seq, environment, parent_run_id, step, kind, reserved_tokens, reserved_cost)
    values (t.tenant, t.run, 1, t.environment, t.parent_run, 0, 'open', t.reserved_tokens, t.reserved_cost);
    insert into plimsoll.event (tenant_id, run_id, seq, environment, type, visibility, body)
    values (t.tenant, t.run, 1, t.environment, 'run_queued', 'user', decode(t.event, 'base64'));
    if t.status is not null then
      -- the answer to the caller's key is stored with the run, or neither is
      update plimsoll.idempotency i set status = t.status, response = decode(t.response, 'base64')
      where i.tenant_id = t.tenant and i.environment = t.environment and i.run_id = t.run and i.status is null;
      if not found then raise exception using errcode = 'PL001', message = 'idempotency key taken over'; end if;
    end if;
    return query select t.n::int, 'created'::text, s.version, s.generation;
  end loop;
  wall := set_config('app.batch', '', true);
end $function$;
alter function plimsoll.submit(jsonb,text[]) owner to plimsoll_step;
grant execute on function plimsoll.submit(jsonb,text[]) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.sweep(p_tenant text, p_environment text, p_class text, p_limit integer, p_dry boolean, p_after_at timestamp with time zone, p_after_run text, p_blank bytea, p_blank_plan bytea)
 RETURNS TABLE(runs integer, kept integer, changed integer, done boolean, after_at timestamp with time zone, after_run text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  rule record;
  r record;
  cutoff timestamptz;
  n int;
  first_kept timestamptz;
begin
  perform set_config('app.tenant', p_tenant, true), set_config('app.environment', p_environment, true);
  runs := 0; kept := 0; changed := 0; done := true;
  select x.days, x.after_at, x.after_run, x.kept_at into rule from plimsoll.retention x
  where x.tenant_id = p_tenant and x.environment = p_environment and x.class = p_class and x.days is not null
  for update skip locked;
  if found then
    -- an hour, so that a run whose end is being committed is not passed by
    cutoff := now() - greatest(rule.days * interval '1 day', interval '1 hour');
    after_at := coalesce(p_after_at, rule.after_at);
    after_run := coalesce(p_after_run, rule.after_run);
    first_kept := rule.kept_at;

    if p_class in ('attempt', 'idempotency', 'signal', 'rate') then
      if p_class = 'rate' then
        -- the longest span of a rate: a younger row may still count
        cutoff := least(cutoff, now() - interval '1 day');
      elsif p_class = 'signal' then
        -- what was told since the oldest living run began may be meant for it
        cutoff := least(cutoff, (select min(x.created_at) from plimsoll.run x
          where x.tenant_id = p_tenant and x.environment = p_environment and x.status in ('queued', 'running', 'waiting_confirmation')));
      end if;
      if not exists (select from plimsoll.legal_hold h where h.tenant_id = p_tenant and h.environment = p_environment and h.released_at is null) then
        if p_dry and p_class = 'attempt' then
          select count(*) into changed from plimsoll.delivery_attempt a where a.tenant_id = p_tenant and a.created_at < cutoff;
        elsif p_dry and p_class = 'idempotency' then
          select count(*) into changed from plimsoll.idempotency i where i.tenant_id = p_tenant and i.expires_at < cutoff;
        elsif p_dry and p_class = 'rate' then
          select count(*) into changed from plimsoll.tool_calls c
          where c.tenant_id = p_tenant and c.environment = p_environment and c.starts[cardinality(c.starts)] < cutoff;
        elsif p_dry then
          select count(*) into changed from plimsoll.signal s
          where s.tenant_id = p_tenant and s.environment = p_environment and s.created_at < cutoff
            and (s.told_at is null or s.told_at < cutoff) and not exists (select from plimsoll.run x where x.tenant_id = p_tenant
                and x.id = any (s.waiters) and x.status in ('queued', 'running', 'waiting_confirmation'));
        elsif p_class = 'attempt' then
          delete from plimsoll.delivery_attempt a using (
            select b.endpoint_id, b.run_id, b.seq, b.epoch from plimsoll.delivery_attempt b
            where b.tenant_id = p_tenant and b.created_at < cutoff order by b.created_at limit p_limit) old
          where a.tenant_id = p_tenant and a.endpoint_id = old.endpoint_id and a.run_id = old.run_id and a.seq = old.seq and a.epoch = old.epoch;
          get diagnostics changed = row_count;
        elsif p_class = 'idempotency' then
          delete from plimsoll.idempotency i using (
            select k.caller, k.key from plimsoll.idempotency k where k.tenant_id = p_tenant and k.expires_at < cutoff order by k.expires_at limit p_limit) old
          where i.tenant_id = p_tenant and i.environment = p_environment and i.caller = old.caller and i.key = old.key;
          get diagnostics changed = row_count;
        elsif p_class = 'rate' then
          delete from plimsoll.tool_calls c using (
            select k.tool, k.starts from plimsoll.tool_calls k where k.tenant_id = p_tenant and k.environment = p_environment
              and k.starts[cardinality(k.starts)] < cutoff limit p_limit) old
          where c.tenant_id = p_tenant and c.environment = p_environment and c.tool = old.tool and c.starts = old.starts;
          get diagnostics changed = row_count;
        else
          -- whoever has come to wait since then has changed the row, and keeps it
          delete from plimsoll.signal s using (
            select k.key, k.waiters from plimsoll.signal k
            where k.tenant_id = p_tenant and k.environment = p_environment and k.created_at < cutoff
              and (k.told_at is null or k.told_at < cutoff) and not exists (select from plimsoll.run x where x.tenant_id = p_tenant
                and x.id = any (k.waiters) and x.status in ('queued', 'running', 'waiting_confirmation'))
            order by k.created_at limit p_limit) old
          where s.tenant_id = p_tenant and s.environment = p_environment and s.key = old.key and s.waiters = old.waiters
            and (s.told_at is null or s.told_at < cutoff);
          get diagnostics changed = row_count;
        end if;
        done := p_dry or changed < p_limit;
      end if;
    else
      for r in
        select x.id, x.ended_at, x.subject_id, x.session_id from plimsoll.run x
        where x.tenant_id = p_tenant and x.environment = p_environment and x.ended_at < cutoff and (x.ended_at, x.id) > (after_at, after_run)
        order by x.ended_at, x.id limit p_limit
      loop
        after_at := r.ended_at;
        after_run := r.id;
        if exists (select from plimsoll.legal_hold h where h.tenant_id = p_tenant and h.environment = p_environment
                   and h.released_at is null and (h.subject_id is null or h.subject_id = r.subject_id))
          or (p_class = 'event' and exists (select from plimsoll.delivery d where d.tenant_id = p_tenant and d.run_id = r.id and d.due_at < 'infinity'))
          or (p_class = 'event' and exists (select from plimsoll.event v cross join (
                select e.starts_at, e.seen_at from plimsoll.endpoint e
                where e.tenant_id = p_tenant and e.environment = p_environment and e.state = 'enabled'
                union all
                select s.starts_at, s.seen_at from plimsoll.sink s where s.seen_at > now() - interval '7 days') listener
              where v.tenant_id = p_tenant and v.run_id = r.id and v.visibility = 'user'
                and v.created_at >= listener.starts_at and v.created_at > listener.seen_at - interval '30 seconds'))
          or (p_class in ('value', 'artifact') and exists (select from plimsoll.effect e where e.tenant_id = p_tenant and e.run_id = r.id and e.status in ('started', 'unknown')))
          -- a folder of the conversation may be made again from its files, on any machine
          or (p_class = 'artifact' and exists (select from plimsoll.run x where x.tenant_id = p_tenant and x.session_id = r.session_id
              and x.status in ('queued', 'running', 'waiting_confirmation')))
        then
          kept := kept + 1;
          first_kept := least(first_kept, r.ended_at);
          continue;
        end if;
        runs := runs + 1;
        n := 0;
        if p_dry then
          if p_class = 'delta' then select count(*) into n from plimsoll.delta x where x.tenant_id = p_tenant and x.run_id = r.id;
          elsif p_class = 'event' then select count(*) into n from plimsoll.event x where x.tenant_id = p_tenant and x.run_id = r.id;
          elsif p_class = 'message' then select count(*) into n from plimsoll.message x where x.tenant_id = p_tenant and x.run_id = r.id;
          elsif p_class = 'artifact' then
            select count(*) into n from plimsoll.artifact x where x.tenant_id = p_tenant and x.run_id = r.id and x.removed_at is null;
          else select count(*) into n from plimsoll.effect x where x.tenant_id = p_tenant and x.run_id = r.id;
          end if;
        elsif p_class = 'delta' then
          delete from plimsoll.delta x where x.tenant_id = p_tenant and x.run_id = r.id;
          get diagnostics n = row_count;
        elsif p_class = 'event' then
          delete from plimsoll.event x where x.tenant_id = p_tenant and x.run_id = r.id;
          get diagnostics n = row_count;
          delete from plimsoll.delivery x where x.tenant_id = p_tenant and x.run_id = r.id;
        elsif p_class = 'message' then
          delete from plimsoll.message x where x.tenant_id = p_tenant and x.run_id = r.id;
          get diagnostics n = row_count;
        elsif p_class = 'artifact' then
          -- from here on nobody is promised the bytes; the objects go after this is committed
          update plimsoll.artifact x set removed_at = now(), about = null
          where x.tenant_id = p_tenant and x.run_id = r.id and x.removed_at is null;
          get diagnostics n = row_count;
        else
          update plimsoll.effect x set arguments = p_blank, result = null where x.tenant_id = p_tenant and x.run_id = r.id;
          get diagnostics n = row_count;
          update plimsoll.confirmation x set plan = p_blank_plan where x.tenant_id = p_tenant and x.run_id = r.id;
        end if;
        changed := changed + n;
      end loop;
      done := runs + kept < p_limit;
      if not p_dry then
        -- the next pass begins at the first run that this one has left alone
        update plimsoll.retention x set
          after_at = case when done and first_kept is not null then first_kept - interval '1 microsecond' else sweep.after_at end,
          after_run = case when done and first_kept is not null then '' else sweep.after_run end,
          kept_at = case when not done then first_kept end
        where x.tenant_id = p_tenant and x.environment = p_environment and x.class = p_class;
      end if;
    end if;
    if not p_dry then
      update plimsoll.retention x set swept_at = now() where x.tenant_id = p_tenant and x.environment = p_environment and x.class = p_class and done;
    end if;
  end if;
  perform set_config('app.tenant', '', true), set_config('app.environment', '', true);
  return next;
end $function$;
alter function plimsoll.sweep(text,text,text,integer,boolean,timestamp with time zone,text,bytea,bytea) owner to plimsoll_retain;
grant execute on function plimsoll.sweep(text,text,text,integer,boolean,timestamp with time zone,text,bytea,bytea) to plimsoll_app;

CREATE OR REPLACE FUNCTION plimsoll.tell(p jsonb, p_keys text[])
 RETURNS TABLE(n integer, outcome text, waiters integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  wall text;
  t record;
  s record;
begin
  for t in
    select * from rows from (jsonb_to_recordset(p) as (tenant text, environment text, signal text, body text, hash text))
      with ordinality as t(tenant, environment, signal, body, hash, n) order by tenant, signal
  loop
    wall := set_config('app.batch', '|' || array_to_string(p_keys, '|') || '|', true);
    insert into plimsoll.signal as x (tenant_id, environment, key, body, body_hash, told_at)
    values (t.tenant, t.environment, t.signal, decode(t.body, 'base64'), t.hash, now())
    on conflict (tenant_id, environment, key) do update set
      body = coalesce(x.body, excluded.body), body_hash = coalesce(x.body_hash, excluded.body_hash),
      told_at = coalesce(x.told_at, excluded.told_at)
    returning x.body_hash, x.waiters into s;
    if s.body_hash <> t.hash then
      return query select t.n::int, 'told_otherwise'::text, 0;
      continue;
    end if;
    -- the signal names its waiters: their runs, and no others, are behind the wall now
    wall := set_config('app.batch', coalesce((select '|' || string_agg(t.tenant || '/' || t.environment || '/' || x.id, '|') || '|'
      from unnest(s.waiters) as x (id)), ''), true);
    update plimsoll.run r set version = r.version + 1,
      due_at = case when r.status = 'waiting_confirmation' and r.wait_reason <> 'unknown_effect' then now() else r.due_at end
    where r.tenant_id = t.tenant and r.environment = t.environment and r.id = any (s.waiters)
      and r.status in ('queued', 'running', 'waiting_confirmation')
      and exists (select from plimsoll.effect e where e.tenant_id = r.tenant_id and e.run_id = r.id and e.status = 'waiting'
        and e.wait_signal = t.signal);
    return query select t.n::int, 'told'::text, cardinality(s.waiters);
  end loop;
  wall := set_config('app.batch', '', true);
end $function$;
alter function plimsoll.tell(jsonb,text[]) owner to plimsoll_step;
grant execute on function plimsoll.tell(jsonb,text[]) to plimsoll_app;
