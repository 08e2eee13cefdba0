/**
 * What a run is given of memory, and how a model proposes to remember: between the conductor and the slice of memory.
 *
 * F1  the question of the person is what is asked for   F2  who may see what comes from the stored run alone
 * F4  what is remembered is data: it is neutralised, marked, and short   F5  that it was used is noted beside the run
 * F6  for each memory that was considered stands whether it was given, and why not
 * E12 of what is equally near, what is used and believed is placed first   E14 an authority wins over what is remembered of it
 */
import type { Remembered } from '../context/assemble.ts'
import { tokensOf } from '../context/tokens.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Ids, SessionId } from '../kernel/ids.ts'
import type { Json } from '../kernel/json.ts'
import type { Actor } from '../kernel/scope.ts'
import { ask, type Asking as AskingAuthority, isSame, type Word } from '../memory/authority.shell.ts'
import { viewerOf } from '../memory/centre.shell.ts'
import type { Candidate } from '../memory/candidate.ts'
import type { Memory } from '../memory/memory.shell.ts'
import type { Use } from '../memory/memory.store.ts'
import type { Embedder } from '../memory/recall/embedder.ts'
import { type Asking, type Filter, filterOf, placesOf } from '../memory/recall/filter.ts'
import { isRelevant } from '../memory/recall/floor.ts'
import { recallHybrid } from '../memory/recall/hybrid.shell.ts'
import type { Recalled } from '../memory/recall/recall.store.ts'
import { worthOf } from '../memory/recall/worth.ts'
import { remember } from '../memory/remember.shell.ts'
import { actorOfRun, scopeOf } from '../request/actor.ts'
import type { Recollection } from './acting.ts'
import type { Agent } from './agent.ts'
import type { Proposed, Proposing } from './remember-tool.shell.ts'
import type { Run } from './state.ts'

export interface Recollecting {
  /** What each run under way was given first, so that its next steps say the same; made by `firstGiven`. */
  readonly first: FirstGiven
  readonly memory: Memory
  readonly asking: AskingAuthority
  readonly ids: Ids
  readonly embedder: Embedder | null
  readonly clock: Clock
  readonly zoneOf: (subject: string) => string
  /** Told when the use of a memory could not be noted. */
  readonly onError: (error: unknown) => void
}

/** Memories of runs in the order in which they were given. */
type FirstGiven = Map<string, readonly string[]>

/** Runs under way in one process; one that is forgotten here is given what is found anew. */
const MOST_RUNS = 2_000

export const firstGiven = (): FirstGiven => new Map()

/**
 * C8: what stands before the question stays as it is from step to step. What came up since the first step waits for the
 * next run; what was forgotten since then is out at once.
 */
function steady(first: FirstGiven, run: Run, near: readonly Recalled[]): readonly Recalled[] {
  const known = first.get(run.key.run)
  if (known) return known.flatMap((id) => near.find((one) => one.id === id) ?? [])
  const [oldest] = first.keys()
  if (first.size >= MOST_RUNS && oldest !== undefined) first.delete(oldest)
  first.set(
    run.key.run,
    near.map((one) => one.id),
  )
  return near
}

/** Looked at for one question; few of them have room. */
const CONSIDERED = 20
/** A question of this length says what it is about. */
const LONGEST_QUESTION = 2_000

