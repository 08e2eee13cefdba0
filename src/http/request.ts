/** What a request holds, read strictly: nothing here reaches the store before it has its shape. */
import type { Context } from 'hono'
import type { HttpBindings } from '@hono/node-server'
import type { z } from 'zod'
import { Fault, type FieldError } from '../kernel/fault.ts'
import { type Id, type IdPrefix, isId } from '../kernel/ids.ts'
import { type Json, parseStrictBytes, pointer } from '../kernel/json.ts'
import { MEDIA_LIMITS } from '../kernel/media.ts'
import type { Caller, Door } from '../request/door.shell.ts'
import type { Runtime } from '../runtime.ts'

export interface Env {
  Bindings: HttpBindings
  Variables: { caller: Caller }
}
export type Ctx = Context<Env>

export interface Parts {
  readonly runtime: Runtime
  readonly door: Door
}

/** Room for a message of 100 000 characters of any script. */
export const MOST_BYTES = 512 * 1024
/** Room for what a message may carry besides, in base64. */
export const MOST_MESSAGE_BYTES = MOST_BYTES + Math.ceil(MEDIA_LIMITS.messageBytes / 3) * 4
const PAGE = 20

export function idOf<P extends IdPrefix>(c: Ctx, prefix: P): Id<P> {
  const id = c.req.param('id')
  if (isId(prefix, id)) return id
  throw invalid('/path/id', `is not an id of the form ${prefix}_…`)
}

const ETAGS = /^(?:\*|(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*)$/

/** The version in `If-Match`; null without one. An ETag that is none of ours matches no version. @throws Fault `invalid_request` */
export function ifMatch(c: Ctx): number | null {
  const given = c.req.header('if-match')
  if (given === undefined) return null
  if (!ETAGS.test(given.trim()))
    throw invalid('/header/if-match', 'is no ETag: send the one that was given, with its quotes: "v3"')
  const version = /^"v([0-9]{1,15})"$/.exec(given.trim())?.[1]
  return version === undefined ? -1 : Number(version)
}

export const etag = (version: number): string => `"v${version}"`

/** The body as checked by `schema`, and as it was sent, for the key of idempotency. An empty body is `{}`. */
export async function bodyOf<S extends z.ZodType>(
  c: Ctx,
  schema: S,
  mostBytes = MOST_BYTES,
): Promise<{ readonly value: z.output<S>; readonly sent: Json }> {
  const bytes = await bytesOf(c, mostBytes)
  if (bytes.byteLength > 0 && !/^application\/json\s*(;|$)/i.test(c.req.header('content-type') ?? ''))
    throw new Fault('unsupported_media_type')
  const parsed =
    bytes.byteLength === 0 ? { ok: true as const, value: {} } : parseStrictBytes(bytes, { bytes: mostBytes })
  if (!parsed.ok)
    throw new Fault('invalid_json', undefined, { errors: [{ path: parsed.path, message: parsed.message }] })
  return { value: checked(schema, parsed.value, ''), sent: parsed.value }
}

/**
 * Kept up to the limit and not a byte further. What comes beyond is read and dropped for a while: a client that is still
 * writing when the connection closes sees a broken pipe and not the answer. What is compressed has no size until it is
 * unpacked, so it is too large.
 */
async function bytesOf(c: Ctx, most: number): Promise<Uint8Array> {
  const encoding = c.req.header('content-encoding')
  if (encoding !== undefined && encoding !== 'identity')
    throw new Fault('input_too_large', 'Compressed bodies are not taken.')
  if (Number(c.req.header('content-length') ?? 0) > most + MOST_DROPPED) throw tooLarge(most)
  const chunks: Uint8Array[] = []
  let size = 0
  let until = Number.POSITIVE_INFINITY
  try {
    for await (const chunk of (c.req.raw.body ?? []) as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength
      if (size <= most) {
        chunks.push(chunk)
        continue
      }
      chunks.length = 0
      until = Math.min(until, performance.now() + DROPPING_MS)
      if (size > most + MOST_DROPPED || performance.now() > until) break
    }
  } catch {
    // a client that leaves is no fault of ours
    throw size > most ? tooLarge(most) : invalid('', 'ended before it was whole')
  }
  if (size > most) throw tooLarge(most)
  return Buffer.concat(chunks)
}

/** Far beyond what somebody sends by mistake; a second for it. */
const MOST_DROPPED = 128 * 1024 * 1024
const DROPPING_MS = 1_000
const tooLarge = (most: number): Fault => new Fault('input_too_large', `A body has at most ${most} bytes.`)

/** The parameters of the query, each at most once. */
export function queryOf<S extends z.ZodType>(c: Ctx, schema: S): z.output<S> {
  const given: Record<string, string> = Object.create(null) as Record<string, string>
  for (const [name, values] of Object.entries(c.req.queries())) {
    if (values.length > 1) throw invalid(`/query/${name.slice(0, 64)}`, 'is given twice')
    given[name] = values[0] ?? ''
  }
  return checked(schema, given, '/query')
}

function checked<S extends z.ZodType>(schema: S, value: unknown, root: string): z.output<S> {
  const read = schema.safeParse(value)
  if (read.success) return read.data
  const errors = read.error.issues.flatMap((issue): FieldError[] => {
    const path = issue.path.map(String)
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({
        path: root + pointer([...path, key]),
        message: 'is not a field of this request',
      }))
    return [{ path: root + pointer(path), message: wordsOf(issue.message) }]
  })
  throw new Fault('invalid_request', undefined, { errors: unique(errors) })
}

/** In the words of a reader who knows the fields and not what checks them. */
function wordsOf(message: string): string {
  if (message.endsWith('received undefined')) return 'is missing'
  if (message === 'Invalid input') return 'has none of the forms that the API describes'
  return message
    .replace(/^Invalid input: expected ([^,]+), received (.+)$/, 'is $2 and must be $1')
    .replace(/^Invalid input: expected /, 'must be ')
}

/** A value that breaks two rules of one sentence is told once. */
const unique = (errors: readonly FieldError[]): FieldError[] => [
  ...new Map(errors.map((e) => [`${e.path} ${e.message}`, e])).values(),
]

export const invalid = (path: string, message: string): Fault =>
  new Fault('invalid_request', undefined, { errors: [{ path, message }] })

/** A page of a list: its cursor works for this caller, this list and these filters only. */
export function pageOf(
  c: Ctx,
  door: Door,
  query: { readonly limit?: string | undefined; readonly cursor?: string | undefined },
) {
  const { limit, cursor, ...filters } = query
  const { actor } = c.get('caller')
  const seer = actor.kind === 'end_user' ? actor.user : ''
  const bound = [actor.tenant, actor.environment, seer, c.req.path, JSON.stringify(Object.entries(filters).sort())]
  return {
    limit: limit === undefined ? PAGE : Number(limit),
    after: cursor === undefined ? '' : door.cursor.read(bound, cursor),
    answer: <T>(items: readonly T[], next: string | null) => ({
      items,
      next_cursor: next === null ? null : door.cursor.write(bound, next),
    }),
  }
}
