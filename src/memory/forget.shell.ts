/**
 * Forgetting: asked for by whom it is about, done at once as far as anybody can read, and carried on until every copy is
 * gone and the receipt says so.
 *
 * G2  the tombstone comes first, then one pipeline through every derivative   G3  a receipt lists each with its state
 * G8  a withdrawn consent takes what it covers the same way   G9  so do a message, a conversation and a whole subject
 */
import { Fault, type FaultCode } from '../kernel/fault.ts'
import type { Actor, Scope } from '../kernel/scope.ts'
import { derivativesOf, type Forgetting, forgetPart, type Walls } from './derivatives.shell.ts'
import type { Deletion, DeletionId, DeletionPart, NewDeletion } from './forget.store.ts'

/** A deletion with the state of each of its parts. */
export interface Receipt extends Deletion {
  readonly parts: readonly DeletionPart[]
}

/** What is left of what was forgotten, and was removed now, by derivative. */
export interface Residue {
  readonly derivative: string
  readonly removed: number
  readonly error: string | null
}

/** @throws Fault `legal_hold` while one covers the subject */
export async function startForgetting(
  parts: Forgetting,
  scope: Scope,
  actor: Actor,
  wanted: Omit<NewDeletion, 'id'>,
): Promise<Receipt> {
  if ((await parts.store.held(scope, wanted.subject)) !== null) throw new Fault('legal_hold')
  const id = parts.ids.next('del')
  const by = { audit: parts.ids.next('aud'), actorKind: actor.kind, actor: actor.user }
  await parts.store.open(scope, { ...wanted, id }, derivativesOf(parts), by)
  await carryOn(parts, scope, id)
  return receiptOf(parts, scope, id)
}

/** Does what is left of a deletion. What fails is written down, and tried again by whoever comes next. */
export async function carryOn(parts: Forgetting, scope: Walls, id: DeletionId): Promise<void> {
  for (const part of await inOrder(parts, scope, id)) {
    if (part.doneAt !== null) continue
    // each part may find more that belongs to it
    const deletion = await found(parts, scope, id)
    const done = await tried(() => forgetPart(parts, scope, part.derivative, deletion))
    await parts.store.part(scope, id, part.derivative, done)
  }
  await parts.store.tried(scope, id)
}

/** In the order of the list: what others are found by goes first. */
async function inOrder(parts: Forgetting, scope: Walls, id: DeletionId): Promise<readonly DeletionPart[]> {
  const order = derivativesOf(parts)
  const place = (part: DeletionPart): number => (order.indexOf(part.derivative) + order.length + 1) % (order.length + 1)
  return [...(await parts.store.parts(scope, id))].sort((a, b) => place(a) - place(b))
}

async function tried(work: () => Promise<number>): Promise<{ removed: number; error: FaultCode | null }> {
  try {
    return { removed: await work(), error: null }
  } catch (error) {
    return { removed: 0, error: Fault.is(error) ? error.code : 'internal' }
  }
}

async function found(parts: Forgetting, scope: Walls, id: DeletionId): Promise<Deletion> {
  const [deletion] = await parts.store.list(scope, { subject: '', id, after: '', limit: 1 })
  if (!deletion) throw new Fault('not_found')
  return deletion
}

export async function receiptOf(parts: Forgetting, scope: Walls, id: DeletionId): Promise<Receipt> {
  return { ...(await found(parts, scope, id)), parts: await parts.store.parts(scope, id) }
}

/** Looks through everything for what should be gone, takes it away, and says what it was. */
export async function reconcile(parts: Forgetting, scope: Walls): Promise<readonly Residue[]> {
  const all: Residue[] = []
  for (const derivative of derivativesOf(parts)) {
    const done = await tried(() => forgetPart(parts, scope, derivative, null))
    all.push({ derivative, ...done })
  }
  return all
}

const BATCH = 20

/** Carries on with what others have left. One that fails holds up nobody else. @throws Fault when the store is away */
export async function forgetDue(
  parts: Forgetting,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<number> {
  const due = await parts.store.due(BATCH)
  for (const { id, ...scope } of due) {
    if (signal.aborted) break
    try {
      await carryOn(parts, scope, id)
    } catch (error) {
      onError(error)
      await parts.store.failed(scope, id)
    }
  }
  return due.length
}
