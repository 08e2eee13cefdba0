/**
 * Whether a summary may stand for what it was made of. Pure, and strict: what is in doubt is rejected, since the messages
 * stay as they were.
 *
 * D3  states and permissions come from the journal   D4  names, numbers, dates, denials, debts, tasks, and nothing sensitive
 */
import { parseStrict } from '../kernel/json.ts'
import { relevance, words } from './relevance.ts'
import type { Action, SummaryBody } from './summary.ts'
import type { Draft, SourceMessage } from './summary-prompt.ts'
import {
  calendarOf,
  debtsOf,
  figuresOf,
  forbids,
  isName,
  leavesTask,
  negates,
  numberWords,
  plainly,
  properNames,
  sentencesOf,
} from './summary-said.ts'
import type { TokenCounter } from './tokens.ts'
import { tokensOf } from './tokens.ts'

/** Why a summary is not used; in its row, and in reports. */
export const REJECTIONS = {
  malformed: 'The answer is not what was asked for.',
  empty: 'It says nothing.',
  refusal: 'The model declined.',
  template: 'It is a template, or claims that there is no history.',
  too_long: 'It is hardly shorter than the messages.',
  coverage: 'It leaves out most of what it stands for.',
  invented_name: 'It names what nobody has named.',
  invented_number: 'It has a number that nobody has said.',
  invented_date: 'It has a day that nobody has said.',
  lost_name: 'It leaves out most of what the user named.',
  lost_prohibition: 'A sentence that forbids something is not there word for word.',
  invented_constraint: 'A constraint is not what the user said.',
  flipped_negation: 'It says of something that was forbidden or denied that it is so, or the other way round.',
  debt: 'Who owes what is not as it was said.',
  lost_task: 'Something that is left to do is not there.',
  invented_task: 'It has a task that nobody has spoken of.',
  invented_decision: 'A decision is not what was said.',
  claimed_state: 'It says that something is approved or permitted; only the journal says so.',
  sensitive: 'It holds what must not be kept.',
} as const
export type Rejection = keyof typeof REJECTIONS

export interface Source {
  readonly messages: readonly SourceMessage[]
  readonly actions: readonly Action[]
}

export interface Checking {
  /** Classes of what a detector finds in a text, such as `secret` or `instruction`. */
  readonly scan: (text: string) => readonly string[]
  readonly count?: TokenCounter
}

export type Checked =
  | { readonly ok: true; readonly body: SummaryBody }
  | { readonly ok: false; readonly reason: Rejection }