export async function recollect(
  parts: Recollecting,
  run: Run,
  agent: Agent,
  signal: AbortSignal,
): Promise<Recollection> {
  const { memory, embedder, clock, first: firstOf, onError } = parts
  const keys = agent.memory?.keys.keys ?? []
  if (keys.length === 0) return { state: 'none', memory: [] }
  const actor = actorOfRun(run)
  const scope = scopeOf(actor)
  const text = questionOf(run)
  const now = clock.now()
  const asking: Omit<Asking, 'text'> = {
    places: placesOf(actor, { session: run.session }),
    scopes: viewerOf(actor).scopes,
    filter: filterFor(keys),
    now,
    k: CONSIDERED,
  }
  // what the application knows by name comes first: preferences are asked for with no word of the question
  const named = keys.filter((key) => key.kind === 'preference').map((key) => key.name)
  const [byKey, found] = await Promise.all([
    named.length > 0 ? memory.recall.byKeys(scope, named, asking) : { memories: [], eligible: 0 },
    recallHybrid(memory.recall, embedder, scope, { ...asking, text }, signal),
  ])
  const first = new Set(byKey.memories.map((one) => one.id))
  const ranked = [...byKey.memories, ...byWorth(found.memories, now).filter((one) => !first.has(one.id))]
  const near = ranked.filter(
    (one) => first.has(one.id) || isRelevant({ lexical: one.lexical, semantic: one.semantic }, embedder?.floor),
  )
  const words = await wordsOn(parts, actor, near, signal)
  const given = steady(firstOf, run, near).flatMap((one) => remembered(one, agent, words.get(one.id)))
  note(memory, run, usesOf(ranked, { near: new Set(near), words, given, most: agent.context.memory })).catch(onError)
  if (given.length > 0) return { state: 'found', memory: given }
  return { state: found.eligible > 0 ? 'unrelated' : 'none', memory: [] }
}

/** What of it may still be used; what an authority has said itself stays. */
export const stillRemembered =
  ({ memory }: Recollecting) =>
  async (run: Run, given: readonly Remembered[]): Promise<readonly Remembered[]> => {
    const there = await memory.recall.stillThere(scopeOf(actorOfRun(run)), given)
    return given.filter((one) => one.isSaid || there.has(one.id))
  }

/** Equal ones stay in the order of recall, which is total. */
function byWorth(memories: readonly Recalled[], now: number): readonly Recalled[] {
  const placed = (one: Recalled): number =>
    one.relevance * worthOf({ ...one, lastAt: Math.max(one.recordedAt, one.lastUsedAt ?? 0) }, now)
  return [...memories].sort((a, b) => placed(b) - placed(a))
}

type Words = ReadonlyMap<string, { readonly authority: string; readonly word: Word }>

/** What the authorities say now of memories that repeat them; one that says something else is out of use at once. */
async function wordsOn(
  { memory, asking, ids }: Recollecting,
  actor: Actor,
  near: readonly Recalled[],
  signal: AbortSignal,
): Promise<Words> {
  const asked = near.flatMap(({ id, authority, authorityRef, value }) =>
    authority === null ? [] : [{ id, name: authority, ref: authorityRef ?? '', value }],
  )
  const words = await Promise.all(
    asked.map(async ({ id, name, ref, value }) => {
      const word = await ask(asking, actor, { name, ref }, signal)
      if (word.state !== 'unavailable' && !isSame(word, value)) {
        const by = { audit: ids.next('aud'), actorKind: 'operator', actor: 'plimsoll' } as const
        await memory.outdate(scopeOf(actor), { name, ref, id }, by)
      }
      return [id, { authority: name, word }] as const
    }),
  )
  return new Map(words)
}

const filterFor = (keys: NonNullable<Agent['memory']>['keys']['keys']): Filter =>
  filterOf({
    purposes: [...new Set(keys.map((key) => key.purpose))],
    sensitivity: keys.some((key) => key.sensitivity === 'special') ? 'special' : 'personal',
  })

/** The last words of the person. */
function questionOf(run: Run): string {
  const said = run.context.transcript.findLast((m) => m.body.role === 'user')
  return said?.body.text.slice(0, LONGEST_QUESTION) ?? ''
}

