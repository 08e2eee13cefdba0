/**
 * Times that people write (BR-102, BR-103): relative to the message that says them, in the zone of its subject, and never
 * to the moment at which they are stored.
 */

const DAY_MS = 86_400_000

interface Day {
  readonly year: number
  readonly month: number
  readonly day: number
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** Local date and time as if it were UTC, in milliseconds. */
function local(at: number, zone: string): number {
  const known = formats.get(zone)
  const format =
    known ??
    new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  if (!known) formats.set(zone, format)
  const parts = Object.fromEntries(format.formatToParts(new Date(at)).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((at % 1000) + 1000) % 1000)
}

/** The instant at which clocks in `zone` show `shown`. In a gap the clocks have moved on already; of two, the first. */
function instant(shown: number, zone: string): number {
  const offsets = [shown - DAY_MS, shown + DAY_MS].map((near) => local(near, zone) - near)
  const fitting = offsets.map((offset) => shown - offset).filter((at) => local(at, zone) === shown)
  return fitting.length > 0 ? Math.min(...fitting) : shown - (offsets[0] ?? 0)
}

/** The first instant of a day in `zone`. */
const startOf = ({ year, month, day }: Day, zone: string): number => instant(Date.UTC(year, month - 1, day), zone)

function dayOf(at: number, zone: string): Day {
  const shown = new Date(local(at, zone))
  return { year: shown.getUTCFullYear(), month: shown.getUTCMonth() + 1, day: shown.getUTCDate() }
}

const STAMP =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(?:([Zz])|([+-])(\d\d):?(\d\d))?$/

/**
 * An end: RFC 3339 is that instant. Without a zone it is meant in the subject's; a date alone is over when its day is
 * over there. Null when it is no date, as for 30 February.
 */
export function endInstant(text: string, zone: string): number | null {
  const found = STAMP.exec(text.trim())
  if (!found) return null
  const [, y, mo, d, h, mi, s, fraction = '', utc, sign, oh, om] = found
  const [year, month, day] = [Number(y), Number(mo), Number(d)]
  const midnight = Date.UTC(year, month - 1, day)
  if (new Date(midnight).getUTCMonth() !== month - 1 || new Date(midnight).getUTCDate() !== day) return null
  if (h === undefined) return utc || sign ? null : startOf({ year, month, day: day + 1 }, zone)
  const [hour, minute, second] = [Number(h), Number(mi), Number(s ?? 0)]
  if (hour > 23 || minute > 59 || second > 59 || Number(oh ?? 0) > 23 || Number(om ?? 0) > 59) return null
  const shown =
    midnight + ((hour * 60 + minute) * 60 + second) * 1000 + Math.floor(Number(`0.${fraction || '0'}`) * 1000)
  if (utc) return shown
  if (sign) return shown - (sign === '-' ? -1 : 1) * (Number(oh) * 60 + Number(om)) * 60_000
  return instant(shown, zone)
}

const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const ZH_WEEKDAYS = '日一二三四五六'
const ZH_DIGITS = '零一二三四五六七八九十'

/** Days between the day of the message and the day that is meant. */
const WORDS: readonly (readonly [RegExp, number])[] = [
  [/the day before yesterday|前天/, -2],
  [/the day after tomorrow|后天/, 2],
  [/\byesterday\b|\blast night\b|昨天|昨晚|昨日/, -1],
  [/\btomorrow\b|明天|明日/, 1],
  [/\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b|今天|今晚|今日|今早/, 0],
]
const UNITS: Readonly<Record<string, number>> = { day: 1, week: 7, 天: 1, 日: 1, 周: 7, 星期: 7, 个星期: 7 }

/** The first day that `quote` names, as the instant at which it begins; null when it names none. `at` is when it was said. */
export function saidOf(quote: string, at: number, zone: string): number | null {
  const text = quote.normalize('NFKC').toLowerCase()
  const today = dayOf(at, zone)
  const shifted = (days: number): number => startOf({ ...today, day: today.day + days }, zone)
  for (const [word, days] of WORDS) if (word.test(text)) return shifted(days)
  const date = /(?<!\d)(\d{4})(?:-|\/|年)(\d{1,2})(?:-|\/|月)(\d{1,2})/.exec(text)
  if (date) return startOf({ year: Number(date[1]), month: Number(date[2]), day: Number(date[3]) }, zone)
  const ago =
    /(\d{1,3}|an?|one|two|three|[一二两三四五六七八九十]) ?(days?|weeks?|天|日|周|个星期|星期) ?(ago|(?:之|以)?前)/.exec(
      text,
    )
  if (ago) return shifted(-count(ago[1] ?? '') * (UNITS[(ago[2] ?? '').replace(/s$/, '')] ?? 1))
  const months =
    /(\d{1,2}|an?|one|two|three|[一二两三四五六七八九十]) ?(months?|years?|个月|年) ?(ago|(?:之|以)?前)/.exec(text)
  if (months) {
    const n = count(months[1] ?? '')
    return startOf(/year|年/.test(months[2] ?? '') ? { ...today, year: today.year - n } : monthsBefore(today, n), zone)
  }
  return weekday(text, today, shifted)
}

/** The last day of a shorter month stands for what it does not have. */
function monthsBefore({ year, month, day }: Day, n: number): Day {
  const last = new Date(Date.UTC(year, month - n, 0)).getUTCDate()
  return { year, month: month - n, day: Math.min(day, last) }
}

function count(word: string): number {
  const named: Readonly<Record<string, number>> = { a: 1, an: 1, one: 1, two: 2, three: 3, 两: 2 }
  const zh = ZH_DIGITS.indexOf(word)
  return named[word] ?? (zh > 0 ? zh : Number(word))
}

/** `next friday` is the one of next week, `last friday` the latest before today, `this friday` of this week; weeks begin on Monday. */
function weekday(text: string, today: Day, shifted: (days: number) => number): number | null {
  const en = /\b(last|next|this) (sunday|monday|tuesday|wednesday|thursday|friday|saturday|week)\b/.exec(text)
  const zh = /(上|下|这|本)个?(?:周|星期|礼拜)([一二三四五六日天])?/.exec(text)
  if (!en && !zh) return null
  const which = en ? { last: -1, next: 1, this: 0 }[en[1] ?? ''] : { 上: -1, 下: 1, 这: 0, 本: 0 }[zh?.[1] ?? '']
  const now = (new Date(Date.UTC(today.year, today.month - 1, today.day)).getUTCDay() + 6) % 7
  const sunday = en ? WEEKDAYS.indexOf(en[2] ?? '') : ZH_WEEKDAYS.indexOf((zh?.[2] ?? '').replace('天', '日'))
  if (sunday < 0 || (zh && zh[2] === undefined)) return shifted(7 * (which ?? 0) - now)
  const target = (sunday + 6) % 7
  if (en?.[1] === 'last') return shifted(target < now ? target - now : target - now - 7)
  return shifted(7 * (which ?? 0) + target - now)
}

/** What is said to be meant for now. */
const PASSING =
  /\b(?:just|only) (?:for )?(?:now|today|this (?:time|once|chat|conversation|session|one))\b|\bfor (?:this (?:chat|conversation|session|answer|one)|the moment)\b|这次|這次|本次|暂时|暫時|先这样|仅此一次|这一次|这个对话/

export const isPassing = (quote: string): boolean => PASSING.test(quote.normalize('NFKC').toLowerCase())
