import { describe, expect, inject, it } from 'vitest'
import { join } from 'node:path'
import { AIRLINE_DATA, hasAirlineData } from './data.ts'
import { fly, type FlightOptions } from './flight.ts'

const present = hasAirlineData()
if (!present) console.log(`skipped: no recorded airline in ${AIRLINE_DATA}`)
const server = inject('postgres')

/** Two equal bookings, a cancellation, a certificate, changes, a transfer, and a recording that stops early. */
const SOME = ['task00-trial3', 'task01-trial1', 'task16-trial3', 'task06-trial0', 'task12-trial1', 'task02-trial0']

const options: FlightOptions = {
  data: AIRLINE_DATA,
  transcripts: join(AIRLINE_DATA, 'transcripts.jsonl'),
  tasks: join(AIRLINE_DATA, 'tasks.json'),
  workers: 2,
  crash: 0,
  restarts: 0,
  timeouts: 0,
  breaker: 'raised',
  parallel: 6,
  keep: false,
  say: () => {},
}

describe.skipIf(!present)('recorded conversations through the app plane', () => {
  it.skipIf(!server)(
    'O5 J5 L3 a worker killed inside an effect changes nothing of what the airline saw',
    { timeout: 120_000 },
    async () => {
      const { figures, complaints } = await fly({ ...options, only: SOME, db: server, crash: 1 })
      expect({ complaints, clues: figures.clues }).toEqual({ complaints: [], clues: [] })
      expect(figures).toMatchObject({
        conversations: 6,
        duplicateEffects: 0,
        missingEffects: 0,
        finalStateEqual: 6,
        kills: 1,
        killsInsideEffect: 1,
        rewardedEqual: 4,
      })
    },
  )

  it('O5 B2 the default breaker stops the recorded repetition, and nobody else, on the embedded store', {
    timeout: 120_000,
  }, async () => {
    const { figures, complaints } = await fly({
      ...options,
      only: ['task11-trial2', 'task12-trial1'],
      breaker: 'default',
    })
    expect({ complaints, clues: figures.clues }).toEqual({ complaints: [], clues: [] })
    expect(figures).toMatchObject({
      conversations: 2,
      finalStateEqual: 1,
      broken: ['task11-trial2'],
      endings: { handed_over: 1, repeated_action: 1 },
    })
  })
})
