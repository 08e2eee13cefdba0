/** What a flight costs and how a change of a reservation is paid. Dollars throughout; a refusal is its text. */
import {
  type Cabin,
  dayOf,
  flightOf,
  type Leg,
  methodOf,
  type Reservation,
  userOf,
  type World,
  withReservation,
  withUser,
} from './world.ts'

export const BAG_DOLLARS = 50
export const INSURANCE_DOLLARS = 30

export type WantedFlight = { readonly flight_number: string; readonly date: string }

/** The leg at today's price, or why it cannot be sold to so many passengers. */
export function pricedLeg(world: World, wanted: WantedFlight, cabin: Cabin, passengers: number): Leg | string {
  const { flight_number, date } = wanted
  const flight = flightOf(world, flight_number)
  if (!flight) return `Error: flight ${flight_number} not found`
  const day = dayOf(flight, date)
  if (!day) return `Error: flight ${flight_number} not found on date ${date}`
  if (day.status !== 'available' || !day.available_seats || !day.prices) {
    return `Error: flight ${flight_number} not available on date ${date}`
  }
  if (day.available_seats[cabin] < passengers) return `Error: not enough seats on flight ${flight_number}`
  return { flight_number, date, price: day.prices[cabin], origin: flight.origin, destination: flight.destination }
}

/**
 * Stores the changed reservation and takes `charge` from the payment method; a negative charge goes back to a gift
 * card. A certificate is refused even where nothing is to pay.
 */
export function payForChange(
  world: World,
  changed: Reservation,
  paymentId: string,
  charge: number,
): { readonly world: World; readonly reservation: Reservation } | string {
  const user = userOf(world, changed.user_id)
  const method = user && methodOf(user, paymentId)
  if (!method) return 'Error: payment method not found'
  if (method.source === 'certificate') return 'Error: certificate cannot be used to update reservation'
  if (method.source === 'gift_card' && method.amount < charge) return 'Error: gift card balance is not enough'
  const reservation =
    charge === 0
      ? changed
      : { ...changed, payment_history: [...changed.payment_history, { payment_id: paymentId, amount: charge }] }
  const stored = withReservation(world, reservation)
  if (method.source !== 'gift_card') return { world: stored, reservation }
  const payment_methods = { ...user.payment_methods, [paymentId]: { ...method, amount: method.amount - charge } }
  return { world: withUser(stored, changed.user_id, { ...user, payment_methods }), reservation }
}
