/** The durable log of a run as a stream reads it, and the pieces of an answer that is not committed yet. */
import { createHash } from 'node:crypto'
import type { Db } from '../db/port.ts'
import type { ContentKeys } from '../db/seal.ts'
import type { EventType } from '../kernel/events.ts'
import { Fault } from '../kernel/fault.ts'
import type { JsonObject } from '../kernel/json.ts'
import type { Scope } from '../kernel/scope.ts'
import type { MessageBody } from '../run/writes.ts'
import { dropPieces, putPiece, tail, texts } from './event.sql.ts'
import type { Piece } from './partial.ts'

type Walls = Pick<Scope, 'tenant' | 'environment'>

export interface StoredEvent {
  readonly seq: number
  readonly type: EventType
  readonly at: number
  readonly body: JsonObject
}

export interface Tail {
  readonly events: readonly StoredEvent[]
  readonly pieces: readonly Piece[]
  /** Null when the run is gone. */
  readonly state: { readonly last: number; readonly status: string; readonly step: number } | null
}

export interface TailRequest {
  readonly run: string
  /** The last event that was seen. */
  readonly after: number
  /** The last piece that was seen. */
  readonly piece: number
  readonly limit: number
  readonly operator: boolean
}

export interface NewPiece extends Piece {
  readonly run: string
  readonly generation: number
  readonly epoch: number
}

export interface EventStore {
  tail(scope: Walls, request: TailRequest): Promise<Tail>
  /** Texts of answers that people may see, by their sequence in the run. */
  texts(
    scope: Walls,
    run: string,
    seqs: readonly number[],
  ): Promise<ReadonlyMap<number, { readonly text: string; readonly partial: boolean }>>
  /** False when the attempt may not speak any more. */
  put(scope: Walls, piece: NewPiece): Promise<boolean>
  /** Removes the pieces of a run up to a place. */
  drop(scope: Walls, run: string, below: number): Promise<void>
}

export function eventStore(db: Db, keys: ContentKeys): EventStore {
  const plain = (scope: Walls, sealed: Uint8Array): Buffer => Buffer.from(keys.open(scope.tenant, sealed))
  const open = <T>(scope: Walls, sealed: Uint8Array): T => JSON.parse(plain(scope, sealed).toString()) as T
  return {
    async tail(scope, { run, after, piece, limit, operator }) {
      const visible = operator ? ['user', 'operator'] : ['user']
      const rows = await db.read(scope, tail, { tenant: scope.tenant, run, after, piece, limit, visible })
      const events: StoredEvent[] = []
      const pieces: Piece[] = []
      let state: Tail['state'] = null
      for (const row of rows) {
        const { seq, step, attempt, at } = row
        if (row.kind === 'state') state = { last: seq, status: row.type, step }
        else if (row.body === null) continue
        else if (row.kind === 'event')
          events.push({ seq, at, type: row.type as EventType, body: open(scope, row.body) })
        else
          pieces.push({
            seq,
            step,
            attempt,
            ...open<{ readonly offset: number; readonly text: string }>(scope, row.body),
          })
      }
      return { events, pieces, state }
    },
    async texts(scope, run, seqs) {
      if (seqs.length === 0) return new Map()
      const rows = await db.read(scope, texts, { tenant: scope.tenant, run, seqs })
      return new Map(
        rows.map((row) => {
          const body = plain(scope, row.body)
          if (createHash('sha256').update(body).digest('hex') !== keys.unveil(scope.tenant, row.hash))
            throw new Fault('content_damaged', `A message of run ${run} does not match its hash.`)
          return [row.seq, { text: (JSON.parse(body.toString()) as MessageBody).text, partial: row.partial }]
        }),
      )
    },
    async put(scope, { run, seq, step, attempt, generation, epoch, offset, text }) {
      const body = keys.seal(scope.tenant, Buffer.from(JSON.stringify({ offset, text })))
      const rows = await db.write(scope, putPiece, {
        tenant: scope.tenant,
        run,
        seq,
        step,
        attempt,
        generation,
        epoch,
        body,
      })
      return rows.length > 0
    },
    async drop(scope, run, below) {
      await db.write(scope, dropPieces, { tenant: scope.tenant, run, below })
    },
  }
}
