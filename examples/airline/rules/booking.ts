/** A new reservation: every check first, then the payments, then the record. */
import { type Answer, answered, refused } from './answer.ts'
import { BAG_DOLLARS, INSURANCE_DOLLARS, pricedLeg, type WantedFlight } from './pricing.ts'
import { numberText } from './python.ts'
import {
  type Cabin,
  type Leg,
  methodOf,
  type Passenger,
  type Payment,
  type PaymentMethod,
  reservationOf,
  type User,
  userOf,
  type World,
  withReservation,
  withUser,
} from './world.ts'

export type Booking = {
  readonly user_id: string
  readonly origin: string
  readonly destination: string
  readonly flight_type: string
  readonly cabin: Cabin
  readonly flights: readonly WantedFlight[]
  readonly passengers: readonly Passenger[]
  readonly payment_methods: readonly Payment[]
  readonly total_baggages: number
  readonly nonfree_baggages: number
  readonly insurance: string
}

/** The clock of the data stands still, so ids and times are the same in every replay. */
const NOW = '2024-05-15T15:00:00'

export function bookReservation(world: World, booking: Booking): Answer {
  const user = userOf(world, booking.user_id)
  if (!user) return refused(world, 'Error: user not found')
  const flights: Leg[] = []
  for (const wanted of booking.flights) {
    const leg = pricedLeg(world, wanted, booking.cabin, booking.passengers.length)
    if (typeof leg === 'string') return refused(world, leg)
    flights.push(leg)
  }
  const problem = unpayable(user, booking, totalOf(booking, flights))
  if (problem) return refused(world, problem)

  const reservation_id = freeId(world)
  const { payment_methods, ...rest } = booking
  const reservation = { reservation_id, ...rest, flights, payment_history: payment_methods, created_at: NOW }
  const paid = withUser(world, booking.user_id, {
    ...user,
    payment_methods: debited(user.payment_methods, payment_methods),
    reservations: [...user.reservations, reservation_id],
  })
  return answered(withReservation(paid, reservation), reservation)
}

function totalOf({ passengers, insurance, nonfree_baggages }: Booking, flights: readonly Leg[]): number {
  const perPassenger = flights.reduce((sum, leg) => sum + leg.price, insurance === 'yes' ? INSURANCE_DOLLARS : 0)
  return perPassenger * passengers.length + nonfree_baggages * BAG_DOLLARS
}

function unpayable(user: User, { payment_methods }: Booking, total: number): string | null {
  let paid = 0
  for (const { payment_id, amount } of payment_methods) {
    const method = methodOf(user, payment_id)
    if (!method) return `Error: payment method ${payment_id} not found`
    if (method.source !== 'credit_card' && method.amount < amount) {
      return `Error: not enough balance in payment method ${payment_id}`
    }
    paid += amount
  }
  if (paid === total) return null
  return `Error: payment amount does not add up, total price is ${numberText(total)}, but paid ${numberText(paid)}`
}

/** A gift card keeps what is left; a certificate is used up whatever is left. */
function debited(methods: User['payment_methods'], payments: readonly Payment[]): User['payment_methods'] {
  const left = new Map<string, PaymentMethod>(Object.entries(methods))
  for (const { payment_id, amount } of payments) {
    const method = left.get(payment_id)
    if (method?.source === 'gift_card') left.set(payment_id, { ...method, amount: method.amount - amount })
    if (method?.source === 'certificate') left.delete(payment_id)
  }
  return Object.fromEntries(left)
}

/** Three ids exist; a fourth booking takes the last one again. */
function freeId(world: World): string {
  return ['HATHAT', 'HATHAU'].find((id) => !reservationOf(world, id)) ?? 'HATHAV'
}
