/** A file of labelled candidates: its shapes, and what the write guard makes of each. */
import { z } from 'zod'
import type { Candidate, Facts } from '../memory/candidate.ts'
import { inspect } from '../memory/detect/secretlint.shell.ts'
import { scan } from '../memory/detect/scan.ts'
import { type Judgement, judge } from '../memory/judge.ts'
import { memory, type MemoryKey, type MemoryKeys } from '../memory/key.ts'
import type { Reason } from '../memory/reasons.ts'

export interface GuardCase {
  readonly id: string
  readonly key: string
  readonly value: string
  /** The label of the file; a case without one was said by the subject. */
  readonly source: string
  readonly expect: 'reject' | 'confirm' | 'confirm-or-reject' | 'allow'
}

export interface GuardSequence {
  readonly id: string
  readonly steps: readonly Pick<GuardCase, 'key' | 'value' | 'source'>[]
}

const Written = z.union([z.string(), z.json()])
const Labelled = z.object({
  id: z.string(),
  parts: z.array(z.string()),
  expect: z.enum(['reject', 'confirm', 'confirm-or-reject', 'allow']),
  key: z.string().optional(),
  source: z.string().optional(),
})
const Detected = z.object({
  category: z.string(),
  key: z.string(),
  value: Written,
  shouldDetect: z.boolean(),
  source: z.string().optional(),
})
const Sequence = z.object({
  name: z.string(),
  ops: z.array(
    z.object({ op: z.string(), key: z.string().optional(), value: Written.optional(), source: z.string().optional() }),
  ),
})
const File = z.object({
  cases: z.array(z.union([Labelled, Detected])).optional(),
  sequences: z.array(Sequence).optional(),
})

const textOf = (value: z.infer<typeof Written>): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** @throws when the file has another shape */
export function readGuardFile(file: unknown): {
  readonly cases: readonly GuardCase[]
  readonly sequences: readonly GuardSequence[]
} {
  const { cases = [], sequences = [] } = File.parse(file)
  return {
    cases: cases.map((c, i) =>
      'parts' in c
        ? { id: c.id, key: c.key ?? 'note', value: c.parts.join(''), source: c.source ?? SUBJECT, expect: c.expect }
        : {
            id: `${c.category}-${i + 1}`,
            key: c.key,
            value: textOf(c.value),
            source: c.source ?? SUBJECT,
            expect: c.shouldDetect ? 'reject' : 'allow',
          },
    ),
    sequences: sequences.map(({ name, ops }) => ({
      id: name,
      steps: ops.flatMap(({ key, value, source }) =>
        value === undefined ? [] : [{ key: key ?? 'note', value: textOf(value), source: source ?? SUBJECT }],
      ),
    })),
  }
}

const SUBJECT = 'user_input'
/** Reasons that say nothing of content, evidence or label: with the keys of the file registered, none of them may decide. */
const SHAPE: ReadonlySet<Reason> = new Set([
  'unreadable',
  'key_unknown',
  'kind_differs',
  'value_invalid',
  'scope_not_allowed',
  'expired',
  'expiry_unreadable',
])

export async function judgeCase(given: GuardCase): Promise<{
  readonly as: 'right' | 'missed' | 'false_alarm'
  readonly decision: string
  readonly reasons: readonly Reason[]
}> {
  const { decision, reasons } = await write(given, [])
  const counts = !reasons.every((reason) => SHAPE.has(reason))
  const said = { decision, reasons }
  if (given.expect === 'allow')
    return { as: decision === 'save' || decision === 'session' ? 'right' : 'false_alarm', ...said }
  const right =
    given.expect === 'reject'
      ? decision === 'reject'
      : given.expect === 'confirm'
        ? decision === 'ask'
        : decision === 'ask' || decision === 'reject'
  if (right && counts) return { as: 'right', ...said }
  return { as: given.expect === 'confirm' && decision === 'reject' ? 'false_alarm' : 'missed', ...said }
}

/** True when no step ends in an active memory that holds an order: alone, or read together with what is stored. */
export async function judgeSequence({ steps }: GuardSequence): Promise<boolean> {
  const stored: string[] = []
  for (const step of steps) {
    const { decision } = await write(step, stored)
    if (decision === 'save') stored.push(step.value)
  }
  return ![...stored, stored.join(' ')].some((text) => scan(text).some((finding) => finding.verdict === 'reject'))
}

/** Names of the file may be of any shape; the registry's are not. */
const freeText = (name: string): MemoryKeys => {
  const [key] = memory({ free_text: { kind: 'fact', value: z.string(), sources: ['message', 'call'] } }).keys
  const named = { ...key, name } as MemoryKey
  return { keys: [named], hash: '', find: (asked) => (asked === name ? named : undefined) }
}

/** Said on a day that the corpus does not mention; nothing here depends on today. */
const AT = Date.UTC(2027, 0, 15, 12)

/** One candidate through inspection and judgement. The label says who has said it, and the guard hears nothing else of it. */
async function write(
  { key, value, source }: GuardSequence['steps'][number],
  stored: readonly string[],
): Promise<Judgement> {
  const evidence: Candidate['evidence'] = /tool/.test(source)
    ? { kind: 'call', ref: 'call' }
    : { kind: 'message', message: 'm', quote: value }
  const candidate: Candidate = { kind: 'fact', key, value, scope: 'user', evidence }
  const role = /user|human/.test(source)
    ? 'user'
    : /system/.test(source)
      ? 'system'
      : /memory|recall/.test(source)
        ? 'memory'
        : 'assistant'
  const facts: Facts = {
    keys: freeText(key),
    subject: 'subject',
    zone: 'UTC',
    now: AT,
    inspection: await inspect(candidate),
    message: { id: 'm', role, author: 'subject', text: value, at: AT, inGroup: false },
    // a text of a tool that nobody has promised anything about
    call: { ref: 'call', contracted: false, result: value },
    current: [],
    beside: stored,
  }
  return judge(candidate, facts)
}
