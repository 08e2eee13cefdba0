import { type PGlite, protocol } from '@electric-sql/pglite'
import type { Block } from './sqltext.ts'

/** The TypeScript types of one statement, as PostgreSQL's parser sees it. Nothing is executed. */
export interface Description {
  readonly parameters: readonly { readonly name: string; readonly type: string }[]
  /** Empty when the statement returns no rows. */
  readonly columns: readonly { readonly name: string; readonly type: string }[]
}

type Describe = (block: Block) => Promise<Description>

interface Field {
  readonly name: string
  readonly tableID: number
  readonly columnID: number
  readonly dataTypeID: number
}

interface TypeRow {
  oid: number
  name: string
  kind: string
  base: number
  element: number
}

const NUMBERS = ['int2', 'int4', 'int8', 'float4', 'float8', 'oid']
const TEXTS = ['text', 'varchar', 'bpchar', 'char', 'name', 'uuid', 'numeric', 'citext', 'regclass', 'unknown']
const DATES = ['timestamptz', 'timestamp', 'date', 'time', 'timetz', 'interval']

/** Reads the catalogue once; call again after migrations have changed it. */
export async function describer(db: PGlite): Promise<Describe> {
  const types = new Map<number, TypeRow>()
  const catalogue = await db.query<TypeRow>(
    `select oid::int, typname as name, typtype as kind, typbasetype::int as base,
            case when typcategory = 'A' then typelem::int else 0 end as element from pg_type`,
  )
  for (const row of catalogue.rows) types.set(row.oid, row)
  const required = new Set<string>()
  const attributes = await db.query<{ key: string }>(
    `select a.attrelid || '.' || a.attnum as key from pg_attribute a join pg_class c on c.oid = a.attrelid
     where a.attnotnull and c.relkind in ('r', 'p')`,
  )
  for (const row of attributes.rows) required.add(row.key)

  return async (block) => {
    const { parameters, fields } = await ask(db, block.text)
    // beyond an outer join a NOT NULL column may be null
    const outer = /\b(left|right|full)\s+(outer\s+)?join\b/i.test(block.text)
    const mayBeNull = (field: Field) =>
      block.nullability.has(field.name)
        ? block.nullability.get(field.name) === '?'
        : outer || !required.has(`${field.tableID}.${field.columnID}`)
    return {
      parameters: block.parameters.map(({ name, nullable }, index) => ({
        name,
        type: orNull(typeOf(types, parameters[index] ?? 0, 'parameter', `:${name}`), nullable),
      })),
      columns: distinct(fields).map((field) => ({
        name: field.name,
        type: orNull(typeOf(types, field.dataTypeID, 'column', `"${field.name}"`), mayBeNull(field)),
      })),
    }
  }
}

async function ask(db: PGlite, text: string) {
  const { parse, describe, sync } = protocol.serialize
  let parameters: readonly number[] = []
  let fields: readonly Field[] = []
  let failure: unknown
  for (const message of [parse({ text }), describe({ type: 'S' }), sync()]) {
    const answer = await db.execProtocol(message, { throwOnError: false })
    for (const part of answer.messages) {
      if (part.name === 'error') failure ??= part
      if ('dataTypeIDs' in part) parameters = part.dataTypeIDs as number[]
      if ('fields' in part && part.name === 'rowDescription') fields = part.fields as Field[]
    }
  }
  if (failure !== undefined) throw failure as Error
  return { parameters, fields }
}

function distinct(fields: readonly Field[]): readonly Field[] {
  for (const field of fields) {
    if (field.name === '?column?') throw new Error('a column has no name: add `as "name"`')
    if (fields.some((other) => other !== field && other.name === field.name)) {
      throw new Error(`two columns are called "${field.name}"`)
    }
  }
  return fields
}

/** A jsonb parameter is JSON text, since drivers disagree on arrays; a jsonb column is the parsed value. */
function typeOf(types: ReadonlyMap<number, TypeRow>, oid: number, use: 'parameter' | 'column', what: string): string {
  const row = types.get(oid)
  if (!row) throw new Error(`${what} has an unknown type`)
  if (row.kind === 'd') return typeOf(types, row.base, use, what)
  if (row.element !== 0) {
    const element = typeOf(types, row.element, use, what)
    return use === 'parameter' ? `readonly (${element} | null)[]` : element === 'unknown' ? 'unknown[]' : `${element}[]`
  }
  if (NUMBERS.includes(row.name)) return 'number'
  if (TEXTS.includes(row.name) || row.kind === 'e') return 'string'
  if (row.name === 'bool') return 'boolean'
  if (row.name === 'bytea') return 'Uint8Array'
  if (row.name === 'json' || row.name === 'jsonb') return use === 'parameter' ? 'string' : 'unknown'
  if (row.name === 'void') return 'unknown'
  if (DATES.includes(row.name)) throw new Error(`${what} is ${row.name}: ${epoch[use]}`)
  throw new Error(`${what} is ${row.name}, which has no type here: cast it`)
}

const epoch = {
  parameter: 'take milliseconds, as in to_timestamp(:at::float8 / 1000)',
  column: 'give milliseconds, as in (extract(epoch from x) * 1000)::int8',
}

const orNull = (type: string, nullable: boolean) => (nullable && type !== 'unknown' ? `${type} | null` : type)
