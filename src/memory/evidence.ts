/**
 * E4  a candidate needs evidence that the application holds itself: words of the subject, a contracted result, an authority,
 *     memories, an operator. What an assistant, a system prompt, a tool's text or a recalled memory says is none (BR-083, BR-087)
 */
import { canonicalText } from '../kernel/canonical.ts'
import type { Integrity } from '../kernel/labels.ts'
import type { Json } from '../kernel/json.ts'
import { type Candidate, type Facts, leaves } from './candidate.ts'
import type { MemoryKey } from './key.ts'
import { SHARED } from './kinds.ts'
import type { Reason } from './reasons.ts'

export type Judged =
  | { readonly ok: true; readonly integrity: Integrity; readonly asks: readonly Reason[] }
  | { readonly ok: false; readonly reason: Reason }

const no = (reason: Reason): Judged => ({ ok: false, reason })
const yes = (integrity: Integrity, ...asks: Reason[]): Judged => ({ ok: true, integrity, asks })

export function judgeEvidence(candidate: Candidate, key: MemoryKey, facts: Facts): Judged {
  const { evidence } = candidate
  if (!key.sources.includes(evidence.kind)) return no('source_not_allowed')
  switch (evidence.kind) {
    case 'message':
      return said(candidate, evidence, facts)
    case 'call':
      return returned(candidate, evidence.ref, facts)
    case 'authority': {
      const { authority } = facts
      if (authority?.ref !== evidence.ref || authority.name !== key.authority) return no('evidence_missing')
      return canonicalText(authority.value) === canonicalText(candidate.value)
        ? yes('trusted')
        : no('authority_differs')
    }
    case 'operator':
      return facts.operator !== undefined && facts.operator === evidence.ref ? yes('trusted') : no('evidence_missing')
    case 'memory':
      return drawn(candidate, evidence.ids, facts)
    default:
      return no('source_not_allowed')
  }
}

function said({ scope }: Candidate, evidence: { message: string; quote: string }, { message, subject }: Facts): Judged {
  if (message?.id !== evidence.message) return no('evidence_missing')
  if (message.role !== 'user') return no('source_not_allowed')
  if (message.author !== subject) return no('not_said_by_subject')
  const quote = spoken(evidence.quote)
  if (quote === '' || !spoken(message.text).includes(quote)) return no('quote_not_found')
  return message.inGroup && scope === 'user' ? yes('user', 'said_in_group') : yes('user')
}

/** As it is heard: compatibility forms, no white space, no case, no marks of a keyboard. */
const spoken = (text: string): string =>
  text
    .normalize('NFKC')
    .replaceAll(/[\p{Cf}\s]+/gu, '')
    .replaceAll(/[“”„«»]/g, '"')
    .replaceAll(/[‘’]/g, "'")
    .trim()
    .toLowerCase()

/** Every text and number of the value stands in the result. */
function returned({ value }: Candidate, ref: string, { call }: Facts): Judged {
  if (call?.ref !== ref) return no('evidence_missing')
  if (!call.contracted) return no('result_not_contracted')
  const held = new Set<string>()
  leaves(call.result, '', (_, text) => held.add(text))
  let all = typeof value !== 'boolean' && value !== null
  leaves(value, '', (_, text) => {
    all &&= held.has(text)
  })
  return all || sameAs(call.result, value) ? yes('untrusted') : no('result_differs')
}

const sameAs = (result: Json, value: Json): boolean => canonicalText(result) === canonicalText(value)

const ORDER: readonly Integrity[] = ['untrusted', 'user', 'trusted']
const lowest = (labels: readonly Integrity[]): Integrity =>
  labels.reduce<Integrity>((low, label) => (ORDER.indexOf(label) < ORDER.indexOf(low) ? label : low), 'trusted')

function drawn({ scope }: Candidate, ids: readonly string[], { memories = [], subject, current }: Facts): Judged {
  // what stands there would be one of its own sources, and gone with the first change of it
  if (current.some((memory) => ids.includes(memory.id))) return no('draws_on_itself')
  const found = ids.flatMap((id) => memories.find((memory) => memory.id === id) ?? [])
  if (ids.length === 0 || found.length < new Set(ids).size) return no('lineage_broken')
  const fromShared = found.some((memory) => SHARED.has(memory.scope))
  if (!SHARED.has(scope)) {
    if (fromShared) return no('group_into_personal')
    if (found.some((memory) => memory.subject !== subject)) return no('lineage_broken')
  } else if (found.some((memory) => !SHARED.has(memory.scope))) return no('personal_in_shared_scope')
  return yes(lowest(found.map((memory) => memory.integrity)))
}
