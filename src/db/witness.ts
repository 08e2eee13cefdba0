/**
 * A witness inside the database: triggers that note every change of a run with the server's own clock, and that refuse a
 * statement when told to. Nothing of it belongs to the product; it is laid over a migrated database with all rights.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { storeFault } from './fault.ts'
import { openMigrator } from './postgres.ts'
import { isUnreachable } from '../kernel/fault.ts'

/** One change of a run's row, as the server saw it. */
export interface Change {
  readonly version: number
  readonly before: number
  readonly epoch: number
  readonly worker: string | null
  readonly was: string
  readonly status: string
  /** Whether its own worker has committed it. */
  readonly own: boolean
  /** What was left of the lease of the worker that had the run before, in milliseconds; null when it is not listed any more. */
  readonly leaseLeft: number | null
  /** The process that has the run now, and when it enlisted for the first time; null when nobody has it. */
  readonly pid: number | null
  readonly since: number | null
  /** Milliseconds since the epoch. */
  readonly at: number
}

export interface Evidence {
  readonly agent: string
  readonly run: {
    readonly status: string
    readonly wait: string | null
    readonly end: string | null
    readonly attempts: number
    readonly epoch: number
    readonly eventSeq: number
    readonly messageSeq: number
    readonly usedTokens: number
    readonly heldTokens: number
    readonly maxTokens: number
    readonly usedCost: number
    readonly heldCost: number
    readonly maxCost: number
  }
  readonly changes: readonly Change[]
  readonly events: readonly {
    readonly seq: number
    readonly type: string
    readonly at: number
    readonly text: string
  }[]
  readonly messages: readonly { readonly seq: number; readonly place: string }[]
  readonly effects: readonly {
    readonly status: string
    readonly outcome: string | null
    /** Why it is no `ok`. */
    readonly code: string | null
    readonly startedAt: number | null
  }[]
  readonly ledger: readonly {
    readonly kind: string
    readonly tokens: number
    readonly held: number
    readonly cost: number
    readonly heldCost: number
  }[]
  /** Decisions in the audit, and what they were about. */
  readonly audit: readonly string[]
}

/** Where consent, effects and money are kept. */
const BLOCKABLE = ['confirmation', 'effect', 'ledger'] as const
export type Blockable = (typeof BLOCKABLE)[number]

export interface Block {
  /** How often somebody ran into it. */
  hits(): Promise<number>
  release(): Promise<void>
}

export interface Witness {
  evidence(run: string): Promise<Evidence>
  /** The n-th change of the run is refused with this SQLSTATE, once. */
  refuse(run: string, nth: number, sqlstate: '40001' | '40P01'): Promise<void>
  /** Rows of the run in this table cannot be written until `release`. */
  block(run: string, table: Blockable): Promise<Block>
  /** The processes of ours that hold runs, by what the workers say of themselves. */
  heldBy(pid: number): Promise<number>
  /** The server's clock, in milliseconds since the epoch. */
  now(): Promise<number>
  /** Whether a worker of this process has a lease that lives. */
  hasLease(pid: number): Promise<boolean>
  /** Changes what a person has agreed to, behind the back of the program. */
  tamper(run: string, what: Tampering): Promise<void>
  /** Lets claims of idempotency keys whose request has died be taken over now and not in half a minute. */
  ageKeys(): Promise<void>
  close(): Promise<void>
}

