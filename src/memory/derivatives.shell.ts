/**
 * Everything that may hold something of a memory, a message or a conversation, and how it is taken away: the closed list of
 * forgetting (G2). Each part runs alone, may run again, and counts what it removed; without a deletion it looks at everything
 * that was ever entombed, which is how residue is found (G3).
 */
import { Fault } from '../kernel/fault.ts'
import type { Ids, RunId } from '../kernel/ids.ts'
import type { Scope } from '../kernel/scope.ts'
import { blankCall, blankMessage } from './blank.ts'
import type { By } from './candidate.store.ts'
import type { CallPlace, Deletion, ForgetStore } from './forget.store.ts'
import { indexMemories, type Indexing } from './indexing.shell.ts'
import type { ProcedureStore } from './procedure.store.ts'

export interface Forgetting {
  readonly store: ForgetStore
  readonly indexing: Indexing
  readonly rules: Pick<ProcedureStore, 'forget'>
  readonly ids: Ids
  /** Keys whose memories go with the message that they come from. */
  readonly withSource: readonly string[]
  /** What stands for arguments and plans that are no more. */
  readonly blank: { readonly arguments: string; readonly plan: string }
  readonly tokensOf: (text: string) => number
  readonly close: (scope: Walls, session: string) => Promise<void>
  /** Ends a run that still works on what is to be forgotten. */
  readonly cancel: (scope: Walls, run: RunId) => Promise<void>
  /** Removes an object; false when it was not there. */
  readonly removeObject: (key: string) => Promise<boolean>
  /** What other slices keep of it. */
  readonly others: Readonly<Record<string, (scope: Walls, deletion: Deletion | null) => Promise<number>>>
}

export type Walls = Pick<Scope, 'tenant' | 'environment'>
type Part = (parts: Forgetting, scope: Walls, deletion: Deletion | null) => Promise<number>

/** The memories that a part looks at: those of the deletion, or all where it is about more than memories. */
const only = (deletion: Deletion | null): readonly string[] | null =>
  deletion?.kind === 'memory' || deletion?.kind === 'purpose' ? deletion.memories : null
const system = (ids: Ids): By => ({ audit: ids.next('aud'), actorKind: 'operator', actor: 'plimsoll' })

