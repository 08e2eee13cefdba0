/** How each write is shown to the person who confirms it, and on which record it stands. */
import type { JsonObject } from '../../src/kernel/json.ts'
import type { Booking } from './rules/booking.ts'
import type { BaggageChange, FlightChange, PassengerChange } from './rules/changes.ts'
import type { WantedFlight } from './rules/pricing.ts'

export interface Change {
  readonly resource: 'user' | 'reservation'
  /** Whether the owner's payment method takes part, so that its balance belongs to the version. */
  readonly paid: boolean
  /** Whether the airline deduplicates it by an idempotency key. */
  readonly keyed: boolean
  /** One sentence from arguments that match the schema of the tool. */
  readonly summary: (args: JsonObject) => string
}

const CHANGES: { readonly [tool: string]: Change } = {
  book_reservation: change<Booking>('user', {}, (booking) => {
    const dollars = booking.payment_methods.reduce((sum, payment) => sum + payment.amount, 0)
    const trip = `${booking.origin} to ${booking.destination}, ${flightsText(booking.flights)}`
    return `Book ${trip}, ${booking.cabin}, for ${counted(booking.passengers.length, 'passenger')}: ${dollars} dollars`
  }),
  send_certificate: change<{ user_id: string; amount: number }>('user', {}, ({ user_id, amount }) => {
    return `Send ${user_id} a certificate of ${amount} dollars`
  }),
  cancel_reservation: change<{ reservation_id: string }>('reservation', { keyed: false }, ({ reservation_id }) => {
    return `Cancel reservation ${reservation_id}`
  }),
  update_reservation_flights: change<FlightChange>('reservation', { paid: true }, (wanted) => {
    const flights = `${flightsText(wanted.flights)}, ${wanted.cabin}`
    return `Change reservation ${wanted.reservation_id} to ${flights}, paid with ${wanted.payment_id}`
  }),
  update_reservation_baggages: change<BaggageChange>('reservation', { paid: true }, (wanted) => {
    const bags = `${counted(wanted.total_baggages, 'bag')}, ${wanted.nonfree_baggages} of them not free`
    return `Change reservation ${wanted.reservation_id} to ${bags}, paid with ${wanted.payment_id}`
  }),
  update_reservation_passengers: change<PassengerChange>('reservation', {}, ({ reservation_id, passengers }) => {
    const names = passengers.map((passenger) => `${passenger.first_name} ${passenger.last_name}`)
    return `Change the passengers of reservation ${reservation_id} to ${names.join(', ')}`
  }),
}

/** Undefined for a tool that only reads. */
export function changeOf(tool: string): Change | undefined {
  return Object.hasOwn(CHANGES, tool) ? CHANGES[tool] : undefined
}

function change<Args>(
  resource: Change['resource'],
  { paid = false, keyed = true }: { readonly paid?: boolean; readonly keyed?: boolean },
  summary: (args: Args) => string,
): Change {
  // the contract has checked the arguments against the schema that has this shape
  return { resource, paid, keyed, summary: (args) => summary(args as Args) }
}

function flightsText(flights: readonly WantedFlight[]): string {
  return flights.map(({ flight_number, date }) => `${flight_number} on ${date}`).join(' and ')
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
