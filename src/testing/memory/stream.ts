/** The event log of a run and the pieces of an answer in progress. */
import { dropPieces, putPiece, tail, texts } from '../../stream/event.sql.ts'
import type { DeltaRow, RunRow } from './rows.ts'
import { base64, bytes, type Guards, on, passes, seen, type Verbs } from './verb.ts'

/** A piece is shown only while its attempt is the one that may speak. */
export const SHOWN: Guards<readonly [DeltaRow, RunRow]> = {
  generation: (d, r) => d.generation === r.generation,
  step: (d, r) => d.step === r.step + 1,
  epoch: (d, r) => Math.floor(d.attempt / 100) === r.epoch,
  running: (_d, r) => r.status === 'running',
  cancel: (_d, r) => r.cancel_cause === null,
}

export interface Speaking {
  readonly epoch: number
  readonly generation: number
  readonly step: number
}

/** A piece is taken only from the attempt that may speak. */
export const SAID: Guards<readonly [RunRow, Speaking]> = {
  epoch: (r, p) => r.epoch === p.epoch,
  generation: (r, p) => r.generation === p.generation,
  step: (r, p) => r.step + 1 === p.step,
  running: (r) => r.status === 'running',
  cancel: (r) => r.cancel_cause === null,
}

export interface StreamGuards {
  readonly shown: typeof SHOWN
  readonly said: typeof SAID
}

export function addStream(verbs: Verbs, guards: StreamGuards): void {
  on(verbs, tail, (tables, { tenant, run, after, visible, limit, piece }, walls) => {
    const key = `${tenant}/${run}`
    const r = tables.run.get(key)
    if (!r || !seen(walls, r)) return []
    const told = tables.event
      .of(key)
      .filter((e) => e.seq > after && visible.includes(e.visibility))
      .sort((a, b) => a.seq - b.seq)
      .slice(0, limit)
    const said = tables.delta
      .of(key)
      .filter((d) => d.seq > piece && passes(guards.shown, d, r))
      .sort((a, b) => a.seq - b.seq)
      .slice(0, limit)
    return [
      ...told.map((e) => ({
        ...{ sort: 1, kind: 'event', seq: e.seq, step: 0, attempt: 0, type: e.type, body: bytes(e.body) },
        at: Math.floor(e.created_at),
      })),
      ...said.map((d) => ({
        ...{ sort: 2, kind: 'piece', seq: d.seq, step: d.step, attempt: d.attempt, type: '', body: bytes(d.body) },
        at: 0,
      })),
      { sort: 3, kind: 'state', seq: r.event_seq, step: r.step, attempt: 0, type: r.status, body: null, at: 0 },
    ]
  })
  on(verbs, texts, (tables, { tenant, run, seqs }, walls) =>
    tables.message
      .of(`${tenant}/${run}`)
      .filter((m) => seen(walls, m) && seqs.includes(m.seq) && m.visibility === 'user' && m.role === 'assistant')
      .map((m) => ({ seq: m.seq, body: bytes(m.body), hash: m.content_hash, partial: m.partial })),
  )
  on(verbs, putPiece, (tables, { tenant, run, seq, step, attempt, epoch, generation, body }, walls) => {
    const r = tables.run.get(`${tenant}/${run}`)
    if (!r || !seen(walls, r) || !passes(guards.said, r, { epoch, generation, step })) return []
    const { tenant_id, environment } = r
    const place = { tenant_id, environment, run_id: r.id, seq, generation: r.generation, step, attempt }
    tables.delta.insert(tables.rowOf('delta', { ...place, body: base64(body) }))
    return [{ seq }]
  })
  on(verbs, dropPieces, (tables, { tenant, run, below }, walls) => {
    for (const d of [...tables.delta.of(`${tenant}/${run}`)])
      if (seen(walls, d) && d.seq < below) tables.delta.remove(d)
    return []
  })
}
