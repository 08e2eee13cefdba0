/** Writes the documents of a dataset as memories, asks its questions, and counts what came back. */
import type { Db } from '../db/port.ts'
import { plainSealer } from '../db/seal.ts'
import type { Scope } from '../kernel/scope.ts'
import { systemClock } from '../kernel/system.shell.ts'
import { lexVersion } from '../memory/lex/lex.ts'
import { memoryStore } from '../memory/memory.store.ts'
import type { Entry, MemoryId } from '../memory/entry.ts'
import { filterOf, placesOf } from '../memory/recall/filter.ts'
import { isRelevant } from '../memory/recall/floor.ts'
import { indexOf, NEIGHBOURS, type Passage } from '../memory/recall/index-text.ts'
import { recallStore } from '../memory/recall/recall.store.ts'
import { actorFrom, scopeOf } from '../request/actor.ts'
import { dayText, type RecallData, type RecallDoc, type RecallQuery } from './recall-data.ts'

/** Shares from 0 to 1. r5 and r10: of the relevant documents, those among the first 5 and 10. */
export interface Quality {
  readonly queries: number
  readonly r5: number
  readonly r10: number
  readonly mrr: number
  /** Questions with every relevant document among the first 10. */
  readonly allGold10: number
}

export interface Measured extends Quality {
  readonly docs: number
  readonly p50ms: number
  readonly p95ms: number
  /** Of the relevant documents among the first 10, those above the floor for injection. */
  readonly goldAboveFloor: number
  /** Questions that find nothing above the floor when they are put to the next scope, which cannot know. */
  readonly emptyElsewhere: number
  readonly byCategory: Readonly<Record<string, Quality>>
}

/** A rank behind these adds less than a hundredth to the mean reciprocal rank. */
const ROWS = 100
const TENANT = 'recall_eval'
const PURPOSE = 'service'
const SCOPES = ['owner']

interface Asked {
  readonly query: RecallQuery
  /** Documents, best first. */
  readonly found: readonly string[]
  readonly gold: number
  readonly goldAbove: number
  readonly ms: number
  readonly isEmptyElsewhere: boolean | null
}

/** @param db with the rights of the program; the tenant `recall_eval` must be empty */
export async function measure(db: Db, data: RecallData): Promise<Measured> {
  const store = recallStore(db, plainSealer, lexVersion(process.versions.icu ?? ''))
  const names = [...new Set([...data.docs, ...data.queries].map(({ scope }) => scope))]
  const scopes = new Map(names.map((name, number) => [name, subjectScope(number)]))
  const docOf = await write(db, store, data.docs, scopes)
  const filter = filterOf({ purposes: [PURPOSE], integrity: 'untrusted', sensitivity: 'special' })
  const ask = (scope: Scope, text: string) => {
    const asking = { text, places: placesOf(scope, {}), scopes: SCOPES, filter, now: systemClock.now(), k: ROWS }
    return store.recall(scope, asking)
  }
  const asked: Asked[] = []
  for (const query of data.queries) {
    const at = names.indexOf(query.scope)
    const begun = performance.now()
    const own = scopes.get(query.scope)
    if (!own) continue
    const { memories } = await ask(own, query.text)
    const ms = performance.now() - begun
    const found = memories.map(({ id }) => docOf.get(id) ?? '')
    const gold = memories.slice(0, 10).filter((_, rank) => query.relevant.includes(found[rank] ?? ''))
    const next = scopes.get(names[(at + 1) % names.length] ?? '')
    const elsewhere = next && names.length > 1 ? await ask(next, query.text) : null
    asked.push({
      query,
      found,
      gold: gold.length,
      goldAbove: gold.filter((memory) => isRelevant(memory)).length,
      ms,
      isEmptyElsewhere: elsewhere && !elsewhere.memories.some((memory) => isRelevant(memory)),
    })
  }
  const categories = new Set(asked.map(({ query }) => query.category ?? ''))
  const ofCategory = (name: string) => asked.filter(({ query }) => (query.category ?? '') === name)
  const times = asked.map(({ ms }) => ms).sort((a, b) => a - b)
  const others = asked.filter(({ isEmptyElsewhere }) => isEmptyElsewhere !== null)
  return {
    ...qualityOf(asked),
    docs: data.docs.length,
    p50ms: times[Math.floor(times.length * 0.5)] ?? 0,
    p95ms: times[Math.floor(times.length * 0.95)] ?? 0,
    goldAboveFloor: mean(asked.filter(({ gold }) => gold > 0).map(({ gold, goldAbove }) => goldAbove / gold)),
    emptyElsewhere: mean(others.map(({ isEmptyElsewhere }) => (isEmptyElsewhere ? 1 : 0))),
    byCategory: Object.fromEntries([...categories].map((name) => [name, qualityOf(ofCategory(name))])),
  }
}

