/** The tables: keys, checks and a way back. A statement that fails in the middle leaves every row as it was. */
import { DEFAULTS, type RunRow, type Rows, type TableName } from './rows.ts'

export interface Table<R> {
  /** By the primary key. */
  get(key: string): R | undefined
  /** The rows of a run, `tenant/run`, in the order in which they came. */
  of(run: string): readonly R[]
  all(): IterableIterator<R>
  insert(row: R): void
  change(row: R, changes: Partial<R>): void
  remove(row: R): void
}

export type Tables = { readonly [T in TableName]: Table<Rows[T]> } & {
  /** The store's clock: the only one of leases, deadlines and due times. */
  readonly now: () => number
  /** A row as an INSERT that names these columns makes it. */
  rowOf<T extends TableName>(table: T, columns: Partial<Rows[T]>): Rows[T]
  /** All that `work` changes, or nothing of it when it throws. */
  transaction<T>(work: () => T): T
}

interface Shape<R> {
  readonly name: string
  readonly key: (row: R) => string
  /** `tenant/run` of the run that a row belongs to; absent where rows are only looked up by key. */
  readonly run?: (row: R) => string
  /** A second unique key; null where the row is not in that index. */
  readonly also?: (row: R) => string | null
  /** Whether the CHECK constraints hold. */
  readonly holds?: (row: R) => boolean
}

const FINAL: ReadonlySet<string> = new Set(['succeeded', 'failed', 'canceled'])

/** The three CHECKs over several columns, and the amounts. */
function isRun(r: RunRow): boolean {
  return (
    FINAL.has(r.status) === (r.end_reason !== null) &&
    (r.status === 'waiting_confirmation') === (r.wait_reason !== null) &&
    (r.status === 'running') === (r.worker_id !== null) &&
    r.used_tokens >= 0 &&
    r.used_cost >= 0 &&
    r.reserved_tokens >= 0 &&
    r.reserved_cost >= 0
  )
}

const ofRun = (row: { readonly tenant_id: string; readonly run_id: string }): string => `${row.tenant_id}/${row.run_id}`
const bySeq = (row: { readonly tenant_id: string; readonly run_id: string; readonly seq: number }): string =>
  `${row.tenant_id}/${row.run_id}/${row.seq}`
const byId = (row: { readonly tenant_id: string; readonly id: string }): string => `${row.tenant_id}/${row.id}`

type Shapes = { readonly [T in TableName]: Omit<Shape<Rows[T]>, 'name'> }
const SHAPES: Shapes = {
  worker: { key: (r) => r.id },
  session: { key: byId },
  run: { key: byId, also: (r) => `${r.tenant_id}/${r.session_id}/${r.branch}/${r.generation}`, holds: isRun },
  message: { key: bySeq, run: ofRun },
  effect: {
    key: (r) => `${r.tenant_id}/${r.run_id}/${r.step}/${r.position}`,
    run: ofRun,
    also: (r) => (r.level === 'read' ? null : `${r.tenant_id}/${r.idempotency_key}`),
    holds: (r) =>
      (r.status === 'settled') === (r.outcome !== null) &&
      (r.level === 'read' ||
        r.status === 'intended' ||
        r.approval === 'refused' ||
        r.started_at !== null ||
        r.outcome !== 'ok'),
  },
  confirmation: { key: byId, run: ofRun, also: (r) => `${ofRun(r)}/${r.step}/${r.position}/${r.nonce}` },
  ledger: { key: (r) => `${bySeq(r)}/${r.level}`, run: ofRun },
  event: { key: bySeq, run: ofRun },
  delta: { key: bySeq, run: ofRun },
  idempotency: { key: (r) => `${r.tenant_id}/${r.environment}/${r.caller}/${r.key}`, run: ofRun },
  signal: { key: (r) => `${r.tenant_id}/${r.environment}/${r.key}` },
  sink: { key: (r) => r.name },
  delivery: { key: (r) => `${r.tenant_id}/${r.endpoint_id}/${r.run_id}`, run: ofRun },
  tool_calls: { key: (r) => `${r.tenant_id}/${r.environment}/${r.tool}` },
  retention: { key: (r) => `${r.tenant_id}/${r.environment}/${r.class}` },
  audit: { key: byId },
}

/** An error of the store that is none of the connection: the row cannot be written. */
const refuse = (table: string, why: string): Error => new Error(`${why} constraint of ${table}`)

function tableOf<R extends object>(
  undo: (() => void)[],
  { name, key, run, also, holds }: Shape<R>,
  isChecked: boolean,
): Table<R> {
  const rows = new Map<string, R>()
  const seconds = new Set<string>()
  const runs = new Map<string, R[]>()

  function add(row: R): void {
    rows.set(key(row), row)
    const second = also?.(row)
    if (second) seconds.add(second)
    if (!run) return
    const list = runs.get(run(row))
    if (list) list.push(row)
    else runs.set(run(row), [row])
  }
  function drop(row: R): void {
    rows.delete(key(row))
    const second = also?.(row)
    if (second) seconds.delete(second)
    const list = run && runs.get(run(row))
    if (list) list.splice(list.indexOf(row), 1)
  }
  return {
    get: (k) => rows.get(k),
    of: (k) => runs.get(k) ?? [],
    all: () => rows.values(),
    insert(row) {
      const second = also?.(row)
      if (isChecked && (rows.has(key(row)) || (second && seconds.has(second)))) throw refuse(name, 'unique')
      if (isChecked && holds && !holds(row)) throw refuse(name, 'check')
      add(row)
      undo.push(() => drop(row))
    },
    change(row, changes) {
      const before: Partial<R> = {}
      for (const column in changes) before[column] = row[column]
      Object.assign(row, changes)
      undo.push(() => void Object.assign(row, before))
      if (isChecked && holds && !holds(row)) throw refuse(name, 'check')
    },
    remove(row) {
      drop(row)
      undo.push(() => add(row))
    },
  }
}

/** Empty tables. `now`: milliseconds, the same within one statement. `isChecked` false: no constraint is looked at. */
export function memoryTables(now: () => number, isChecked = true): Tables {
  const undo: (() => void)[] = []
  const table = <T extends TableName>(name: T): Table<Rows[T]> =>
    tableOf<Rows[T]>(undo, { name, ...(SHAPES[name] as Omit<Shape<Rows[T]>, 'name'>) }, isChecked)
  return {
    worker: table('worker'),
    session: table('session'),
    run: table('run'),
    message: table('message'),
    effect: table('effect'),
    confirmation: table('confirmation'),
    ledger: table('ledger'),
    event: table('event'),
    delta: table('delta'),
    idempotency: table('idempotency'),
    signal: table('signal'),
    sink: table('sink'),
    delivery: table('delivery'),
    tool_calls: table('tool_calls'),
    retention: table('retention'),
    audit: table('audit'),
    now,
    // what a caller leaves out is as missing as a NOT NULL column without a default: a test would see it at once
    rowOf: (name, columns) => ({ created_at: now(), ...DEFAULTS[name], ...columns }) as Rows[typeof name],
    transaction(work) {
      undo.length = 0
      try {
        return work()
      } catch (error) {
        for (const back of undo.reverse()) back()
        throw error
      }
    },
  }
}
