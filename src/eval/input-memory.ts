/** The memory surface of the corpus: a candidate that a user has said, with the text of the case in one line of it. */
import { z } from 'zod'
import type { Candidate, Facts } from '../memory/candidate.ts'
import { inspect } from '../memory/detect/secretlint.shell.ts'
import { judge } from '../memory/judge.ts'
import { memory } from '../memory/key.ts'
import { type InputCase, inputText } from './input-case.ts'

const keys = memory({ favourite_drink: { kind: 'preference', value: z.string().max(200) } })
const AT = Date.UTC(2027, 0, 15, 12)
const SAID = 'I like green tea.'
const GOOD: Candidate = {
  ...{ kind: 'preference', key: 'favourite_drink', value: 'green tea', scope: 'user' },
  evidence: { kind: 'message', message: 'm', quote: 'I like green tea' },
}
type Line = 'key' | 'value' | 'quote' | 'scope'

/** What the case is about stands in its name; null for what is no line of a candidate. */
const lineOf = ({ name }: InputCase): Line | null =>
  (['quote', 'scope', 'value', 'key'] as const).find((line) => name.includes(line)) ?? null

function withLine(line: Line, text: string): Candidate {
  if (line === 'quote') return { ...GOOD, evidence: { kind: 'message', message: 'm', quote: text } }
  if (line === 'value') return { ...GOOD, value: text }
  if (line === 'key') return { ...GOOD, key: text }
  // such as `scope: "tenant"`, or the word alone
  return { ...GOOD, scope: (/"(\w+)"/.exec(text)?.[1] ?? text) as Candidate['scope'] }
}

const decide = async (candidate: Candidate): Promise<string> => {
  const facts: Facts = {
    ...{ keys, subject: 'subject', zone: 'UTC', now: AT, current: [], beside: [] },
    inspection: await inspect(candidate),
    message: { id: 'm', role: 'user', author: 'subject', text: SAID, at: AT, inGroup: false },
  }
  return judge(candidate, facts).decision
}

/** `refuse`: the candidate is rejected, and the same one without the text of the case is saved. */
export async function judgeMemory(given: InputCase): Promise<string> {
  const line = lineOf(given)
  if (line === null || given.verdict !== 'refuse') return 'skipped'
  const [good, bad] = [await decide(GOOD), await decide(withLine(line, inputText(given)))]
  if (good !== 'save') return `what has nothing wrong in it ended as ${good}`
  return bad === 'reject' ? 'as_expected' : `the candidate ended as ${bad}`
}
