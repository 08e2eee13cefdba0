/**
 * Days that a text names, in English and Chinese, and the terms that stand for them: "5月2日", "May 2", "2nd of May" and
 * "2023-05-02" are one term, so that a question in either language meets what was said of that day, or on it.
 */

/** What is known of a day; `weekday` from 0, Sunday. */
export interface Day {
  readonly year?: number | undefined
  readonly month?: number | undefined
  readonly day?: number | undefined
  readonly weekday?: number | undefined
}

const MONTHS = 'january february march april may june july august september october november december'.split(' ')
const WEEKDAYS = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ')
const HAN_WEEKDAYS = '日一二三四五六'
const HAN_DIGITS = '〇一二三四五六七八九'

// "may", "march" and "sun" are words as well, and the text has no capitals any more: a month needs a number beside it or a
// word like "in" before it, and a short weekday is none.
const MONTH = `(${MONTHS.map((m) => (m === 'may' ? m : `${m.slice(0, 3)}(?:${m.slice(3)})?`)).join('|')}|sept)\\.?`
const NUMBER_OF_DAY = '(\\d{1,2})(?:st|nd|rd|th)?'
const YEAR = '(?:,?\\s+(?:of\\s+)?(\\d{4}))?'
const EDGE = '(?<![\\p{L}\\p{N}])'
const END = '(?![\\p{L}\\p{N}])'
const HAN_NUMBER = '(\\d{1,2}|[一二三四五六七八九十]{1,3})'

const FORMS: readonly (readonly [RegExp, (m: RegExpExecArray) => Day])[] = [
  form(`${EDGE}(\\d{4})[-/.](\\d{1,2})[-/.](\\d{1,2})(?!\\d)`, (m) => ({
    year: int(m[1]),
    month: int(m[2]),
    day: int(m[3]),
  })),
  form(`${EDGE}${MONTH}\\s+${NUMBER_OF_DAY}${YEAR}${END}`, (m) => ({
    year: int(m[3]),
    month: monthOf(m[1]),
    day: int(m[2]),
  })),
  form(`${EDGE}${NUMBER_OF_DAY}\\s+(?:of\\s+)?${MONTH}${YEAR}${END}`, (m) => ({
    year: int(m[3]),
    month: monthOf(m[2]),
    day: int(m[1]),
  })),
  form(`${EDGE}${MONTH},?\\s+(?:of\\s+)?(\\d{4})${END}`, (m) => ({ month: monthOf(m[1]), year: int(m[2]) })),
  form(`${EDGE}(?:in|since|until|during|last|next|this)\\s+${MONTH}${END}(?!\\s+\\d)`, (m) => ({
    month: monthOf(m[1]),
  })),
  form(`(?:(\\d{4})\\s*年\\s*)?${HAN_NUMBER}\\s*月\\s*(?:${HAN_NUMBER}\\s*[日号號])?`, (m) => ({
    year: int(m[1]),
    month: hanInt(m[2]),
    day: hanInt(m[3]),
  })),
  form(`(\\d{4})\\s*年(?!\\s*\\d)`, (m) => ({ year: int(m[1]) })),
  form(`${EDGE}(${WEEKDAYS.join('|')})s?${END}`, (m) => ({ weekday: WEEKDAYS.indexOf(m[1] ?? '') })),
  form(`(?:星期|礼拜|周|週)([日天一二三四五六])`, (m) => ({ weekday: Math.max(0, HAN_WEEKDAYS.indexOf(m[1] ?? '')) })),
]

/** How far from the day of the text: what people write instead of a date. */
const RELATIVE: readonly (readonly [RegExp, number])[] = [
  [/(?<![\p{L}])(?:the day before yesterday)(?![\p{L}])|前天/u, -2],
  [/(?<!before )(?<![\p{L}])(?:yesterday|last night)(?![\p{L}])|昨天|昨晚|昨日/u, -1],
  [/(?<![\p{L}])(?:tomorrow)(?![\p{L}])|明天|明日/u, 1],
]

function form(pattern: string, read: (m: RegExpExecArray) => Day): readonly [RegExp, (m: RegExpExecArray) => Day] {
  return [new RegExp(pattern, 'gu'), read]
}

/** The days that a text names, by its own words. @param text lower case, NFKC */
export function datesIn(text: string): readonly Day[] {
  const found: Day[] = []
  for (const [pattern, read] of FORMS) {
    for (const match of text.matchAll(pattern)) {
      const day = valid(read(match))
      if (day) found.push(day)
    }
  }
  return found
}

/** "yesterday" and its like, counted from the day on which the text was written. */
export function relativeDates(text: string, written: Day): readonly Day[] {
  return RELATIVE.filter(([pattern]) => pattern.test(text)).flatMap(([, days]) => moved(written, days) ?? [])
}

/** `2023-05-02`, alone or before a time of day; null for anything else. The day is as written, in no zone. */
export function dayOf(text: string): Day | null {
  const match = /^(\d{4})-(\d{2})-(\d{2})(?!\d)/.exec(text)
  return match ? valid({ year: int(match[1]), month: int(match[2]), day: int(match[3]) }) : null
}

/** From the whole day to its parts; a question that knows less meets a text that knows more. */
export function termsOfDay(day: Day): readonly string[] {
  const { year, month } = day
  const weekday = day.weekday ?? weekdayOf(day)
  const terms: string[] = []
  if (year !== undefined && month !== undefined) {
    if (day.day !== undefined) terms.push(`${year}-${two(month)}-${two(day.day)}`)
    terms.push(`${year}-${two(month)}`)
  }
  if (month !== undefined) terms.push(day.day === undefined ? `m${two(month)}` : `${two(month)}-${two(day.day)}`)
  if (month !== undefined && day.day !== undefined) terms.push(`m${two(month)}`)
  if (year !== undefined) terms.push(`y${year}`)
  if (weekday !== undefined) terms.push(`w${weekday}`)
  return terms
}

const DAY_MS = 86_400_000

function moved(day: Day, days: number): Day | null {
  const at = instantOf(day)
  if (at === null) return null
  const date = new Date(at + days * DAY_MS)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}

const weekdayOf = (day: Day): number | undefined => {
  const at = instantOf(day)
  return at === null ? undefined : new Date(at).getUTCDay()
}

function instantOf({ year, month, day }: Day): number | null {
  return year === undefined || month === undefined || day === undefined ? null : Date.UTC(year, month - 1, day)
}

function valid(day: Day): Day | null {
  const { month, day: number, year } = day
  if (month !== undefined && !(month >= 1 && month <= 12)) return null
  if (number !== undefined && !(number >= 1 && number <= 31)) return null
  // a number of four digits before this is seldom a year, and `Date.UTC` takes less than 100 for 1900 and more
  return year !== undefined && year < 1000 ? null : day
}

const two = (value: number): string => String(value).padStart(2, '0')
const int = (digits: string | undefined): number | undefined => (digits ? Number(digits) : undefined)

const monthOf = (name: string | undefined): number =>
  MONTHS.findIndex((month) => month.startsWith((name ?? '').slice(0, 3))) + 1

/** Up to 31: 二, 十, 十二, 二十, 二十七, or digits. */
function hanInt(text: string | undefined): number | undefined {
  if (!text) return undefined
  if (/^\d/.test(text)) return Number(text)
  const [tens, ones] = text.includes('十') ? text.split('十') : ['', text]
  const ten = text.includes('十') ? (tens ? HAN_DIGITS.indexOf(tens) : 1) * 10 : 0
  return ten + (ones ? HAN_DIGITS.indexOf(ones) : 0)
}
