/** The airports and the flights between them, in the order of the file. */
import type { Json } from '../../../src/kernel/json.ts'
import { dayOf, type Flight, type World } from './world.ts'

export const AIRPORTS: Json = {
  SFO: 'San Francisco',
  JFK: 'New York',
  LAX: 'Los Angeles',
  ORD: 'Chicago',
  DFW: 'Dallas',
  DEN: 'Denver',
  SEA: 'Seattle',
  ATL: 'Atlanta',
  MIA: 'Miami',
  BOS: 'Boston',
  PHX: 'Phoenix',
  IAH: 'Houston',
  LAS: 'Las Vegas',
  MCO: 'Orlando',
  EWR: 'Newark',
  CLT: 'Charlotte',
  MSP: 'Minneapolis',
  DTW: 'Detroit',
  PHL: 'Philadelphia',
  LGA: 'LaGuardia',
}

export type Route = { readonly origin: string; readonly destination: string; readonly date: string }

export function directFlights(world: World, { origin, destination, date }: Route): Json {
  return Object.values(world.base.flights)
    .filter((flight) => flight.origin === origin && flight.destination === destination && isAvailable(flight, date))
    .map((flight) => onDate(flight, date))
}

/** Pairs of flights with one stop. The second leg shows the entry of the asked date even where it flies a day later. */
export function onestopFlights(world: World, { origin, destination, date }: Route): Json {
  const flights = Object.values(world.base.flights)
  const pairs: Json[] = []
  for (const first of flights) {
    if (first.origin !== origin || !isAvailable(first, date)) continue
    const secondDate = first.scheduled_arrival_time_est.includes('+1') ? dayAfter(date) : date
    for (const second of flights) {
      if (second.origin !== first.destination || second.destination !== destination) continue
      // as text: `01:30:00+1` counts as before `02:00:00`
      if (first.scheduled_arrival_time_est > second.scheduled_departure_time_est) continue
      if (!isAvailable(second, secondDate)) continue
      pairs.push([
        { ...onDate(first, date), date },
        { ...onDate(second, date), date: secondDate },
      ])
    }
  }
  return pairs
}

/** The data covers one month; its days are written with two digits, and this one is not padded. */
function dayAfter(date: string): string {
  return `2024-05-${Number(date.slice(-2)) + 1}`
}

function isAvailable(flight: Flight, date: string): boolean {
  return dayOf(flight, date)?.status === 'available'
}

function onDate(flight: Flight, date: string): { [key: string]: Json } {
  const { dates: _, ...schedule } = flight
  return { ...schedule, ...dayOf(flight, date) }
}
