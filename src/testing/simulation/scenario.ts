/** What a seed is about: who is there, how bad the weather is, what the model is like. */
import type { Chance } from './random.ts'

/** The product's figures, but for the poll, which only costs steps. */
export const TIMES = { heartbeatMs: 2_000, leaseMs: 8_000, pollMs: 1_500, graceMs: 4_000 } as const

/** Chances of each kind of trouble, at each step of a server that could meet it. */
export interface Weather {
  readonly crash: number
  readonly pause: number
  /** Applied, and the reply is lost. */
  readonly lostReply: number
  /** Never applied. */
  readonly lostRequest: number
  readonly slowReply: number
  /** The program itself throws. */
  readonly throws: number
  /** Times at which the database restarts. */
  readonly restarts: readonly number[]
  /** Of a request to a provider: something goes wrong with it. */
  readonly provider: number
  /** Of a request to the model. */
  readonly model: number
  /** Of a question to the authoriser. */
  readonly authorizer: number
}

export const CALM: Weather = {
  crash: 0,
  pause: 0,
  lostReply: 0,
  lostRequest: 0,
  slowReply: 0,
  throws: 0,
  restarts: [],
  provider: 0,
  model: 0,
  authorizer: 0,
}

export const PLANNERS = ['legal', 'hostile', 'looping', 'obedient', 'broken'] as const
export type Planner = (typeof PLANNERS)[number]
export const AGENTS = ['plain', 'replacing', 'tight', 'strict', 'minding'] as const
export type AgentName = (typeof AGENTS)[number]
export const MODES = ['keyed', 'blind', 'state', 'manual'] as const
/** `keyed`: one effect per key, and it can be asked; `blind`: one per key, and it cannot; `state`: one per request, and it can; `manual`: neither. */
export type Mode = (typeof MODES)[number]

export interface Scenario {
  readonly workers: number
  readonly weather: Weather
  /** After this time nothing goes wrong any more. */
  readonly calmAt: number
  readonly agent: AgentName
  readonly planner: Planner
  /** The kinds of providers that the model uses. */
  readonly modes: readonly Mode[]
  readonly messages: number
  readonly secondTab: boolean
  readonly reader: boolean
  /** Chance that a model takes its time, so that pieces of its answer are stored. */
  readonly slowModel: number
  readonly skewedClocks: boolean
  readonly revokes: boolean
  readonly flips: boolean
  readonly intruder: boolean
  readonly changesMind: number
  /** How many conversations go on at the same time. */
  readonly talkers: number
  /** Events go to others, over the relays. */
  readonly listened: boolean
  /** Tools answer that they will tell later. */
  readonly waits: boolean
  /** Who is away for a while, and comes back. */
  readonly outage: Outage | null
  /** Runs that ended grow old at once, and are swept beside those that live. */
  readonly sweeps: boolean
  /** The reader leaves and does not come back. */
  readonly vanishes: boolean
}

export interface Outage {
  readonly of: Mode | 'model'
  readonly from: number
  readonly to: number
}

/**
 * What a part of the stories is about: troubles that need each other would seldom meet by chance alone. Everything else stays
 * as chance has made it.
 */
const THEMES: readonly ((chance: Chance, made: Scenario) => Partial<Scenario>)[] = [
  // who stands still for about as long as its lease, in the middle of an effect
  (chance, { weather }) => ({
    workers: chance.pick([1, 1, 2]),
    weather: { ...weather, pause: 0.05, crash: 0, lostReply: 0, lostRequest: 0, restarts: [] },
    planner: 'legal',
    calmAt: chance.between(9_000, 14_000),
  }),
  // a provider that is slow, and of which nobody knows what it did
  (chance, { weather }) => ({ weather: { ...weather, provider: 0.7 }, planner: 'legal', modes: [chance.pick(MODES)] }),
  // an answer that takes its time, before a reader, while servers die
  (_, { weather }) => ({ weather: { ...weather, crash: 0.015 }, reader: true, slowModel: 0.8, planner: 'legal' }),
  // what ended is swept while others live, listen, or do not know
  (chance, { weather }) => ({
    ...{ sweeps: true, listened: chance.yes(0.5), messages: 2, planner: 'legal' },
    ...(chance.yes(0.5) && { modes: ['manual'], weather: { ...weather, provider: 0.6 } }),
  }),
]

export function scenarioOf(chance: Chance): Scenario {
  const made = anyOf(chance)
  const theme = made.weather !== CALM && chance.yes(0.3) ? chance.pick(THEMES) : null
  return theme ? { ...made, ...theme(chance, made) } : made
}

function outageOf(chance: Chance, modes: readonly Mode[]): Outage {
  const from = chance.below(2_000)
  return { of: chance.yes(0.2) ? 'model' : chance.pick(modes), from, to: from + chance.between(1_000, 12_000) }
}

function anyOf(chance: Chance): Scenario {
  const agent = chance.pick(['plain', 'plain', 'tight', ...AGENTS] as const)
  // who is noticed to be gone, and when, can only be told where nothing else goes wrong
  const weather = agent === 'minding' && chance.yes(0.6) ? CALM : weatherOf(chance)
  const modes = chance.yes(0.5) ? [chance.pick(MODES)] : [chance.pick(MODES), chance.pick(MODES)]
  return {
    workers: chance.pick([1, 1, 2, 2, 3]),
    weather,
    calmAt: chance.between(3_000, 14_000),
    agent,
    planner: chance.yes(0.6) ? 'legal' : chance.pick(PLANNERS),
    modes,
    messages: chance.pick([1, 1, 1, 2, 3]),
    secondTab: chance.yes(0.15),
    reader: agent === 'minding' || chance.yes(0.4),
    slowModel: chance.pick([0, 0, 0.6]),
    skewedClocks: chance.yes(0.2),
    revokes: chance.yes(0.1),
    flips: chance.yes(0.1),
    intruder: chance.yes(0.15),
    changesMind: chance.pick([0, 0, 0.2, 0.6]),
    talkers: chance.yes(0.06) ? chance.pick([2, 3]) : 1,
    listened: chance.yes(0.15),
    waits: chance.yes(0.2),
    outage: chance.yes(0.08) ? outageOf(chance, modes) : null,
    sweeps: chance.yes(0.05),
    vanishes: chance.yes(0.8),
  }
}

function weatherOf(chance: Chance): Weather {
  if (chance.yes(0.1)) return CALM
  const some = (most: number): number => (chance.yes(0.5) ? chance.fraction() * most : 0)
  return {
    crash: some(0.02),
    pause: some(0.04),
    lostReply: some(0.05),
    lostRequest: some(0.03),
    slowReply: some(0.1),
    throws: chance.yes(0.1) ? 0.01 : 0,
    restarts: chance.yes(0.2) ? [chance.between(500, 8_000)] : [],
    provider: chance.yes(0.8) ? chance.fraction() * 0.8 : 0,
    model: some(0.2),
    authorizer: chance.yes(0.1) ? 0.2 : 0,
  }
}