/** One line, of which nothing can end the block that it stands in: no new lines, no marks of roles or tags. */
export const neutral = (text: string): string =>
  text
    .normalize('NFC')
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .replaceAll(/`{3,}/g, "'''")
    .replaceAll(/\[(\/?)(INST|SYS|system|assistant|user)\]/gi, '($1$2)')
    .replaceAll(/ {2,}/g, ' ')
    .trim()

function remembered(one: Recalled, agent: Agent, said: ReturnType<Words['get']>): readonly Remembered[] {
  const { id, version, key, relevance } = one
  if (said && said.word.state !== 'said') return []
  const value = said?.word.state === 'said' ? said.word.value : one.value
  const text = `${key}: ${shown(value)}${said ? ` (${said.authority} says so now)` : ''}`
  const tokens = tokensOf(text, agent.context.count)
  return [{ id, version, text, tokens, score: relevance, ...(said && { isSaid: true }) }]
}

const shown = (value: Json): string =>
  typeof value === 'string' ? JSON.stringify(neutral(value)) : neutral(JSON.stringify(value))

interface Judged {
  readonly near: ReadonlySet<Recalled>
  readonly words: Words
  readonly given: readonly Remembered[]
  readonly most: number
}

/** In the order of the ranking: `placed`, `over_budget`, `not_near_enough`, or what an authority says of it. */
function usesOf(ranked: readonly Recalled[], { near, words, given, most }: Judged): readonly Use[] {
  let left = most
  const fits = new Map<string, boolean>()
  for (const { id, tokens } of given) {
    left -= tokens
    fits.set(id, left >= 0)
  }
  const reasonOf = (one: Recalled): string => {
    if (!near.has(one)) return 'not_near_enough'
    const word = words.get(one.id)?.word
    if (word?.state === 'unavailable') return 'authority_unavailable'
    if (word && !isSame(word, one.value)) return 'authority_differs'
    return fits.get(one.id) ? 'placed' : 'over_budget'
  }
  return ranked.map((one, at) => ({
    memory: one.id,
    version: one.version,
    rank: at + 1,
    score: one.relevance,
    reason: reasonOf(one),
  }))
}

const note = (memory: Memory, run: Run, uses: readonly Use[]): Promise<void> =>
  memory.memories.recordUses(scopeOf(actorOfRun(run)), run.key.run, uses)

/** Turns in which the words of a proposal are looked for. */
const MOST_TURNS = 40

/** The model names words of the person; where they stand is found here, in what the person really said. */
export const proposing =
  ({ memory, zoneOf }: Recollecting, agent: Pick<Agent, 'memory'>): Proposing =>
  async (proposed, cx) => {
    const keys = agent.memory?.keys
    const key = keys?.find(proposed.key)
    if (!keys || !key) return { outcome: 'refused', reasons: ['key_unknown'] }
    const scope = scopeOf(cx.actor)
    const question = `${cx.runId}.1`
    const sources = memory.remembering.sources
    const here = await sources.said(scope, question)
    const message = await cited(sources, scope, question, proposed.quote)
    const on = {
      actor: cx.actor,
      scope,
      keys,
      zone: zoneOf(cx.actor.subject),
      session: (here?.session ?? null) as SessionId | null,
      run: cx.runId,
      call: `${cx.runId}/${cx.step}/${cx.position}`,
      placeId: null,
    }
    return remember(memory.remembering, on, candidateOf(proposed, { kind: key.kind, scopes: key.scopes, message }))
  }

function candidateOf(
  { key, value, quote, scope, lasting, expires_in_days: days }: Proposed,
  known: Pick<Candidate, 'kind'> & { readonly scopes: readonly Candidate['scope'][]; readonly message: string },
): Candidate {
  return {
    kind: known.kind,
    key,
    value,
    scope: scope ?? known.scopes[0] ?? 'user',
    evidence: { kind: 'message', message: known.message, quote },
    ...(lasting !== undefined && { lasting }),
    ...(days !== undefined && { expiresInDays: days }),
  }
}

const bare = (text: string): string => text.normalize('NFKC').replaceAll(/\s+/g, '').toLowerCase()

async function cited(
  sources: Memory['remembering']['sources'],
  scope: ReturnType<typeof scopeOf>,
  question: string,
  quote: string,
): Promise<string> {
  for (const id of [question, ...(await sources.turnsBefore(scope, question, MOST_TURNS))]) {
    const said = await sources.said(scope, id)
    if (said?.role === 'user' && !said.gone && bare(said.text).includes(bare(quote))) return id
  }
  return question
}
