/** The rows of `npm run large`: a list of orders as a shop has it, each made from its number. */

/** What the model may read of the result. */
export const MODEL_BYTES = 8 * 1024

const CITIES = ['Aachen', 'Bergen', 'Cork', 'Delft', 'Espoo', 'Faro', 'Ghent', 'Hvar']

const rowOf = (i: number) => ({
  id: `order-${String(i).padStart(7, '0')}`,
  customer: `customer ${(i * 7919) % 50_021}`,
  city: CITIES[i % CITIES.length] ?? '',
  // one order is a mistake, and must be seen
  cents: i === 77 ? 99_000_000 : (i * 104_729) % 25_000,
  paid: i % 3 !== 0,
  note: i % 11 === 0 ? null : `delivered to door ${i % 97}, left with a neighbour`,
})

export function* rowsOf(count: number): Generator<ReturnType<typeof rowOf>> {
  for (let i = 0; i < count; i++) yield rowOf(i)
}

export function* linesOf(count: number): Generator<string> {
  for (const row of rowsOf(count)) yield `${JSON.stringify(row)}\n`
}
