/** What the promises say about consent: pure, from what callers were answered and what the provider has done. */
import { hashArguments, canonicalText } from '../kernel/canonical.ts'
import type { JsonObject } from '../kernel/json.ts'

/** What became of the run. */
export interface Became {
  readonly end: string | null
  /** In the provider's log. */
  readonly effects: number
  /** In the journal, as done. */
  readonly told: number
}

export interface Said {
  readonly status: number
  readonly code: string
  readonly outcome: string
}

/** Who else wants something of the run while it is approved. */
export type Rival = 'none' | 'cancel' | 'expiry' | 'message'

interface Race {
  /** What a press that lost may be told. */
  readonly codes: readonly string[]
  /** The ends when an approval has won, and when none has. */
  readonly won: readonly string[]
  readonly lost: readonly string[]
}

const RACES: Readonly<Record<Rival, Race>> = {
  none: { codes: ['already_decided'], won: ['completed'], lost: [] },
  cancel: {
    codes: ['already_decided', 'stale_plan', 'refused_transition'],
    won: ['completed', 'user_canceled'],
    lost: ['user_canceled'],
  },
  expiry: {
    codes: ['already_decided', 'confirmation_expired', 'stale_plan', 'refused_transition'],
    won: ['completed'],
    lost: ['confirmation_expired'],
  },
  message: {
    codes: ['already_decided', 'stale_plan', 'refused_transition'],
    won: ['completed', 'superseded'],
    lost: ['superseded'],
  },
}

const wrongIf = (is: boolean, says: string): readonly string[] => (is ? [says] : [])

/** The provider and the journal agree, and nothing happened twice. */
const became = ({ effects, told, end }: Became): readonly string[] => [
  ...wrongIf(effects > 1, `done twice: ${effects} effects`),
  ...wrongIf(effects !== told, `${effects} effects, and ${told} told`),
  ...wrongIf(end === null, 'the run has no end'),
]

/** Invariant 10. `presses`: what each approval was answered. */
export function raceWrongs(rival: Rival, presses: readonly Said[], after: Became): readonly string[] {
  const { codes, won, lost } = RACES[rival]
  const winners = presses.filter((p) => p.status === 200).length
  const losers = presses.filter((p) => p.status !== 200)
  const isOdd = (p: Said): boolean =>
    !codes.includes(p.code) || (p.code === 'already_decided' && p.outcome !== 'approved')
  const ends = winners === 1 ? won : lost
  return [
    ...became(after),
    ...wrongIf(winners > 1, `${winners} approvals have won`),
    ...wrongIf(losers.some(isOdd), `a press was told ${losers.find(isOdd)?.code} ${losers.find(isOdd)?.outcome}`),
    ...wrongIf(
      after.end !== null && !ends.includes(after.end),
      `${winners} approvals have won, and the end is ${after.end}`,
    ),
    ...wrongIf(winners === 0 && after.effects > 0, 'it happened without consent'),
    ...wrongIf(after.end === 'completed' && after.effects === 0, 'it was agreed to and did not happen'),
  ]
}

/** Invariant 11. `refused`: the answer to a request that is not the one that was shown, where there was one. */
export const bindingWrongs = (refused: Said | null, effects: number): readonly string[] => [
  ...wrongIf(refused !== null && (refused.status < 400 || refused.status >= 500), `it was answered ${refused?.status}`),
  ...wrongIf(effects > 0, 'it happened'),
]

export interface Repeated {
  readonly first: { readonly status: number; readonly text: string }
  /** The same request with the same key. */
  readonly again: { readonly status: number; readonly text: string; readonly isReplay: boolean }
  /** The same request with a new key. */
  readonly anew: Said
  readonly effects: readonly [before: number, after: number]
}

/** Invariant 12. */
export const repeatWrongs = ({ first, again, anew, effects }: Repeated): readonly string[] => [
  ...wrongIf(again.status !== first.status || again.text !== first.text, `another answer: ${again.status}`),
  ...wrongIf(!again.isReplay, 'it was answered anew'),
  ...wrongIf(anew.status < 400, `a spent confirmation was taken: ${anew.status}`),
  ...wrongIf(effects[1] !== effects[0], `${effects[1] - effects[0]} effects came of it`),
]

export interface Shown {
  readonly tool: string
  readonly version: number
  readonly tenant: string
  readonly params: JsonObject
  readonly paramsHash: string
}

/** Invariant 13. `done`: what the provider was asked to do, as arguments of the tool; null when nothing happened. */
export function shownWrongs(
  { tool, version, tenant, params, paramsHash }: Shown,
  done: JsonObject | null,
): readonly string[] {
  const hashOf = (value: JsonObject): string => hashArguments({ tool, version, tenant, text: canonicalText(value) })
  return [
    ...wrongIf(hashOf(params) !== paramsHash, 'what is shown is not what is bound'),
    ...wrongIf(done === null, 'it did not happen'),
    ...wrongIf(done !== null && hashOf(done) !== paramsHash, 'what was done is not what was bound'),
  ]
}

/** Invariant 13, when the resource moved on after the plan. */
export const staleWrongs = (answer: Said, after: Became): readonly string[] => [
  ...wrongIf(answer.code !== 'stale_plan', `it was answered ${answer.status} ${answer.code}`),
  ...became(after),
  ...wrongIf(after.effects > 0, 'it happened on another state than was shown'),
]