function subjectScope(number: number): Scope {
  const subject = `s${number}`
  const who = {
    kind: 'end_user',
    tenant: TENANT,
    environment: 'eval',
    user: subject,
    subject,
    permissions: [],
  } as const
  return scopeOf(actorFrom(who))
}

/** Document by memory. Memories are numbered in the order of the file, so that equal ranks fall the same way each time. */
async function write(
  db: Db,
  store: ReturnType<typeof recallStore>,
  docs: readonly RecallDoc[],
  scopes: ReadonlyMap<string, Scope>,
): Promise<ReadonlyMap<string, string>> {
  const memories = memoryStore(db, plainSealer)
  const docOf = new Map<string, string>()
  for (const [name, scope] of scopes) {
    const conversation = docs
      .filter((doc) => doc.scope === name)
      .map((doc, place) => ({ doc, place }))
      .sort((a, b) => (a.doc.order ?? a.place) - (b.doc.order ?? b.place) || a.place - b.place)
      .map(({ doc }) => doc)
    const passages = conversation.map(({ text, speaker, at }): Passage => ({ text, speaker, at: dayText(at) }))
    for (const [number, doc] of conversation.entries()) {
      const id: MemoryId = `mem_${String(docOf.size).padStart(8, '0')}`
      docOf.set(id, doc.id)
      const audit = `aud_${id.slice(4)}` as const
      const by = { audit, actorKind: 'service', writer: scope.user, run: null, asked: null } as const
      const quota = { subject: docs.length + 1, tenant: docs.length + 1 }
      await memories.insert(scope, id, entryOf(scope, doc, number), { ...by, quota })
      const before = passages.slice(Math.max(0, number - NEIGHBOURS), number).reverse()
      const after = passages.slice(number + 1, number + 1 + NEIGHBOURS)
      await store.index(scope, { id, version: 1 }, indexOf({ ...(passages[number] as Passage), before, after }))
    }
  }
  return docOf
}

const entryOf = ({ subject }: Scope, doc: RecallDoc, number: number): Entry => ({
  place: { scope: 'user', id: subject },
  subject,
  key: 'said',
  kind: 'experience',
  layer: 'episodic',
  slot: String(number),
  value: doc.text,
  permissionScope: SCOPES,
  integrity: 'user',
  confidentiality: 'subject',
  confidence: 1,
  importance: 1,
  sensitivity: 'none',
  purpose: PURPOSE,
  consentBasis: 'explicit',
  confirmedBy: null,
  authority: null,
  detectors: 1,
  validFrom: 0,
  expiresAt: null,
  saidAt: 0,
  sources: [],
})

function qualityOf(asked: readonly Asked[]): Quality {
  const within = ({ query: { relevant }, found }: Asked, rows: number) => {
    const first = found.slice(0, rows)
    return relevant.filter((doc) => first.includes(doc)).length / relevant.length
  }
  const answerable = asked.filter(({ query }) => query.relevant.length > 0)
  const firstRank = ({ query, found }: Asked) => found.findIndex((doc) => query.relevant.includes(doc)) + 1
  return {
    queries: asked.length,
    r5: mean(answerable.map((one) => within(one, 5))),
    r10: mean(answerable.map((one) => within(one, 10))),
    mrr: mean(answerable.map((one) => (firstRank(one) > 0 ? 1 / firstRank(one) : 0))),
    allGold10: mean(answerable.map((one) => (within(one, 10) === 1 ? 1 : 0))),
  }
}

const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
