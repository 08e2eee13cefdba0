import { describe, expect, it } from 'vitest'
import { countsOf } from './conversations.ts'
import { AIRLINE_DATA, hasAirlineData, readBase, readConversations, readTasks } from './data.ts'
import { judge } from './judge.ts'
import { replay } from './replay.ts'
import { isWrite } from './rules/tools.ts'
import { sameResult, sameValue } from './value.ts'

const present = hasAirlineData()
if (!present) console.log(`skipped: no recorded airline in ${AIRLINE_DATA}`)

describe.skipIf(!present)('the recorded airline', () => {
  const base = present ? readBase() : { flights: {}, reservations: {}, users: {} }
  const conversations = present ? readConversations() : []
  const replays = conversations.map((conversation) => ({ conversation, ...replay(base, conversation) }))
  const calls = replays.flatMap((one) => one.calls)

  it('O5 the recording is cut into turns without losing or inventing a message', () => {
    expect(countsOf(conversations)).toEqual({
      conversations: 100,
      userMessages: 860,
      turns: 780,
      ends: { text: 760, transfer: 18, tool_result: 2 },
      closers: 80,
      stopClosers: 79,
      calls: 621,
      textBesideCall: 45,
      conversationsRepeatingIds: 25,
      turnsRepeatingIds: 7,
      longestTurn: 26,
      mostEqualCalls: 4,
      mostEqualRefusals: 5,
      rewarded: 31,
    })
  })

  it('O5 the rules reproduce every recorded result by value', () => {
    const different = calls.filter((call) => !sameResult(call.recorded, call.result))
    expect(different.map(({ tool, recorded, result }) => ({ tool, recorded, result }))).toEqual([])
    expect(calls).toHaveLength(621)
    const sentences = calls.filter((call) => typeof call.result === 'string')
    expect(sentences.filter((call) => call.result !== call.recorded)).toEqual([])
  })

  it('O5 of 149 writes 86 are effects, two of them without a change, and 63 are refused', () => {
    const writes = calls.filter((call) => isWrite(call.tool))
    const effects = writes.filter((call) => call.effect)
    expect([writes.length, effects.length, effects.filter((call) => !call.changed).length]).toEqual([149, 86, 2])
    const refused = writes.filter((call) => call.recorded.startsWith('Error: '))
    expect(refused).toHaveLength(63)
    expect(refused.some((call) => call.effect)).toBe(false)
  })

  const effects = replays.flatMap(({ conversation, calls }) =>
    calls.filter((call) => call.effect).map((call) => ({ conversation: conversation.id, ...call })),
  )
  const changes = new Map(replays.map((one) => [one.conversation.id, one.changes]))

  it('O5 the judge finds a faithful replay faithful, and 31 rewarded conversations as their tasks expect', () => {
    const verdict = judge({ base, conversations, effects, changes, tasks: readTasks() })
    expect(verdict).toEqual({
      conversations: 100,
      effects: 86,
      duplicateEffects: 0,
      missingEffects: 0,
      finalStateEqual: 100,
      finalStateDifferent: 0,
      rewardedEqual: 31,
      differing: [],
    })
  })

  it('O2 the judge counts an effect that is done twice, one that is lost and one that nobody asked for', () => {
    const [first, second, ...rest] = effects
    if (!first || !second) throw new Error('no effects')
    const stray = { ...first, conversation: 'nobody' }
    const verdict = judge({ base, conversations, effects: [first, first, ...rest, stray], changes })
    expect(verdict).toMatchObject({ effects: 87, duplicateEffects: 2, missingEffects: 1, finalStateEqual: 100 })
    expect(verdict.differing).toEqual([...new Set([first.conversation, second.conversation])])
  })

  it('O2 a conversation that was stopped may have done less, and never more', () => {
    const [first, ...rest] = effects
    if (!first) throw new Error('no effects')
    const stopped = [first.conversation]
    const less = judge({ base, conversations, effects: rest, changes, stopped })
    expect(less).toMatchObject({ duplicateEffects: 0, missingEffects: 0, finalStateEqual: 99, differing: [] })
    const more = judge({ base, conversations, effects: [first, first, ...rest], changes, stopped })
    expect(more).toMatchObject({ duplicateEffects: 1, missingEffects: 0, differing: stopped })
  })

  it('O2 a booking that the recording makes twice with equal arguments is no duplicate', () => {
    const twice = replays.find(({ conversation }) => conversation.id === 'task00-trial3')
    const bookings = twice?.calls.filter((call) => call.tool === 'book_reservation' && call.effect) ?? []
    expect(bookings.length).toBeGreaterThan(new Set(bookings.map((call) => call.argsHash)).size)
  })

  it('O2 the judge sees a final state that differs', () => {
    const id = effects[0]?.conversation ?? ''
    const verdict = judge({ base, conversations, effects, changes: new Map([...changes, [id, {}]]) })
    expect(verdict).toMatchObject({ finalStateEqual: 99, finalStateDifferent: 1, differing: [id] })
  })

  it('O5 a replay leaves the shared base untouched', () => {
    expect(sameValue(base, readBase())).toBe(true)
  })
})
