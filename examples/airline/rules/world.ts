/**
 * The airline's world: flights, reservations and users, as values.
 *
 * A world is the shared base and the few records that differ from it. A change makes a new world and leaves the old one
 * as it was, so a hundred conversations start from the same base without a copy of it.
 */
import type { JsonObject } from '../../../src/kernel/json.ts'
import { sameValue } from '../value.ts'

export type Cabin = 'basic_economy' | 'economy' | 'business'
type PerCabin = { readonly [cabin in Cabin]: number }

/** A flight on one date. Seats and prices, in dollars, are there only while it is `available`. */
export type FlightDay = {
  readonly status: string
  readonly available_seats?: PerCabin
  readonly prices?: PerCabin
}
export type Flight = {
  readonly flight_number: string
  readonly origin: string
  readonly destination: string
  readonly scheduled_departure_time_est: string
  readonly scheduled_arrival_time_est: string
  readonly dates: { readonly [date: string]: FlightDay }
}

export type Leg = {
  readonly flight_number: string
  readonly date: string
  readonly price: number
  readonly origin: string
  readonly destination: string
}
export type Passenger = { readonly first_name: string; readonly last_name: string; readonly dob: string }
/** Dollars; a negative amount is a refund. */
export type Payment = { readonly payment_id: string; readonly amount: number }
export type Reservation = {
  readonly reservation_id: string
  readonly user_id: string
  readonly origin: string
  readonly destination: string
  readonly flight_type: string
  readonly cabin: Cabin
  readonly flights: readonly Leg[]
  readonly passengers: readonly Passenger[]
  readonly payment_history: readonly Payment[]
  readonly created_at: string
  readonly total_baggages: number
  readonly nonfree_baggages: number
  readonly insurance: string
  readonly status?: 'cancelled'
}

export type PaymentMethod =
  | { readonly source: 'credit_card'; readonly brand: string; readonly last_four: string; readonly id: string }
  | { readonly source: 'gift_card' | 'certificate'; readonly amount: number; readonly id: string }
export type User = {
  readonly name: JsonObject
  readonly address: JsonObject
  readonly email: string
  readonly dob: string
  readonly payment_methods: { readonly [id: string]: PaymentMethod }
  readonly saved_passengers: readonly Passenger[]
  readonly membership: string
  readonly reservations: readonly string[]
}

/** What every conversation starts from: the three files of the data, as they are. */
export type Base = {
  readonly flights: { readonly [number: string]: Flight }
  readonly reservations: { readonly [id: string]: Reservation }
  readonly users: { readonly [id: string]: User }
}

export type World = {
  readonly base: Base
  readonly reservations: ReadonlyMap<string, Reservation>
  readonly users: ReadonlyMap<string, User>
}

export function worldOf(base: Base): World {
  return { base, reservations: new Map(), users: new Map() }
}

/** Only what the file itself holds: a name such as `constructor` is not a record. */
function own<T>(records: { readonly [key: string]: T }, key: string): T | undefined {
  return Object.hasOwn(records, key) ? records[key] : undefined
}

export function flightOf(world: World, number: string): Flight | undefined {
  return own(world.base.flights, number)
}

export function dayOf(flight: Flight, date: string): FlightDay | undefined {
  return own(flight.dates, date)
}

export function reservationOf(world: World, id: string): Reservation | undefined {
  return world.reservations.get(id) ?? own(world.base.reservations, id)
}

export function userOf(world: World, id: string): User | undefined {
  return world.users.get(id) ?? own(world.base.users, id)
}

export function methodOf(user: User, id: string): PaymentMethod | undefined {
  return own(user.payment_methods, id)
}

export function withReservation(world: World, reservation: Reservation): World {
  return { ...world, reservations: new Map(world.reservations).set(reservation.reservation_id, reservation) }
}

export function withUser(world: World, id: string, user: User): World {
  return { ...world, users: new Map(world.users).set(id, user) }
}

type Change<T> = { readonly before: T | null; readonly after: T }
/** The part of a world that differs from its base by value. A kind without a difference is absent. */
export type Changes = {
  readonly reservations?: { readonly [id: string]: Change<Reservation> }
  readonly users?: { readonly [id: string]: Change<User> }
}

export function changesOf(world: World): Changes {
  const reservations = differing(world.reservations, world.base.reservations)
  const users = differing(world.users, world.base.users)
  return { ...(reservations && { reservations }), ...(users && { users }) }
}

function differing<T>(
  now: ReadonlyMap<string, T>,
  base: { readonly [id: string]: T },
): { readonly [id: string]: Change<T> } | null {
  const changes: [string, Change<T>][] = []
  for (const [id, after] of now) {
    const before = own(base, id) ?? null
    if (!sameValue(before, after)) changes.push([id, { before, after }])
  }
  return changes.length === 0 ? null : Object.fromEntries(changes)
}
