/**
 * The judge of the `protocol` surface of the bad-input corpus.
 *
 * A case describes a fault of a model's stream in words. Its words choose what is done to a healthy stream, and the
 * assembly must then refuse the answer. The healthy stream itself must be accepted, or the judgement would be empty.
 */
import { absorb, close, openAnswer } from '../model/assembly.ts'
import type { FinishReason, ModelAnswer, ModelPart } from '../model/port.ts'

export interface ProtocolCase {
  readonly id: string
  readonly surface: string
  readonly name: string
  readonly raw?: unknown
  readonly verdict: string
}

const finish = (reason: FinishReason): ModelPart => ({ kind: 'finish', reason })
const call = (key: number, id: string, args: string, name = 'lookup'): readonly ModelPart[] => [
  { kind: 'call_open', key: `${key}`, id, name },
  { kind: 'call_delta', key: `${key}`, delta: args },
]
const text: ModelPart = { kind: 'text', delta: 'The answer is 42.' }
const half = '{"path":"/a","content":"abc'
const damage: ModelPart = { kind: 'damaged', detail: 'as the case says' }

/** Both are accepted as they stand. */
const HEALTHY: readonly (readonly ModelPart[])[] = [
  [text, finish('stop')],
  [...call(0, 'call_1', '{"x":1}'), ...call(1, 'call_2', '{"x":2}'), finish('tool_calls')],
]

/** The first whose words are in the name or the text of the case is tried; the narrower ones come first. */
const FAULTS: readonly { readonly words: RegExp; readonly streams: readonly (readonly ModelPart[])[] }[] = [
  {
    words: /(?:duplicate|same|repeated|two|identical)\b.*\bids?\b/,
    streams: [[...call(0, 'call_1', '{"x":1}'), ...call(1, 'call_1', '{"x":2}'), finish('tool_calls')]],
  },
  {
    words: /content[ _-]?filter|filtered|content policy/,
    streams: [
      [text, finish('content_filter')],
      [...call(0, 'a', '{}'), finish('content_filter')],
    ],
  },
  {
    words: /\blength\b|max[ _-]?(?:output[ _-]?)?tokens|output limit/,
    streams: [
      [text, finish('length')],
      [...call(0, 'a', '{}'), finish('length')],
      [...call(0, 'a', half), finish('length')],
    ],
  },
  {
    words: /(?:missing|without|no|empty)\b.*\b(?:id|name)\b/,
    streams: [
      [...call(0, '', '{}'), finish('tool_calls')],
      [...call(0, 'a', '{}', ''), finish('tool_calls')],
    ],
  },
  {
    words: /(?:missing|null|unattribut\w*|ambiguous|orphan\w*)\b.*\b(?:index|fragment|delta)|fragment/,
    streams: [[...call(0, 'a', '{}'), { kind: 'call_delta', key: 'none', delta: '{}' }, finish('tool_calls')]],
  },
  {
    words: /\b(?:too many|\d{3,})\b.*\bcalls?\b/,
    streams: [[...Array.from({ length: 200 }, (_, n) => call(n, `call_${n}`, '{}')).flat(), finish('tool_calls')]],
  },
  {
    words: /\b(?:huge|giant|too large|oversized?|\d+ ?(?:mi?b|kb))\b/,
    streams: [[...call(0, 'a', `{"x":"${'y'.repeat(300_000)}"}`), finish('tool_calls')]],
  },
  {
    words:
      /(?:truncated|incomplete|cut|half|unclosed|partial)\b.*\b(?:arguments?|args|json|call)|(?:arguments?|args|json|call)\b.*\b(?:truncated|incomplete|cut|half|unclosed|partial)/,
    streams: [
      [...call(0, 'a', half), finish('tool_calls')],
      [...call(0, 'a', half), finish('stop')],
      call(0, 'a', half),
    ],
  },
  {
    words: /(?:only|just)\b.*\breasoning|reasoning\b.*\bonly/,
    streams: [[{ kind: 'reasoning', delta: 'hm' }, finish('stop')]],
  },
  {
    words: /empty|blank|white ?space|nothing|no (?:text|content|answer)/,
    streams: [[finish('stop')], [{ kind: 'text', delta: ' \n\u200b' }, finish('stop')]],
  },
  {
    words: /promis|tool_calls.*(?:no|without|zero) calls?|(?:no|zero) calls?/,
    streams: [[text, finish('tool_calls')]],
  },
  {
    words:
      /malformed|garbage|corrupt|damaged|invalid (?:chunk|event|json|utf)|not json|error (?:event|part)|mid-?stream/,
    streams: [
      [text, damage, finish('stop')],
      [...call(0, 'a', '{}'), damage, finish('tool_calls')],
    ],
  },
  {
    words:
      /cut|reset|broken|closed|disconnect|drop|half|ends? (?:early|without)|without (?:a )?(?:finish|end|done)|no (?:finish|end|done)|missing (?:finish|end|done)/,
    streams: [[text], call(0, 'a', '{}')],
  },
  {
    words: /finish|unknown reason|\bother\b|\berror\b/,
    streams: [
      [text, finish('other')],
      [text, finish('error')],
    ],
  },
]

/** `as_expected`, or a sentence that says what went wrong. Judges `not_success`; other verdicts have tests of their own. */
export function judgeProtocol(given: ProtocolCase): string {
  if (given.verdict !== 'not_success') return `the verdict ${given.verdict} is not one of this judge`
  const broken = HEALTHY.find((parts) => !isAccepted(parts))
  if (broken !== undefined) return 'a healthy stream was refused'
  const said = `${given.name} ${typeof given.raw === 'string' ? given.raw : ''}`.toLowerCase()
  const fault = FAULTS.find(({ words }) => words.test(said))
  if (fault === undefined) return 'no fault of a stream is known by these words'
  return fault.streams.some(isAccepted) ? 'the damaged stream was accepted' : 'as_expected'
}

const assemble = (parts: readonly ModelPart[]): ModelAnswer =>
  close(parts.reduce(absorb, openAnswer()), { aborted: false })
const isAccepted = (parts: readonly ModelPart[]): boolean => assemble(parts).kind !== 'bad'