const LEAST_CHARACTERS = 20
/** Share of the names that users said: below it the summary is about something else. */
const NAMED = 0.5
const REFUSES =
  /^(?:i(?:'m| am) (?:sorry|unable)|sorry|i (?:can't|cannot|can not|won't|am not able)|as an ai|unfortunately, i)|^(?:抱歉|对不起|很抱歉|不好意思|我无法|我不能|作为)/u
const TEMPLATE =
  /\bno (?:prior|previous|earlier) (?:history|conversation|context|messages)|nothing to summari[sz]e|\{\{|<summary>|\[(?:insert|summary|your)\b|lorem ipsum|^n\/a$|\bplaceholder\b|没有(?:任何)?(?:历史|之前|先前)|暂无|无历史|此处填写/u
const CLAIMS =
  /\b(?:approved|authori[sz]ed|permitted|confirmation (?:was|is) (?:given|granted)|has (?:the )?permission|is allowed)\b|已批准|已授权|已确认|获准|有权限/u
/** Names of messages, as the model was told them. */
const SHORT = /^m\d{1,5}$/

export function check(answer: string, source: Source, checking: Checking): Checked {
  const draft = draftOf(answer)
  if (!draft) return { ok: false, reason: troubleOf(answer) ?? 'malformed' }
  return checkDraft(draft, source, checking)
}

/** Of an answer that was valid JSON, as the run has judged it already. */
function draftOf(answer: string): Draft | null {
  const parsed = parseStrict(answer.trim())
  return parsed.ok ? (parsed.value as unknown as Draft) : null
}

function troubleOf(text: string): Rejection | null {
  const plain = plainly(text)
  if (plain.length === 0) return 'empty'
  if (REFUSES.test(plain)) return 'refusal'
  if (TEMPLATE.test(plain)) return 'template'
  return plain.length < LEAST_CHARACTERS ? 'empty' : null
}

export function checkDraft(draft: Draft, source: Source, checking: Checking): Checked {
  const said = seen(draft, source)
  const broken = RULES.find(([, rule]) => rule(said, checking))
  if (broken) return { ok: false, reason: broken[0] }
  const nameOf = (short: string): string => said.at(short)?.name ?? ''
  const body: SummaryBody = {
    text: draft.text.trim(),
    decisions: draft.decisions.map((d) => ({ ...d, source_message: nameOf(d.source_message) })),
    open_tasks: draft.open_tasks,
    constraints: draft.constraints.map((c) => ({ ...c, source_message: nameOf(c.source_message) })),
    names: said.names.slice(-MOST_NAMES),
    actions: source.actions,
  }
  return { ok: true, body }
}

/** The latest ones; a list of more is a table, which its result holds. */
const MOST_NAMES = 60

interface Seen {
  readonly draft: Draft
  readonly messages: readonly SourceMessage[]
  readonly actions: readonly Action[]
  readonly at: (short: string) => SourceMessage | undefined
  /** Everything that was said, and everything that the summary says. */
  readonly before: string
  readonly after: string
  /** What the model wrote in its own words. */
  readonly prose: string
  readonly users: readonly SourceMessage[]
  readonly names: readonly string[]
}

function seen(draft: Draft, { messages, actions }: Source): Seen {
  const prose = [draft.text, ...draft.open_tasks, ...draft.decisions.map((d) => d.key)].join('\n')
  const quotes = [...draft.constraints.map((c) => c.text), ...draft.decisions.map((d) => d.value)]
  const users = messages.filter((m) => m.role === 'user')
  const spoken = messages.filter((m) => m.role !== 'tool')
  return {
    draft,
    messages,
    actions,
    at: (short) => messages.find((m) => m.short === short),
    before: messages.map((m) => m.text).join('\n'),
    after: [prose, ...quotes].join('\n'),
    prose,
    users,
    names: [...new Set(spoken.flatMap((m) => [...figuresOf(m.text)].filter(isName)))],
  }
}

type Rule = (seen: Seen, checking: Checking) => boolean

/** In the order in which they are told. */
const RULES: readonly (readonly [Rejection, Rule])[] = [
  ['empty', ({ draft }) => troubleOf(draft.text) === 'empty'],
  ['refusal', ({ draft }) => troubleOf(draft.text) === 'refusal'],
  ['template', ({ draft }) => troubleOf(draft.text) === 'template'],
  ['sensitive', isSensitive],
  ['too_long', ({ draft, before }, { count }) => tokensOf(draft.text, count) * 2 > tokensOf(before, count) + 100],
  [
    'invented_constraint',
    ({ draft, at }) => draft.constraints.some((c) => !quotes(at(c.source_message), c.text, ['user'])),
  ],
  [
    'invented_decision',
    ({ draft, at }) =>
      draft.decisions.some((d) => !quotes(at(d.source_message), d.value, ['user', 'assistant', 'tool'])),
  ],
  ['lost_prohibition', losesProhibition],
  ['flipped_negation', flips],
  ['invented_number', inventsNumber],
  ['invented_date', ({ prose, before }) => calendarOf(prose).some((day) => !calendarOf(before).includes(day))],
  ['invented_name', ({ prose, before }) => properNames(prose).some((name) => !plainly(before).includes(plainly(name)))],
  ['lost_name', losesNames],
  ['debt', changesDebt],
  ['lost_task', losesTask],
  [
    'invented_task',
    ({ draft, before }) => draft.open_tasks.some((task) => relevance(words(task), allWords(before)) < 0.3),
  ],
  [
    'claimed_state',
    ({ prose, actions }) =>
      CLAIMS.test(plainly(prose)) && !actions.some((a) => a.decision === 'approved' || a.decision === 'consumed'),
  ],
  ['coverage', losesRange],
]

const MOST_WORDS_AT_ONCE = 4_000
/** `words` reads the beginning of a text only. */
function allWords(text: string): ReadonlySet<string> {
  const all = new Set<string>()
  for (let at = 0; at < text.length; at += MOST_WORDS_AT_ONCE)
    for (const word of words(text.slice(at, at + MOST_WORDS_AT_ONCE + 50))) all.add(word)
  return all
}

function quotes(message: SourceMessage | undefined, text: string, roles: readonly string[]): boolean {
  const plain = plainly(text)
  return message !== undefined && roles.includes(message.role) && plain !== '' && plainly(message.text).includes(plain)
}

/** In quotes of the user what orders something is what they are for; in prose it would be an order of nobody. */
function isSensitive({ prose, after }: Seen, { scan }: Checking): boolean {
  return scan(prose).length > 0 || scan(after).some((found) => found !== 'instruction')
}

function losesProhibition({ users, draft }: Seen): boolean {
  const kept = draft.constraints.map((c) => plainly(c.text))
  return users.some((m) =>
    sentencesOf(m.text)
      .filter(forbids)
      .some((s) => !kept.some((k) => k.includes(plainly(s)))),
  )
}

/** A sentence that has most words of another, and denies what it does not. */
function flips({ draft, users, messages }: Seen): boolean {
  const told = sentencesOf([draft.text, ...draft.open_tasks].join('\n'))
  const before = messages.flatMap((m) => sentencesOf(m.text)).map((s) => ({ words: words(s), denies: negates(s) }))
  const forbidden = users.flatMap((m) => sentencesOf(m.text).filter(forbids)).map(words)
  return told.some((sentence) => {
    const denies = negates(sentence)
    const own = words(sentence)
    if (!denies) return forbidden.some((f) => shares(f, own) && !before.some((b) => !b.denies && shares(own, b.words)))
    return !before.some((b) => b.denies && overlap(own, b.words) >= 1)
  })
}

const SMALL =
  /^(?:the|a|an|to|of|in|on|is|it|and|or|do|not|no|never|don|for|by|be|this|that|was|with|before|after|user|customer|must)$/
const content = (set: ReadonlySet<string>): readonly string[] =>
  [...set].filter((w) => !SMALL.test(w) && !/[不没未无勿别]/u.test(w))
const overlap = (a: ReadonlySet<string>, b: ReadonlySet<string>): number => content(a).filter((w) => b.has(w)).length
/** Whether `there` has at least half of what `wanted` is about. */
const shares = (wanted: ReadonlySet<string>, there: ReadonlySet<string>): boolean => {
  const about = content(wanted)
  return about.length > 0 && about.filter((w) => there.has(w)).length * 2 >= about.length
}

function inventsNumber({ prose, before, messages }: Seen): boolean {
  const there = figuresOf(before)
  const digits = new Set([...there].flatMap((figure) => figure.match(/\d+(?:\.\d+)?/g) ?? []))
  const spoken = numberWords(before)
  const isThere = (figure: string): boolean =>
    there.has(figure) ||
    SHORT.test(figure) ||
    (/^[$€£¥]?\d+(?:\.\d+)?%?$/.test(figure) && digits.has(figure.replace(/[^\d.]/g, ''))) ||
    spoken.some((n) => n.digits === figure) ||
    figure === String(messages.length)
  if ([...figuresOf(prose)].some((figure) => !isThere(figure))) return true
  return numberWords(prose).some((n) => !digits.has(n.digits) && !spoken.some((s) => s.word === n.word))
}

function losesNames({ users, after }: Seen): boolean {
  const named = [...new Set(users.flatMap((m) => [...figuresOf(m.text)].filter(isName)))]
  const there = figuresOf(after)
  return named.length > 0 && named.filter((name) => there.has(name)).length < named.length * NAMED
}

function changesDebt({ prose, messages }: Seen): boolean {
  const known = messages.flatMap((m) =>
    debtsOf(m.text, m.role === 'user' ? 'user' : 'assistant', m.role === 'user' ? 'assistant' : 'user'),
  )
  const told = debtsOf(prose, 'assistant', 'user')
  const agrees = (a: string, b: string): boolean => a === '' || b === '' || a === b
  return told.some((t) => !known.some((k) => k.who === t.who && agrees(k.whom, t.whom) && agrees(k.amount, t.amount)))
}

function losesTask({ messages, after }: Seen): boolean {
  // what was left to do in the middle may be done by the end
  const end = messages.filter((m) => m.role !== 'tool').slice(-2)
  const there = allWords(after)
  return end.some((m) =>
    sentencesOf(m.text)
      .filter(leavesTask)
      .some((s) => !shares(words(s), there)),
  )
}

/** Every third thing that the user said has left a word. */
function losesRange({ users, after }: Seen): boolean {
  const there = allWords(after)
  const spoken = users.filter((m) => content(words(m.text)).length > 0)
  return spoken.filter((m) => overlap(words(m.text), there) > 0).length * 3 < spoken.length
}

/** A stored body against the messages of now: what was believed then may be seen through later (D6). */
export function recheck(body: SummaryBody, source: Source, checking: Checking): Rejection | null {
  const shortOf = (name: string): string => source.messages.find((m) => m.name === name)?.short ?? ''
  const draft: Draft = {
    text: body.text,
    decisions: body.decisions.map((d) => ({ ...d, source_message: shortOf(d.source_message) })),
    open_tasks: body.open_tasks,
    constraints: body.constraints.map((c) => ({ ...c, source_message: shortOf(c.source_message) })),
  }
  const checked = checkDraft(draft, source, checking)
  return checked.ok ? null : checked.reason
}
