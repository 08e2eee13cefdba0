import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/kernel/json.ts'
import type { Answer } from './answer.ts'
import { ruleOf } from './tools.ts'
import { type Base, changesOf, type Flight, reservationOf, userOf, type World, worldOf } from './world.ts'

const day = (status: string, economy = 100, seats = 2) => ({
  status,
  ...(status === 'available' && {
    available_seats: { basic_economy: seats, economy: seats, business: 1 },
    prices: { basic_economy: 50, economy, business: 400 },
  }),
})
const flight = (flight_number: string, route: string, times: string, dates: Flight['dates']): Flight => {
  const [origin = '', destination = ''] = route.split('-')
  const [scheduled_departure_time_est = '', scheduled_arrival_time_est = ''] = times.split(' ')
  return { flight_number, origin, destination, scheduled_departure_time_est, scheduled_arrival_time_est, dates }
}
const ada = { first_name: 'Ada', last_name: 'Byron', dob: '1990-01-01' }
const BASE: Base = {
  flights: {
    F1: flight('F1', 'AAA-BBB', '06:00:00 23:30:00', { '2024-05-20': day('available') }),
    F2: flight('F2', 'AAA-BBB', '07:00:00 01:30:00+1', { '2024-05-20': day('available', 70) }),
    F3: flight('F3', 'BBB-CCC', '08:00:00 09:00:00', {
      '2024-05-20': day('flying'),
      '2024-05-21': day('available', 30),
    }),
  },
  reservations: {
    R1: {
      reservation_id: 'R1',
      user_id: 'u',
      origin: 'AAA',
      destination: 'BBB',
      flight_type: 'one_way',
      cabin: 'economy',
      flights: [{ flight_number: 'F1', date: '2024-05-20', price: 90, origin: 'AAA', destination: 'BBB' }],
      passengers: [ada],
      payment_history: [{ payment_id: 'gift', amount: 90 }],
      created_at: '2024-05-01T00:00:00',
      total_baggages: 1,
      nonfree_baggages: 0,
      insurance: 'no',
    },
  },
  users: {
    u: {
      name: {},
      address: {},
      email: 'ada@example.com',
      dob: '1990-01-01',
      payment_methods: {
        card: { source: 'credit_card', brand: 'visa', last_four: '1', id: 'card' },
        gift: { source: 'gift_card', amount: 60, id: 'gift' },
        cert: { source: 'certificate', amount: 40, id: 'cert' },
      },
      saved_passengers: [],
      membership: 'gold',
      reservations: ['R1'],
    },
  },
}
const START = worldOf(BASE)
const BOOKING = {
  user_id: 'u',
  origin: 'AAA',
  destination: 'BBB',
  flight_type: 'one_way',
  cabin: 'economy',
  flights: [{ flight_number: 'F1', date: '2024-05-20' }],
  passengers: [ada],
  payment_methods: [{ payment_id: 'card', amount: 100 }],
  total_baggages: 0,
  nonfree_baggages: 0,
  insurance: 'no',
}
const CHANGE = {
  reservation_id: 'R1',
  cabin: 'economy',
  flights: [{ flight_number: 'F2', date: '2024-05-20' }],
  payment_id: 'gift',
}
const BAGS = { reservation_id: 'R1', total_baggages: 3, nonfree_baggages: 1, payment_id: 'gift' }
const pay = (...payments: [string, number][]) => payments.map(([payment_id, amount]) => ({ payment_id, amount }))
const on = (flight_number: string, date = '2024-05-20') => [{ flight_number, date }]

function use(world: World, tool: string, args: JsonObject): Answer {
  const answer = ruleOf(tool)?.apply(world, args)
  if (!answer) throw new Error(`${tool} does not take this`)
  return answer
}

describe('what the airline refuses', () => {
  it.each<[string, JsonObject, string]>([
    ['get_user_details', { user_id: 'x' }, 'user not found'],
    ['get_user_details', { user_id: 'constructor' }, 'user not found'],
    ['get_reservation_details', { reservation_id: 'x' }, 'user not found'],
    ['send_certificate', { user_id: 'x', amount: 1 }, 'user not found'],
    ['book_reservation', { ...BOOKING, user_id: 'x' }, 'user not found'],
    ['book_reservation', { ...BOOKING, flights: on('F9') }, 'flight F9 not found'],
    ['book_reservation', { ...BOOKING, flights: on('F1', '2024-05-21') }, 'flight F1 not found on date 2024-05-21'],
    ['book_reservation', { ...BOOKING, flights: on('F3') }, 'flight F3 not available on date 2024-05-20'],
    ['book_reservation', { ...BOOKING, passengers: [ada, ada, ada] }, 'not enough seats on flight F1'],
    ['book_reservation', { ...BOOKING, payment_methods: pay(['x', 100]) }, 'payment method x not found'],
    [
      'book_reservation',
      { ...BOOKING, payment_methods: pay(['cert', 41]) },
      'not enough balance in payment method cert',
    ],
    [
      'book_reservation',
      { ...BOOKING, insurance: 'yes', nonfree_baggages: 1, payment_methods: pay(['card', 100.5]) },
      'payment amount does not add up, total price is 180, but paid 100.5',
    ],
    ['update_reservation_flights', { ...CHANGE, reservation_id: 'x' }, 'reservation not found'],
    ['update_reservation_flights', { ...CHANGE, flights: on('F9'), payment_id: 'x' }, 'flight F9 not found'],
    ['update_reservation_flights', { ...CHANGE, payment_id: 'x' }, 'payment method not found'],
    [
      'update_reservation_flights',
      { ...CHANGE, flights: on('F1'), payment_id: 'cert' },
      'certificate cannot be used to update reservation',
    ],
    ['update_reservation_flights', { ...CHANGE, cabin: 'business' }, 'gift card balance is not enough'],
    ['update_reservation_baggages', { ...BAGS, reservation_id: 'x' }, 'reservation not found'],
    ['update_reservation_baggages', { ...BAGS, nonfree_baggages: 2 }, 'gift card balance is not enough'],
    ['update_reservation_passengers', { reservation_id: 'R1', passengers: [] }, 'number of passengers does not match'],
    ['update_reservation_passengers', { reservation_id: 'x', passengers: [ada] }, 'reservation not found'],
    ['cancel_reservation', { reservation_id: 'x' }, 'reservation not found'],
  ])('O5 %s %j is refused before anything changes', (tool, args, text) => {
    expect(use(START, tool, args)).toEqual({ world: START, result: `Error: ${text}`, refused: true })
  })
})

