/** What can be found in a text without understanding it, in English and Chinese. Rules err towards finding too much. */

/** Longer than any sentence; what is longer is a list or a table. */
const MOST_SENTENCE = 400

export const sentencesOf = (text: string): readonly string[] =>
  text
    .split(/(?<=[.!?])\s+|(?<=[。！？；])|[\n;]/u)
    .map((s) => s.trim())
    .filter((s) => s !== '' && s.length <= MOST_SENTENCE)

/** Equal for texts that differ in width, case, spaces and the sign at their end only. */
export const plainly = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[’‘]/g, "'")
    .replaceAll(/\s+/g, ' ')
    .replace(/^["'“”「」\s]+|["'“”「」\s.,;:!。，；：！]+$/gu, '')

const NOT =
  /\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|can't|don't|doesn't|didn't|won't|isn't|aren't|wasn't|weren't|shouldn't|mustn't|hasn't|haven't|forbidden|prohibited|refused|declined)\b|不|没|未|无|勿|别(?!的|人|处|墅|名)|禁止|拒绝/u

/** Whether a sentence denies or forbids something. */
export const negates = (sentence: string): boolean => NOT.test(plainly(sentence))

const FORBIDS: readonly RegExp[] = [
  // of oneself it is a report; of others, and of nobody, an order
  /(?<!\b(?:i|we|they|who|it|that|which)\s)\b(?:do not|don't|dont)\b/u,
  /(?<!\b(?:i|we|i've|we've|has|have|had|was|were|is|are)\s)\bnever\b/u,
  /\b(?:must not|mustn't|may not|shall not|should not|shouldn't|not allowed|no longer allowed|under no circumstances|forbid|forbidden|prohibit|prohibited)\b/u,
  /\bi (?:do not|don't) want you\b/u,
  /不要|不得|不准|不许|不可以|禁止|切勿|请勿|绝不|千万别|千万不|(?:^|[，,。\s请先])别(?!的|人|处|墅|名)/u,
]

/** Whether a sentence forbids something to whoever reads it. */
export const forbids = (sentence: string): boolean => FORBIDS.some((rule) => rule.test(plainly(sentence)))

/** Words of ASCII with a digit in them: order numbers, amounts, times, addresses. Thousands are written without their comma. */
export function figuresOf(text: string): ReadonlySet<string> {
  const found = new Set<string>()
  const plain = text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/(\d),(?=\d{3}(?!\d))/g, '$1')
  for (const [word] of plain.matchAll(/[a-z0-9][a-z0-9_.:/@#%+-]*/g))
    if (/\d/.test(word)) found.add(word.replace(/[.:/@#+-]+$/, ''))
  return found
}

/** Those that name a thing: letters with digits, or digits that nobody counts with. */
export const isName = (figure: string): boolean =>
  /^(?=.*[a-z])(?=.*\d)[a-z0-9_#/-]{3,}$/.test(figure) || /^#?\d{5,}$/.test(figure)

const ENGLISH = ['two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve']
const CHINESE = /[零〇一二两三四五六七八九十百千万亿半]+(?=[元块天周月年号日个件台人次点倍成])/gu

/** Numbers that are written as words: what was said, and the digits that it may stand for. */
export function numberWords(text: string): readonly { readonly word: string; readonly digits: string }[] {
  const plain = plainly(text)
  return [
    ...ENGLISH.flatMap((word, at) =>
      new RegExp(`\\b${word}\\b`, 'u').test(plain) ? [{ word, digits: String(at + 2) }] : [],
    ),
    ...[...plain.matchAll(CHINESE)].map(([word]) => ({ word, digits: chineseDigits(word) })),
  ]
}

const SIGNS = '零一二三四五六七八九'
function chineseDigits(word: string): string {
  const plain = word.replaceAll('两', '二').replaceAll('〇', '零')
  const ten = /^([一二三四五六七八九])?十([一二三四五六七八九])?$/u.exec(plain)
  if (ten) return `${ten[1] ? SIGNS.indexOf(ten[1]) : 1}${ten[2] ? SIGNS.indexOf(ten[2]) : 0}`
  return [...plain].map((sign) => SIGNS.indexOf(sign)).join('')
}

const CALENDAR =
  /\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:january|february|april|june|july|august|september|october|november|december)\b|\b(?:today|tomorrow|tonight|yesterday)\b|(?:周|星期|礼拜)[一二三四五六日天]|今天|明天|后天|昨天|下周|下个月|月底|年底/gu

/** Days and months that are named. */
export const calendarOf = (text: string): readonly string[] => [
  ...new Set([...plainly(text).matchAll(CALENDAR)].map(([word]) => word)),
]

const COMMON =
  /^(?:The|User|Customer|Assistant|Agent|They|He|She|It|We|You|I|In|On|At|If|And|But|Then|When|After|Before|For|No|Yes|Mr|Mrs|Ms|Dr)$/u

/** Words in capitals within a sentence: who and what is meant by name. */
export const properNames = (text: string): readonly string[] => [
  ...new Set(
    [...text.matchAll(/(?<=[\p{Ll}\p{N},:] )\p{Lu}[\p{L}'-]+/gu)].map(([word]) => word).filter((w) => !COMMON.test(w)),
  ),
]

export interface Debt {
  readonly who: string
  readonly whom: string
  readonly amount: string
}

const SIDE = '([\\p{L}][\\p{L}\\p{N}_-]*)'
const OWES = new RegExp(
  `${SIDE} (?:still )?(?:owes?|owed|must pay|has to pay|have to pay|should pay) (?:to )?(?:the )?${SIDE}?`,
  'giu',
)
const OWES_ZH =
  /([\p{Script=Han}A-Za-z]{1,4}?)(?:还)?(?:欠|应付|应还)(?:了)?([\p{Script=Han}A-Za-z]{1,4}?)(?=[\d零一二两三四五六七八九十百千万¥￥ ])/gu

/** Who owes whom what. `speaker` and `other` are who `I` and `you` are in this text. */
export function debtsOf(text: string, speaker: string, other: string): readonly Debt[] {
  const named = (word: string | undefined): string => {
    const plain = (word ?? '').toLowerCase()
    if (['i', 'me', 'my', '我', '我们', 'we', 'us'].includes(plain)) return speaker
    if (['you', '你', '您', '你们'].includes(plain)) return other
    return ['customer', 'client', '用户', '客户'].includes(plain) ? 'user' : plain
  }
  return sentencesOf(text).flatMap((sentence) => {
    const amount = [...figuresOf(sentence)][0] ?? numberWords(sentence)[0]?.digits ?? ''
    return [...sentence.matchAll(OWES), ...sentence.matchAll(OWES_ZH)].map(([, who, whom]) => ({
      who: named(who),
      whom: /^(?:a|an|the|\d)/iu.test(whom ?? '') ? '' : named(whom),
      amount,
    }))
  })
}

const TASK =
  /\b(?:remind me|to-?do|follow up|get back to (?:me|you)|i(?:'ll| will) (?:check|send|call|ask|look|let you)|still (?:open|to do|pending)|waiting for)\b|待办|提醒我|跟进|我会(?:查|问|发|联系|回复)|等(?:待|候)|尚未|还没有/u

/** Whether a sentence leaves something to be done. */
export const leavesTask = (sentence: string): boolean => TASK.test(plainly(sentence))
