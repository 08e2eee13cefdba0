import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { endInstant, isPassing, saidOf } from './when.ts'

const at = (text: string): number => Date.parse(text)
const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())

describe('an end', () => {
  it.each([
    ['2026-12-31T23:59:59-05:00', '2027-01-01T04:59:59.000Z'],
    ['2026-12-31T23:59:59+08:00', '2026-12-31T15:59:59.000Z'],
    ['2026-12-31T23:59:59Z', '2026-12-31T23:59:59.000Z'],
    ['2026-12-31T23:59:59.123Z', '2026-12-31T23:59:59.123Z'],
    ['2026-12-31T23:59:59.123456789Z', '2026-12-31T23:59:59.123Z'],
    ['2028-02-29', '2028-02-29T16:00:00.000Z'],
    ['2026-12-31', '2026-12-31T16:00:00.000Z'],
    ['2026-12-31T10:00', '2026-12-31T02:00:00.000Z'],
  ])('E2 BR-102 %s is one instant; without a zone it is of the subject', (text, expected) => {
    expect(iso(endInstant(text, 'Asia/Shanghai'))).toBe(expected)
  })

  it('BR-102 is alive until its own offset says that it is over', () => {
    const end = endInstant('2026-12-31T23:59:59-05:00', 'UTC') ?? 0
    expect(end > at('2027-01-01T02:00:00Z')).toBe(true)
    expect(end < at('2027-01-01T05:00:00Z')).toBe(true)
  })

  it.each(['', 'soon', '2026-02-29', '2026-13-01', '2026-12-31T25:00Z', '2026-12-31Z', '1767139200'])(
    'E2 BR-102 %j is none',
    (text) => {
      expect(endInstant(text, 'UTC')).toBeNull()
    },
  )

  it('E2 every instant with any offset is read as JavaScript reads it', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('1990-01-01'), max: new Date('2090-01-01'), noInvalidDate: true }),
        fc.integer({ min: -840, max: 840 }),
        (date, minutes) => {
          const shown = new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, -1)
          const size = Math.abs(minutes)
          const offset = `${minutes < 0 ? '-' : '+'}${String(Math.floor(size / 60)).padStart(2, '0')}:${String(size % 60).padStart(2, '0')}`
          return endInstant(`${shown}${offset}`, 'Europe/Berlin') === date.getTime()
        },
      ),
    )
  })
})

describe('since when', () => {
  const shanghai = (quote: string, said: string) => iso(saidOf(quote, at(said), 'Asia/Shanghai'))

  it('E2 BR-103 yesterday is the day before the message, whenever it is stored', () => {
    expect(shanghai('yesterday I moved to Berlin', '2024-03-10T12:00:00+08:00')).toBe('2024-03-08T16:00:00.000Z')
    expect(shanghai('昨天我搬到了柏林', '2024-03-10T12:00:00+08:00')).toBe('2024-03-08T16:00:00.000Z')
  })

  it('E2 BR-103 today is the day of the subject, not of the server', () => {
    expect(shanghai('today I started', '2026-03-29T00:30:00+08:00')).toBe('2026-03-28T16:00:00.000Z')
  })

  // 10 March 2024 was a Sunday
  it.each([
    ['I start next Friday', '2024-03-14T16:00:00.000Z'],
    ['since last monday', '2024-03-03T16:00:00.000Z'],
    ['下周三开始', '2024-03-12T16:00:00.000Z'],
    ['上周五搬家', '2024-02-29T16:00:00.000Z'],
    ['three days ago', '2024-03-06T16:00:00.000Z'],
    ['两周前', '2024-02-24T16:00:00.000Z'],
    ['one month ago', '2024-02-09T16:00:00.000Z'],
    ['后天出差', '2024-03-11T16:00:00.000Z'],
    ['on 2023-12-01 I joined', '2023-11-30T16:00:00.000Z'],
    ['I like tea', null],
  ])('E2 BR-103 %s', (quote, expected) => {
    expect(shanghai(quote, '2024-03-10T12:00:00+08:00')).toBe(expected)
  })

  it('E2 a day begins where clocks change as it does for who lives there', () => {
    expect(iso(saidOf('today', at('2024-03-31T12:00:00Z'), 'Europe/Berlin'))).toBe('2024-03-30T23:00:00.000Z')
    // midnight does not exist on this day: the day begins at one
    expect(iso(saidOf('today', at('2024-09-08T15:00:00Z'), 'America/Santiago'))).toBe('2024-09-08T04:00:00.000Z')
  })

  it('E4 a word for now is told from a word for always', () => {
    for (const quote of ['just for now', 'only this time, please', '这次用英文', '暂时不要'])
      expect(isPassing(quote)).toBe(true)
    for (const quote of ['from now on', '以后都用中文', 'always']) expect(isPassing(quote)).toBe(false)
  })
})