describe('what the airline does', () => {
  it('O5 a booking debits the gift card, uses the certificate up and takes the next id', () => {
    const payment_methods = pay(['cert', 30], ['gift', 20], ['card', 50])
    const once = use(START, 'book_reservation', { ...BOOKING, payment_methods })
    expect(once.result).toMatchObject({ reservation_id: 'HATHAT', created_at: '2024-05-15T15:00:00' })
    const user = userOf(once.world, 'u')
    expect(Object.keys(user?.payment_methods ?? {})).toEqual(['card', 'gift'])
    expect(user).toMatchObject({ payment_methods: { gift: { amount: 40 } }, reservations: ['R1', 'HATHAT'] })
    const ids = [1, 2, 3].reduce(
      ({ world, ids }) => {
        const next = use(world, 'book_reservation', BOOKING)
        return { world: next.world, ids: [...ids, (next.result as { reservation_id: string }).reservation_id] }
      },
      { world: once.world, ids: [] as string[] },
    ).ids
    expect(ids).toEqual(['HATHAU', 'HATHAV', 'HATHAV'])
  })

  it('O5 a cheaper flight credits the gift card, a kept flight keeps its price, the cabin of the record stays', () => {
    const cheaper = use(START, 'update_reservation_flights', CHANGE)
    expect(userOf(cheaper.world, 'u')).toMatchObject({ payment_methods: { gift: { amount: 80 } } })
    expect(cheaper.result).toMatchObject({
      payment_history: pay(['gift', 90], ['gift', -20]),
      flights: [{ flight_number: 'F2', price: 70, origin: 'AAA', destination: 'BBB' }],
    })
    expect(changesOf(use(START, 'update_reservation_flights', { ...CHANGE, flights: on('F1') }).world)).toEqual({})
    const upgraded = use(START, 'update_reservation_flights', { ...CHANGE, cabin: 'business', payment_id: 'card' })
    expect(upgraded.result).toMatchObject({ cabin: 'economy', flights: [{ price: 400 }] })
  })

  it('O5 bags that are given up are not paid back', () => {
    const more = use(START, 'update_reservation_baggages', BAGS)
    expect(userOf(more.world, 'u')).toMatchObject({ payment_methods: { gift: { amount: 10 } } })
    const fewer = use(more.world, 'update_reservation_baggages', { ...BAGS, nonfree_baggages: 0 })
    expect(fewer.result).toMatchObject({ nonfree_baggages: 0, payment_history: pay(['gift', 90], ['gift', 50]) })
  })

  it('O5 three certificates can be sent, each with its own id', () => {
    const sent = [10, 20, 30].reduce(
      (world, amount) => use(world, 'send_certificate', { user_id: 'u', amount }).world,
      START,
    )
    const methods = userOf(sent, 'u')?.payment_methods
    expect(methods?.certificate_3221324).toEqual({ source: 'certificate', amount: 30, id: 'certificate_3221324' })
    expect(use(sent, 'send_certificate', { user_id: 'u', amount: 1 }).refused).toBe(true)
  })

  it('O5 a second leg after midnight flies a day later and shows the entry of the asked day', () => {
    const pairs = use(START, 'search_onestop_flight', { origin: 'AAA', destination: 'CCC', date: '2024-05-20' })
    expect(pairs.result).toMatchObject([
      [
        { flight_number: 'F2', date: '2024-05-20' },
        { status: 'flying', date: '2024-05-21' },
      ],
    ])
  })

  it('O5 a change makes a new world and leaves the old one as it was', () => {
    const cancelled = use(START, 'cancel_reservation', { reservation_id: 'R1' }).world
    expect(reservationOf(cancelled, 'R1')).toMatchObject({ status: 'cancelled' })
    expect(reservationOf(START, 'R1')).not.toHaveProperty('status')
    expect(changesOf(START)).toEqual({})
  })

  it('I3 arguments of another shape are no call at all', () => {
    expect(ruleOf('book_reservation')?.apply(START, { ...BOOKING, cabin: 'first' })).toBeNull()
    expect(ruleOf('update_reservation_baggages')?.apply(START, { ...BAGS, total_baggages: 1.5 })).toBeNull()
    expect(ruleOf('toString')).toBeUndefined()
  })
})
