/**
 * Memories out of what was said, as errands: when a run has ended, a model proposes what of the user's words may last, and each
 * proposal takes the same way as any other candidate.
 *
 * E1  what was said for now stays where it was said   E4  the words must be the user's, in the message that is named
 * E10 no answer waits for it, and none fails with it; what is not written is not remembered
 */
import type { Ids, SessionId } from '../kernel/ids.ts'
import type { Actor } from '../kernel/scope.ts'
import type { CandidateStore } from '../memory/candidate.store.ts'
import type { MemoryKeys } from '../memory/key.ts'
import type { ExtractStore } from '../memory/extract.store.ts'
import {
  extractable,
  type Extracted,
  extractedIn,
  extractPrompt,
  MOST_PROPOSED,
  nextUnread,
  ownScope,
  type ReadMessage,
} from '../memory/extract.ts'
import { type Occasion, type Outcome, remember, type Remembering } from '../memory/remember.shell.ts'
import { scopeOf } from '../request/actor.ts'
import type { ErrandKind, ErrandSource } from './errand.ts'
import { actorOfErrand } from './errand.shell.ts'
import type { Walls } from './errand.store.ts'

export const EXTRACT = 'extract'

/** Of an agent that has memories extracted. */
export interface Extracts {
  readonly keys: MemoryKeys
  /** Tokens of what one extraction reads. */
  readonly most: number
}

export interface Extracting {
  readonly store: ExtractStore
  readonly remembering: Remembering
  readonly candidates: Pick<CandidateStore, 'consents'>
  /** Null for an agent without extraction. */
  readonly of: (agent: string) => Extracts | null
  readonly zoneOf: (subject: string) => string
  readonly ids: Ids
  /** False when somebody else has opened an extraction from there. */
  readonly open: (scope: Walls, source: ErrandSource, delayMs: number) => Promise<boolean>
}

/** Opens what is to be read of a conversation, as many errands as it takes. True when there was something. */
export async function considerExtraction(parts: Extracting, scope: Walls, session: SessionId): Promise<boolean> {
  for (let before = 0; ; ) {
    const turns = await parts.store.unread(scope, session)
    const agent = turns[0]?.agent ?? ''
    const extracts = parts.of(agent)
    const unread = extracts ? nextUnread(turns, extracts.most) : null
    // whoever opens one moves the place from which the next one reads; where it stays, one that was left is still being cleared
    if (!unread || unread.from === before) return before > 0
    await parts.open(scope, { id: parts.ids.next('ern'), kind: EXTRACT, agent, session, ...unread }, 0)
    before = unread.from
  }
}

/**
 * What becomes of one errand: the best that became of its proposals, or why there was none. `saved`, `asked`, `session`,
 * `refused`, `nothing`: proposals. `no_consent`: no key is left to ask for. `invalid`, `failed`: the model gave no list.
 */
type Word = Outcome['outcome'] | 'nothing' | 'no_consent' | 'invalid' | 'failed' | 'unknown_agent'

const BEST: readonly Outcome['outcome'][] = ['saved', 'asked', 'session', 'refused']

export const extractKind = (parts: Extracting): ErrandKind<Walls> => ({
  knows: (agent) => parts.of(agent) !== null,
  async request(scope, source) {
    const word = (outcome: Word) => ({ outcome })
    const extracts = parts.of(source.agent)
    if (!extracts) return word('unknown_agent')
    const actor = actorOfErrand(scope, source)
    const messages = await readMessages(parts, scope, source)
    // what is said for somebody else is no evidence
    if (messages.length === 0 || source.user !== source.subject) return word('nothing')
    const keys = extractable(extracts.keys, await withdrawnBy(parts, actor))
    return keys.length === 0 ? word('no_consent') : { text: extractPrompt(keys, messages) }
  },
  async handle(scope, source, final): Promise<Word> {
    const extracts = parts.of(source.agent)
    if (!extracts) return 'unknown_agent'
    if ('end' in final) return final.end === 'invalid_final' ? 'invalid' : 'failed'
    const proposed = extractedIn(final.text)
    if (!proposed) return 'invalid'
    const messages = new Map((await readMessages(parts, scope, source)).map((m) => [m.short, m.name]))
    const on = occasionOf(parts, extracts, actorOfErrand(scope, source), source.session)
    const became = new Set<Outcome['outcome']>()
    // one after the other: what the first has written is known to the next
    for (const one of proposed.slice(0, MOST_PROPOSED))
      became.add(await propose(parts, on, one, messages.get(one.message)))
    return BEST.find((outcome) => became.has(outcome)) ?? 'nothing'
  },
})

async function propose(
  { remembering }: Extracting,
  on: Occasion,
  { key: name, value, scope, quote, lasting }: Extracted,
  message: string | undefined,
): Promise<Outcome['outcome']> {
  const key = on.keys.find(name)
  const own = key && ownScope(key)
  if (!key || !own || message === undefined) return 'refused'
  const evidence = { kind: 'message', message, quote } as const
  const tighter = lasting === undefined ? {} : { lasting }
  const candidate = { kind: key.kind, key: name, value, scope: scope ?? own, evidence, ...tighter }
  return (await remember(remembering, on, candidate)).outcome
}

const occasionOf = (parts: Extracting, { keys }: Extracts, actor: Actor, session: SessionId): Occasion => ({
  actor,
  scope: scopeOf(actor),
  keys,
  zone: parts.zoneOf(actor.subject),
  session,
  run: null,
  call: null,
  placeId: null,
})

/** The same at the question and at the answer, unless something was forgotten: a name that has moved holds no quote then. */
async function readMessages(
  { store }: Extracting,
  scope: Walls,
  source: ErrandSource,
): Promise<readonly ReadMessage[]> {
  const said = (await store.said(scope, source)).filter(({ text }) => text.trim() !== '')
  return said.map((message, at) => ({ ...message, short: `m${at + 1}` }))
}

async function withdrawnBy({ candidates }: Extracting, actor: Actor): Promise<ReadonlySet<string>> {
  const said = await candidates.consents(scopeOf(actor), actor.subject)
  return new Set(said.filter((one) => one.state === 'withdrawn').map((one) => one.purpose))
}
