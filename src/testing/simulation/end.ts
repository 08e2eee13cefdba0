/** What must hold when everything has come to rest: nothing lost, nothing silent, nothing left over. */
import { plainSealer } from '../../db/seal.ts'
import type { JsonObject } from '../../kernel/json.ts'
import type { MessageRow, RunRow } from '../memory/rows.ts'
import type { Reader } from './reader.ts'
import { endOf, implausible } from './reference.ts'
import type { World } from './world.ts'

export function judgeEnd(world: World, reader: Reader | null): void {
  const { tables, provider } = world
  for (const run of tables.run.all()) {
    judgeRun(world, run)
    judgeEffects(world, run)
    if (!world.swept.has(`${run.tenant_id}/${run.id}`)) judgeTranscript(world, run)
  }
  const places = new Set([...tables.effect.all()].map((e) => `${e.run_id}/${e.step}/${e.position}`))
  for (const { place } of provider.log) if (!places.has(place)) world.broken('23 an effect has its intent', place)
  for (const c of tables.confirmation.all()) {
    if (c.status === 'pending' || c.status === 'approved') world.broken('3 no question is left open', c.id)
    const audits = [...tables.audit.all()].filter((a) => a.target === c.id && a.action === 'confirmation.decide')
    if (audits.length !== (c.decided_by === null ? 0 : 1)) world.broken('23 each decision is on record once', c.id)
  }
  if (!world.listener.hasAll()) world.broken('J9 every event arrives', 'books')
  const seen = reader?.seen()
  const watched = seen?.run ? tables.run.get(`acme/${seen.run}`) : undefined
  if (seen?.isThere && watched && !world.swept.has(`acme/${watched.id}`) && seen.after !== watched.event_seq)
    world.broken('22 a reader sees everything', watched.id)
}

function judgeRun(world: World, run: RunRow): void {
  const { tables } = world
  const key = `${run.tenant_id}/${run.id}`
  if (run.end_reason === null)
    return world.broken('3 every run ends', `${run.id} ${run.status} ${run.wait_reason ?? ''}`)
  if (run.reserved_tokens !== 0 || run.reserved_cost !== 0) world.broken('16 everything is released', run.id)
  const ledger = tables.ledger.of(key)
  const sum = (of: (row: (typeof ledger)[number]) => number): number =>
    ledger.reduce((total, row) => total + of(row), 0)
  if (sum((l) => l.input_tokens + l.output_tokens) !== run.used_tokens) world.broken('16 the ledger adds up', run.id)
  if (sum((l) => l.reserved_cost - l.released_cost) !== 0) world.broken('16 the ledger adds up', run.id)
  if (world.swept.has(key)) return
  const told = tables.event.of(key).map(({ type, body }) => ({ type, body: open(run, body) as JsonObject }))
  const lie = implausible(told, (tool) => tool.startsWith('shelf.'))
  if (lie !== null) world.broken('the story of a run can be true', `${run.id}: ${lie}`)
  const { status, reason } = endOf(told)
  if (status !== run.status || reason !== run.end_reason) world.broken('the story ends as the run did', run.id)
}

const open = (run: RunRow, sealed: string): unknown =>
  JSON.parse(Buffer.from(plainSealer.open(run.tenant_id, Buffer.from(sealed, 'base64'))).toString())

/** The log of the provider says what happened, and so must the journal. */
function judgeEffects(world: World, run: RunRow): void {
  for (const e of world.tables.effect.of(`${run.tenant_id}/${run.id}`)) {
    const place = `${run.id}/${e.step}/${e.position}`
    const isLeft = e.status === 'unknown' && run.end_reason === 'unknown_effect'
    if (e.status !== 'settled' && !isLeft) world.broken('3 every effect is settled', `${place} ${e.status}`)
    if (e.level === 'read') continue
    const count = world.provider.count(place)
    if (e.outcome === 'ok' && count !== 1) world.broken('1 what is said to have happened has', place)
    if (e.outcome === 'error' && count !== 0)
      world.broken('2 nothing happens in silence', `${place} ${e.error_code ?? ''}`)
  }
}

interface Body {
  readonly role: string
  readonly calls?: readonly { readonly id: string }[]
  readonly callId?: string
}

/** Every call has its one answer, right behind it and in order. */
function judgeTranscript(world: World, run: RunRow): void {
  const messages = [...world.tables.message.of(`${run.tenant_id}/${run.id}`)].sort((a, b) => a.seq - b.seq)
  const bodies = messages.map((m: MessageRow) => open(run, m.body) as Body)
  const wanted = bodies.flatMap((b) => [b, ...(b.calls ?? []).map((c) => ({ role: 'tool', callId: c.id }))])
  const said = wanted.filter((b, i) => b.role !== 'tool' || !bodies.includes(b as Body) || i === -1)
  const isPaired =
    said.length === bodies.length &&
    said.every((b, i) => b.role === bodies[i]?.role && (b.role !== 'tool' || b.callId === bodies[i].callId))
  if (!isPaired) world.broken('18 every call has its answer', run.id)
}