const DERIVATIVES: Readonly<Record<string, Part>> = {
  async record({ store, ids }, scope, deletion) {
    let removed = 0
    for (const id of deletion?.memories ?? [])
      if (await store.entombMemory(scope, id, system(ids), deletion?.kind !== 'purpose')) removed += 1
    return removed
  },
  async messages({ store, tokensOf, cancel }, scope, deletion) {
    if (!deletion || deletion.messages.length === 0) return 0
    await store.entomb(scope, 'message', deletion.messages)
    const rows = await store.messagesAt(scope, deletion.messages)
    // a worker has read it already and would send it with the next request; who waits reads again
    for (const session of new Set(rows.map((row) => row.session)))
      for (const run of await store.activeRuns(scope, session, true)) await cancel(scope, run)
    const bodies = rows.map(({ run, seq, body }) => ({ run, seq, body: blankMessage(body) }))
    return store.rewrite(
      scope,
      bodies.map((row) => ({ ...row, tokens: tokensOf(JSON.stringify(row.body)) })),
    )
  },
  async conversations({ store, blank, close, cancel }, scope, deletion) {
    let removed = 0
    for (const session of deletion?.sessions ?? []) {
      await close(scope, session)
      await store.entomb(scope, 'message', await store.messagesOfSession(scope, session))
      for (const run of await store.activeRuns(scope, session)) await cancel(scope, run)
      const done = await store.forgetSession(scope, session, blank)
      removed += done.removed
      if (done.active > 0) throw new Fault('conflict', 'A run of the conversation has not ended yet.')
    }
    return removed
  },
  /** What was drawn from what is gone, as deep as it goes: each round may free another. */
  async drawn({ store, ids, withSource }, scope, deletion) {
    let removed = 0
    for (let found = await store.drawnFrom(scope, withSource); found.length > 0; ) {
      for (const { id, alone } of found) if (await store.entombMemory(scope, id, system(ids), alone)) removed += 1
      if (deletion)
        await store.widen(
          scope,
          deletion.id,
          found.map((one) => one.id),
        )
      found = await store.drawnFrom(scope, withSource)
    }
    return removed
  },
  /** What an operator has made a rule of: no run is given it any more. */
  procedures: ({ rules }, scope, deletion) => rules.forget(scope, only(deletion)),
  versions: ({ store }, scope, deletion) => store.versions(scope, only(deletion)),
  quotes: ({ store }, scope, deletion) => store.quotes(scope, only(deletion)),
  vectors: ({ indexing }, scope, deletion) => indexing.recall.forgetVectors(scope, only(deletion)),
  /** Also the words of messages that are gone, in the entries of memories that stay: those are made again without them. */
  async index({ store, indexing }, scope, deletion) {
    const { recall } = indexing
    let removed = 0
    if (deletion === null) {
      const surplus = await recall.sweep(scope)
      removed += surplus.terms + surplus.vectors + surplus.entries
    }
    for (const id of deletion?.memories ?? []) removed += await recall.unindex(scope, id)
    const around = await store.dropNeighbours(scope)
    for (const id of around) removed += await recall.unindex(scope, id)
    await indexMemories(indexing, scope, around)
    return removed
  },
  uses: ({ store }, scope, deletion) => store.uses(scope, only(deletion)),
  questions: ({ store }, scope, deletion) =>
    store.questions(scope, {
      sessions: deletion?.sessions ?? [],
      subject: deletion?.kind === 'subject' ? deletion.subject : '',
    }),
  /** What calls have returned and what came with messages, in the object store. */
  async objects({ store, removeObject }, scope, deletion) {
    const artifact = deletion?.kind === 'artifact' ? deletion.target : ''
    const subject = deletion?.kind === 'subject' ? deletion.subject : ''
    const { sessions = [], messages = [] } = deletion ?? {}
    if (deletion && sessions.length + messages.length === 0 && artifact === '' && subject === '') return 0
    const shown = messages.length > 0 ? await store.removeShown(scope, messages) : []
    const of = { sessions, artifact, subject, recent: deletion === null }
    const others = messages.length > 0 ? [] : await store.removeArtifacts(scope, of)
    let removed = 0
    for (const key of [...shown, ...others]) if (await removeObject(key)) removed += 1
    return removed
  },
  async calls({ store, blank, tokensOf }, scope, deletion) {
    const calls = await store.calls(scope, only(deletion))
    const rewritten = await Promise.all(calls.map((call) => withoutCall(store, scope, call)))
    const bodies = rewritten.flat().map((row) => ({ ...row, tokens: tokensOf(JSON.stringify(row.body)) }))
    await store.rewrite(scope, bodies)
    return store.forgetCalls(scope, calls, blank)
  },
}

async function withoutCall(store: ForgetStore, scope: Walls, { run, step, position }: CallPlace) {
  const rows = await store.messagesOfStep(scope, run, step)
  return rows
    .filter((row) => row.role === 'assistant' || (row.role === 'tool' && row.position === position))
    .map(({ run: of, seq, body }) => ({ run: of, seq, body: blankCall(body, position) }))
}

export const derivativesOf = (parts: Forgetting): readonly string[] => [
  ...Object.keys(DERIVATIVES),
  ...Object.keys(parts.others),
]

export async function forgetPart(
  parts: Forgetting,
  scope: Walls,
  derivative: string,
  deletion: Deletion | null,
): Promise<number> {
  const own = DERIVATIVES[derivative]
  if (own) return own(parts, scope, deletion)
  const other = parts.others[derivative]
  // a part of a release that knew more than this one: left for a process that knows it
  if (!other) throw new Fault('unavailable')
  return other(scope, deletion)
}
