/** Changes of a reservation: its flights, its bags, its passengers, its end. */
import { type Answer, answered, refused } from './answer.ts'
import { BAG_DOLLARS, payForChange, pricedLeg, type WantedFlight } from './pricing.ts'
import {
  type Cabin,
  type Leg,
  type Passenger,
  type Reservation,
  reservationOf,
  type World,
  withReservation,
} from './world.ts'

const NO_RESERVATION = 'Error: reservation not found'

export type FlightChange = {
  readonly reservation_id: string
  readonly cabin: Cabin
  readonly flights: readonly WantedFlight[]
  readonly payment_id: string
}

/** A flight that stays keeps its price. The reservation's own `cabin` stays as it was: so the recorded tool does it. */
export function updateFlights(world: World, change: FlightChange): Answer {
  const reservation = reservationOf(world, change.reservation_id)
  if (!reservation) return refused(world, NO_RESERVATION)
  const flights: Leg[] = []
  for (const wanted of change.flights) {
    const leg =
      keptLeg(reservation, wanted, change.cabin) ??
      pricedLeg(world, wanted, change.cabin, reservation.passengers.length)
    if (typeof leg === 'string') return refused(world, leg)
    flights.push(leg)
  }
  const charge = (sumOf(flights) - sumOf(reservation.flights)) * reservation.passengers.length
  return paid(world, { ...reservation, flights }, change.payment_id, charge)
}

function keptLeg(reservation: Reservation, wanted: WantedFlight, cabin: Cabin): Leg | undefined {
  if (reservation.cabin !== cabin) return undefined
  return reservation.flights.find((leg) => leg.flight_number === wanted.flight_number && leg.date === wanted.date)
}

function sumOf(flights: readonly Leg[]): number {
  return flights.reduce((sum, leg) => sum + leg.price, 0)
}

export type BaggageChange = {
  readonly reservation_id: string
  readonly total_baggages: number
  readonly nonfree_baggages: number
  readonly payment_id: string
}

/** Bags that are given up are not paid back. */
export function updateBaggages(world: World, change: BaggageChange): Answer {
  const reservation = reservationOf(world, change.reservation_id)
  if (!reservation) return refused(world, NO_RESERVATION)
  const { total_baggages, nonfree_baggages } = change
  const charge = BAG_DOLLARS * Math.max(0, nonfree_baggages - reservation.nonfree_baggages)
  return paid(world, { ...reservation, total_baggages, nonfree_baggages }, change.payment_id, charge)
}

function paid(world: World, changed: Reservation, paymentId: string, charge: number): Answer {
  const outcome = payForChange(world, changed, paymentId, charge)
  return typeof outcome === 'string' ? refused(world, outcome) : answered(outcome.world, outcome.reservation)
}

export type PassengerChange = { readonly reservation_id: string; readonly passengers: readonly Passenger[] }

export function updatePassengers(world: World, { reservation_id, passengers }: PassengerChange): Answer {
  const reservation = reservationOf(world, reservation_id)
  if (!reservation) return refused(world, NO_RESERVATION)
  if (reservation.passengers.length !== passengers.length) {
    return refused(world, 'Error: number of passengers does not match')
  }
  const changed = { ...reservation, passengers }
  return answered(withReservation(world, changed), changed)
}

/** Gives every payment back, and does so again when called again: a double cancellation shows. */
export function cancelReservation(world: World, { reservation_id }: { readonly reservation_id: string }): Answer {
  const reservation = reservationOf(world, reservation_id)
  if (!reservation) return refused(world, NO_RESERVATION)
  const refunds = reservation.payment_history.map((payment) => ({ ...payment, amount: -payment.amount }))
  const changed: Reservation = {
    ...reservation,
    payment_history: [...reservation.payment_history, ...refunds],
    status: 'cancelled',
  }
  return answered(withReservation(world, changed), changed)
}