/** One binding of a confirmation each, in the row of the effect or of the confirmation. */
export const TAMPERINGS = {
  arguments: `update plimsoll.effect set arguments = decode(replace(encode(arguments, 'escape'), ':1}', ':9}'), 'escape')
    where run_id = $1 and level <> 'read' and encode(arguments, 'escape') like '%:1}%'`,
  arguments_hash: `update plimsoll.effect set arguments_hash = md5(arguments_hash) where run_id = $1 and level <> 'read'`,
  effect_tool: `update plimsoll.effect set tool = 'stock.look' where run_id = $1 and level <> 'read'`,
  effect_version: `update plimsoll.effect set tool_version = tool_version + 1 where run_id = $1 and level <> 'read'`,
  params_hash: `update plimsoll.confirmation set params_hash = md5(params_hash) where run_id = $1`,
  resource_version: `update plimsoll.confirmation set resource_version = 'another' where run_id = $1`,
  place: `update plimsoll.confirmation set step = step + 1 where run_id = $1`,
  status: `update plimsoll.confirmation set status = 'pending', decided_by = null where run_id = $1`,
  execute_by: `update plimsoll.confirmation set execute_by = now() - interval '1 second' where run_id = $1`,
} as const
export type Tampering = keyof typeof TAMPERINGS

const INSTALL = `
create schema if not exists crash;
create table if not exists crash.change (
  n int8 generated always as identity, run text not null, version int8, before int8, epoch int8, worker text, was text,
  status text, own boolean, lease_left float8, pid int, since timestamptz, at timestamptz not null default clock_timestamp());
create index if not exists change_run on crash.change (run);
create table if not exists crash.refusal (run text primary key, nth int not null, sqlstate text not null, seen text not null);
create or replace function crash.note() returns trigger language plpgsql security definer as $f$
begin
  insert into crash.change (run, version, before, epoch, worker, was, status, own, lease_left, pid, since)
  select new.id, new.version, old.version, new.epoch, new.worker_id, old.status, new.status, new.commits > old.commits,
    (select extract(epoch from w.lease_until - clock_timestamp()) * 1000 from plimsoll.worker w where w.id = old.worker_id),
    (select w.pid from plimsoll.worker w where w.id = new.worker_id),
    (select min(o.started_at) from plimsoll.worker w join plimsoll.worker o using (host, pid) where w.id = new.worker_id);
  return null;
end $f$;
-- a sequence counts also what is rolled back
create or replace function crash.refuse() returns trigger language plpgsql security definer as $f$
declare f record;
begin
  select * into f from crash.refusal where run = new.id;
  if found and nextval(f.seen::regclass) = f.nth then
    raise exception using errcode = f.sqlstate, message = 'planted';
  end if;
  return new;
end $f$;
create table if not exists crash.block (run text, place text, seen text not null, primary key (run, place));
create or replace function crash.blocked() returns trigger language plpgsql security definer as $f$
declare b record;
begin
  select * into b from crash.block where run = new.run_id and place = tg_table_name;
  if found then
    perform nextval(b.seen::regclass);
    raise exception using errcode = '58030', message = 'planted';
  end if;
  return new;
end $f$;
${BLOCKABLE.map((table) => `create or replace trigger blocked before insert or update on plimsoll.${table} for each row execute function crash.blocked();`).join('\n')}
create or replace trigger note after update on plimsoll.run for each row execute function crash.note();
create or replace trigger refuse before update on plimsoll.run for each row execute function crash.refuse();
`

