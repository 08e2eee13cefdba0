/**
 * The person's word on a question: exactly what was shown is judged once more on what is known now, and written.
 *
 * E6  the word allows what was shown and nothing else   E9  it makes a value theirs and raises no source
 * G2  what it comes from must still be there: a source that is gone is brought back by no word
 */
import { canonicalText } from '../kernel/canonical.ts'
import { Fault } from '../kernel/fault.ts'
import type { Candidate, Evidence, Facts } from './candidate.ts'
import type { CandidateId, Change, Entry } from './entry.ts'
import { ancestorsOf, bare, type Current, currentFact } from './facts.shell.ts'
import { judge } from './judge.ts'
import { MOST_CONFLICTS, type Occasion, type Outcome, quoteOf, type Remembering, save } from './remember.shell.ts'

export interface Shown {
  readonly id: CandidateId
  readonly version: number
  readonly entry: Entry
}

/** @throws Fault `conflict` when others write the same key all the time */
export async function accept(parts: Remembering, on: Occasion, question: Shown): Promise<Outcome> {
  const { entry: shown } = question
  const asked = { id: question.id, version: question.version }
  const evidence = evidenceOf(shown)
  const candidate: Candidate = {
    kind: shown.kind,
    key: shown.key,
    value: shown.value,
    scope: shown.place.scope,
    evidence,
  }
  // a detector that has learnt since then has the last word
  const inspection = await parts.inspect(candidate)
  const entry: Entry = { ...shown, integrity: raised(shown), confirmedBy: on.actor.user, consentBasis: 'confirmed' }
  for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts++) {
    const at = await parts.memories.current(on.scope, entry)
    const { facts, sources } = await kept(parts, on, shown, evidence)
    const known = { ...bare(parts, on), ...facts }
    const judged = judge(candidate, { ...known, current: at ? [currentFact(at)] : [], inspection })
    if (judged.decision === 'reject') return { outcome: 'refused', reasons: judged.reasons }
    const written = { ...entry, sources }
    const done = await save(parts, on, {
      ...{ entry: written, change: changeOf(entry, at), at, asked, reasons: judged.reasons },
    })
    if (done !== 'conflict') return done
  }
  throw new Fault('conflict')
}

/** A person's word makes a typed value theirs, and nothing else of it (I9). */
const raised = ({ integrity }: Entry): Entry['integrity'] => (integrity === 'untrusted' ? 'user' : integrity)

function changeOf(entry: Entry, at: Current): Change {
  if (!at) return 'created'
  if (canonicalText(at.value) === canonicalText(entry.value)) return 'merged'
  return entry.validFrom < at.validFrom ? 'late' : 'superseded'
}

/** What the question was asked on. */
function evidenceOf({ sources, value }: Entry): Evidence {
  const cited = sources.filter((source) => source.role === 'evidence')
  const [first] = cited
  switch (first?.kind) {
    case 'call':
    case 'authority':
    case 'operator':
      return { kind: first.kind, ref: first.ref }
    case 'memory':
      return { kind: 'memory', ids: cited.map((source) => source.ref) }
    default:
      return { kind: 'message', message: first?.ref ?? '', quote: first?.quote ?? quoteOf(value) }
  }
}

interface Kept {
  readonly facts: Partial<Facts>
  readonly sources: Entry['sources']
}

/**
 * The evidence as the question has kept it, which was looked up when it was asked. What others may have taken away or changed
 * since then is looked up again. A memory that has another value by now has closed the question; with more sources it is the same.
 */
async function kept(parts: Remembering, on: Occasion, shown: Entry, evidence: Evidence): Promise<Kept> {
  const { sources } = shown
  switch (evidence.kind) {
    case 'message': {
      const message = { id: evidence.message, role: 'user', author: on.actor.subject, text: evidence.quote } as const
      return { sources, facts: { message: { ...message, at: shown.saidAt, inGroup: false } } }
    }
    case 'call': {
      const settled = await parts.sources.settled(on.scope, evidence.ref)
      return {
        sources,
        facts: settled ? { call: { ref: evidence.ref, contracted: true, result: settled.result } } : {},
      }
    }
    case 'memory': {
      const found = await ancestorsOf(parts, on, evidence.ids, shown.place)
      const now = new Map<string, number>(found.map((one) => [one.id, one.version]))
      return {
        facts: { memories: found.map(({ place, ...one }) => ({ ...one, scope: place.scope })) },
        sources: sources.map((source) => {
          const seen = source.kind === 'memory' ? now.get(source.ref) : undefined
          return seen === undefined ? source : { ...source, seen }
        }),
      }
    }
    case 'authority':
      return { sources, facts: shown.authority ? { authority: { ...shown.authority, value: shown.value } } : {} }
    case 'operator':
      return { sources, facts: { operator: evidence.ref } }
  }
}
