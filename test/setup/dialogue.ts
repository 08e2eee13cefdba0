/**
 * Long conversations of two people, made from templates, in the shape that `npm run recall` reads. Each kind of question
 * needs one thing of the index: another form of a word, who said it, on which day, or what the neighbour said.
 */
export interface Doc {
  readonly id: string
  readonly scope: string
  readonly speaker: string
  readonly at: string
  readonly order: number
  readonly text: string
}
export interface Query {
  readonly id: string
  readonly scope: string
  readonly text: string
  readonly category: string
  readonly relevant: readonly string[]
}

const PEOPLE = [
  ['Caroline', 'Marcus'],
  ['Priya', 'Joan'],
  ['Tobias', 'Nate'],
  ['Mei', 'Andrew'],
] as const
/** What somebody does, in the form of a question, of an answer, and as a thing. */
const ACTS = [
  ['paint', 'painting', 'a sunset over the lake'],
  ['bake', 'baked', 'sourdough with walnuts'],
  ['adopt', 'adopted', 'a shy beagle'],
  ['climb', 'climbing', 'the old quarry wall'],
  ['compose', 'composed', 'a short piano piece'],
  ['repair', 'repairing', 'my grandfather’s radio'],
  ['volunteer', 'volunteered', 'at the animal shelter'],
  ['study', 'studied', 'marine biology'],
  ['carve', 'carving', 'a wooden owl'],
  ['visit', 'visited', 'the lighthouse museum'],
  ['organize', 'organizing', 'a street festival'],
  ['knit', 'knitting', 'a striped scarf'],
  ['sail', 'sailed', 'around the small islands'],
  ['teach', 'teaching', 'a pottery class'],
  ['photograph', 'photographed', 'migrating cranes'],
  ['plant', 'planted', 'cherry trees'],
] as const
const TOPICS =
  'weather traffic neighbours dinner work sleep coffee music weekend phone garden train kitchen market'.split(' ')
const FILL = [
  (t: string) => `How was the ${t} for you today?`,
  (t: string) => `Honestly the ${t} has been on my mind, it was quite a day.`,
  (t: string) => `Same here, the ${t} never gets easier, but we manage.`,
  (t: string) => `That sounds lovely, tell me more about the ${t} when we meet.`,
  (t: string) => `I talked with a friend about the ${t} and we laughed a lot.`,
  (t: string) => `Good point. I should think about the ${t} differently.`,
] as const
const MONTHS = 'January February March April May June July August September October November December'.split(' ')

/** mulberry32: the same numbers on each machine. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % below
  }
}

/** About 600 turns for each of four pairs, in sessions on different days. */
export function dialogues(seed = 7): { readonly docs: readonly Doc[]; readonly queries: readonly Query[] } {
  const docs: Doc[] = []
  const queries: Query[] = []
  PEOPLE.forEach((pair, number) => {
    const below = numbers(seed * 101 + number)
    const scope = `conv_${number}`
    let order = 0
    const say = (speaker: string, at: string, text: string) => {
      docs.push({ id: `${scope}.${order}`, scope, speaker, at, order, text })
      return `${scope}.${order++}`
    }
    const ask = (category: string, text: string, relevant: readonly string[]) =>
      queries.push({ id: `${scope}.q${queries.length}`, scope, text, category, relevant })
    for (let session = 0; session < 20; session++) {
      const month = below(12) + 1
      const day = below(28) + 1
      const at = `2023-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}T18:${10 + below(40)}:00`
      const chat = (turns: number) => {
        for (let i = 0; i < turns; i++)
          say(pair[i % 2] as string, at, (FILL[below(6)] as (t: string) => string)(TOPICS[below(14)] as string))
      }
      chat(6 + below(4))
      const [verb, form, thing] = ACTS[below(16)] as (typeof ACTS)[number]
      const [who, other] = below(2) === 0 ? pair : [pair[1], pair[0]]
      const told = say(who, at, `Guess what, I spent the afternoon ${form} ${thing}.`)
      chat(5 + below(4))
      const [verb2, , thing2] = ACTS[below(16)] as (typeof ACTS)[number]
      say(other, at, `What did your ${['sister', 'cousin', 'uncle', 'boss'][below(4)]} ${verb2} last month?`)
      const answered = say(who, at, `Mostly ${thing2}, and everybody was proud.`)
      chat(8 + below(4))
      const meal = ['ramen', 'paella', 'pierogi', 'dumplings', 'lasagna'][below(5)] as string
      const ate = say(who, at, `We had ${meal} tonight and it was great.`)
      chat(2)
      ask('form', `Did ${who} ${verb} ${thing.split(' ').at(-1)}?`, [told])
      ask('neighbour', `What does the family of ${who} ${verb2}?`, [answered])
      ask('day', `What did ${who} eat on ${MONTHS[month - 1]} ${day}, 2023?`, [ate])
      ask('speaker', `When did ${who} have ${meal} for dinner?`, [ate])
    }
  })
  return { docs, queries }
}