const MS = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`

const EVIDENCE = `select jsonb_build_object(
  'agent', (select agent from plimsoll.run where id = $1),
  'run', (select jsonb_build_object('status', status, 'wait', wait_reason, 'end', end_reason, 'attempts', attempts, 'epoch', epoch,
    'eventSeq', event_seq, 'messageSeq', message_seq, 'usedTokens', used_tokens, 'heldTokens', reserved_tokens,
    'maxTokens', max_tokens, 'usedCost', used_cost, 'heldCost', reserved_cost, 'maxCost', max_cost)
    from plimsoll.run where id = $1),
  'changes', (select coalesce(jsonb_agg(jsonb_build_object('version', version, 'before', before, 'epoch', epoch, 'worker', worker,
    'was', was, 'status', status, 'own', own, 'leaseLeft', lease_left, 'pid', pid, 'since', ${MS('since')},
    'at', ${MS('at')}) order by n), '[]')
    from crash.change where run = $1),
  'events', (select coalesce(jsonb_agg(jsonb_build_object('seq', seq, 'type', type, 'at', ${MS('created_at')},
    'text', encode(body, 'escape')) order by seq), '[]') from plimsoll.event where run_id = $1),
  'messages', (select coalesce(jsonb_agg(jsonb_build_object('seq', seq, 'place', concat_ws('/', step, position, role)) order by seq),
    '[]') from plimsoll.message where run_id = $1),
  'effects', (select coalesce(jsonb_agg(jsonb_build_object('status', status, 'outcome', outcome, 'code', error_code, 'startedAt', ${MS('started_at')})),
    '[]') from plimsoll.effect where run_id = $1 and level <> 'read'),
  'ledger', (select coalesce(jsonb_agg(jsonb_build_object('kind', kind, 'tokens', input_tokens + output_tokens,
    'held', reserved_tokens - released_tokens, 'cost', spent_cost, 'heldCost', reserved_cost - released_cost) order by seq), '[]')
    from plimsoll.ledger where run_id = $1),
  'audit', (select coalesce(jsonb_agg(action || ' ' || target || ' ' || outcome), '[]') from plimsoll.audit where run_id = $1)
) as found`

/** `url`: of a role with all rights on a migrated database. */
export async function openWitness(url: string): Promise<Witness> {
  let db = await openMigrator(url)
  await db.script(INSTALL)
  /** A restart of the server ends the connection, which comes back when the server does. */
  async function patiently(text: string, values: readonly unknown[]): Promise<Record<string, unknown>[]> {
    for (let left = MOST_TRIES; ; left--) {
      try {
        return await db.query(text, values)
      } catch (error) {
        if (left === 0 || !isUnreachable(storeFault(error))) throw error
        await db.close().catch(() => {})
        await sleep(TRY_MS)
        db = await openMigrator(url).catch(() => db)
      }
    }
  }
  // one after the other: it is one connection
  let before: Promise<unknown> = Promise.resolve()
  const ask = (text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> => {
    const answer = before.then(() => patiently(text, values))
    before = answer.catch(() => {})
    return answer
  }
  return {
    async evidence(run) {
      const [row] = await ask(EVIDENCE, [run])
      return row?.['found'] as Evidence
    },
    async refuse(run, nth, sqlstate) {
      const seen = `crash.seen_${run}`
      await ask(`create sequence ${seen}`)
      await ask('insert into crash.refusal values ($1, $2, $3, $4)', [run, nth, sqlstate, seen])
    },
    async block(run, table) {
      const seen = `crash.block_${table}_${run}`
      await ask(`create sequence ${seen}`)
      await ask('insert into crash.block values ($1, $2, $3)', [run, table, seen])
      return {
        async hits() {
          const [row] = await ask(`select last_value - (not is_called)::int as n from ${seen}`)
          return Number(row?.['n'])
        },
        async release() {
          await ask('delete from crash.block where run = $1 and place = $2', [run, table])
        },
      }
    },
    async heldBy(pid) {
      const [row] = await ask(
        `select count(*)::int as n from plimsoll.run r join plimsoll.worker w on w.id = r.worker_id
         where r.status = 'running' and w.pid = $1`,
        [pid],
      )
      return Number(row?.['n'])
    },
    async now() {
      const [row] = await ask(`select ${MS('clock_timestamp()')} as at`)
      return Number(row?.['at'])
    },
    async hasLease(pid) {
      return (await ask('select from plimsoll.worker where pid = $1 and lease_until > now()', [pid])).length > 0
    },
    async tamper(run, what) {
      const rows = await ask(`${TAMPERINGS[what]} returning 1`, [run])
      if (rows.length !== 1) throw new Error(`${rows.length} rows were changed`)
    },
    async ageKeys() {
      await ask(`update plimsoll.idempotency set created_at = created_at - interval '1 hour' where status is null`)
    },
    close: () => db.close(),
  }
}

/** A server that is restarted is back within a few seconds. */
const MOST_TRIES = 100
const TRY_MS = 200
