/** The fourteen tools by name: what each takes, what it does to a world, and how serious that is. */
import { z } from 'zod'
import type { JsonObject } from '../../../src/kernel/json.ts'
import type { EffectLevel } from '../../../src/tool/contract.ts'
import { type Answer, answered, refused } from './answer.ts'
import { bookReservation } from './booking.ts'
import { calculate } from './calculate.ts'
import { sendCertificate } from './certificate.ts'
import { cancelReservation, updateBaggages, updateFlights, updatePassengers } from './changes.ts'
import { AIRPORTS, directFlights, onestopFlights } from './search.ts'
import { reservationOf, userOf, type World } from './world.ts'

export interface Rule {
  readonly effect: EffectLevel
  /** Null when the arguments have not the shape of this tool. */
  readonly apply: (world: World, args: JsonObject) => Answer | null
}

function rule<Shape extends z.ZodType>(
  effect: EffectLevel,
  shape: Shape,
  apply: (world: World, args: z.output<Shape>) => Answer,
): Rule {
  return {
    effect,
    apply: (world, args) => {
      const parsed = shape.safeParse(args)
      return parsed.success ? apply(world, parsed.data) : null
    },
  }
}

const text = z.string()
const count = z.int()
const cabin = z.enum(['basic_economy', 'economy', 'business'])
// a recorded call also sends the airports of a flight; they are read from the flight itself
const flights = z.array(z.object({ flight_number: text, date: text }))
const passengers = z.array(z.object({ first_name: text, last_name: text, dob: text }))
const route = z.object({ origin: text, destination: text, date: text })
const reservation = z.object({ reservation_id: text })

export const RULES: { readonly [name: string]: Rule } = {
  get_user_details: rule('read', z.object({ user_id: text }), (world, { user_id }) => {
    const user = userOf(world, user_id)
    return user ? answered(world, user) : refused(world, 'Error: user not found')
  }),
  // the recorded tool says `user` here too
  get_reservation_details: rule('read', reservation, (world, { reservation_id }) => {
    const found = reservationOf(world, reservation_id)
    return found ? answered(world, found) : refused(world, 'Error: user not found')
  }),
  list_all_airports: rule('read', z.object({}), (world) => answered(world, AIRPORTS)),
  search_direct_flight: rule('read', route, (world, args) => answered(world, directFlights(world, args))),
  search_onestop_flight: rule('read', route, (world, args) => answered(world, onestopFlights(world, args))),
  calculate: rule('read', z.object({ expression: text }), (world, { expression }) => {
    const outcome = calculate(expression)
    return outcome.startsWith('Error: ') ? refused(world, outcome) : answered(world, outcome)
  }),
  think: rule('read', z.object({ thought: text }), (world) => answered(world, '')),
  transfer_to_human_agents: rule('read', z.object({ summary: text }), (world) =>
    answered(world, 'Transfer successful'),
  ),
  send_certificate: rule('irreversible', z.object({ user_id: text, amount: z.number() }), sendCertificate),
  book_reservation: rule(
    'irreversible',
    z.object({
      user_id: text,
      origin: text,
      destination: text,
      flight_type: z.enum(['one_way', 'round_trip']),
      cabin,
      flights,
      passengers,
      payment_methods: z.array(z.object({ payment_id: text, amount: z.number() })),
      total_baggages: count,
      nonfree_baggages: count,
      insurance: z.enum(['yes', 'no']),
    }),
    bookReservation,
  ),
  cancel_reservation: rule('irreversible', reservation, cancelReservation),
  update_reservation_flights: rule(
    'write',
    z.object({ reservation_id: text, cabin, flights, payment_id: text }),
    updateFlights,
  ),
  update_reservation_baggages: rule(
    'write',
    z.object({ reservation_id: text, total_baggages: count, nonfree_baggages: count, payment_id: text }),
    updateBaggages,
  ),
  update_reservation_passengers: rule('write', z.object({ reservation_id: text, passengers }), updatePassengers),
}

export function ruleOf(name: string): Rule | undefined {
  return Object.hasOwn(RULES, name) ? RULES[name] : undefined
}

/** A write in the sense of the judge: anything above `read`. */
export function isWrite(name: string): boolean {
  const known = ruleOf(name)
  return known !== undefined && known.effect !== 'read'
}
