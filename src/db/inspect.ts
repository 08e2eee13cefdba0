/** What an operator asks about a PostgreSQL before trusting it: read with the rights of the URL's own role. */
import { withMigrator } from './upgrade.ts'
import { migrationState } from './migrate.ts'

export interface StoreReport {
  /** `15.8` */
  readonly version: string
  readonly role: string
  /** It could walk through every wall. */
  readonly isSuperuser: boolean
  /** It may become `plimsoll_app`, the role of the program. */
  readonly mayRun: boolean
  readonly pending: readonly string[]
  /** Tables with a tenant in which row-level security is not forced; must be empty. */
  readonly unwalled: readonly string[]
}

const ROLE = `select current_setting('server_version') as version, current_user as role, r.rolsuper or r.rolbypassrls as super,
  exists (select from pg_roles where rolname = 'plimsoll_app') as known from pg_roles r where r.rolname = current_user`

// credential is looked up before the tenant is known: it belongs to the closed list of system tables
const UNWALLED = `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = 'plimsoll' and c.relkind in ('r', 'p') and not (c.relrowsecurity and c.relforcerowsecurity)
    and c.relname not in ('tenant', 'worker', 'credential', 'migration', 'sink', 'restore_log') order by 1`

/** @throws Fault `store_unavailable`, `schema_newer` */
export const inspectStore = (url: string): Promise<StoreReport> =>
  withMigrator(url, async (db) => {
    const [row] = await db.query(ROLE)
    const known = row?.['known'] === true
    const [member] = known ? await db.query(`select pg_has_role('plimsoll_app', 'member') as may`) : []
    return {
      version: String(row?.['version']),
      role: String(row?.['role']),
      isSuperuser: row?.['super'] === true,
      mayRun: member?.['may'] === true,
      pending: (await migrationState(db)).pending.map((m) => m.name),
      unwalled: (await db.query(UNWALLED)).map((r) => String(r['name'])),
    }
  })
