/** What the promises say about the parts that are not about consent: pure, from what somebody outside has seen. */
import type { EndReason } from '../run/reasons.ts'

const wrongIf = (is: boolean, says: string): readonly string[] => (is ? [says] : [])

export interface Message {
  readonly run: string
  readonly seq: number
  readonly id: string
}

export interface Delivered {
  /** The events of each run, by number, that somebody listens to. */
  readonly runs: ReadonlyMap<string, readonly number[]>
  /** As they arrived. */
  readonly got: readonly Message[]
  /** This message is never taken. */
  readonly poison?: { readonly run: string; readonly seq: number }
  /** Whether something must have come twice: the relay died with it. */
  readonly repeats: boolean
}

/** Invariant 22. */
export function outboxWrongs({ runs, got, poison, repeats }: Delivered): readonly string[] {
  const ids = new Map<string, string>()
  for (const { run, seq, id } of got) ids.set(`${run}/${seq}`, ids.get(`${run}/${seq}`) ?? id)
  const isStable = got.every((m) => ids.get(`${m.run}/${m.seq}`) === m.id) && new Set(ids.values()).size === ids.size
  return [
    ...wrongIf(!isStable, 'an id is not the one of its event'),
    ...wrongIf(repeats && got.length === ids.size, 'nothing was repeated'),
    ...[...runs].flatMap(([run, events]) => {
      const seqs = got.filter((m) => m.run === run).map((m) => m.seq)
      const firsts = [...new Set(seqs)]
      const wanted = poison?.run === run ? events.filter((seq) => seq <= poison.seq) : events
      return wrongIf(firsts.join() !== wanted.join(), `${firsts.join()} came of ${wanted.join()}`)
    }),
  ]
}

/** A frame of an event stream, as the client of one run has it; `seq` of an event, otherwise null. */
export interface Frame {
  readonly type: string
  readonly seq: number | null
  readonly step: number
  readonly attempt: number
  readonly offset: number
  readonly text: string
}

/** Invariant 15: `frames` over all connections of one client, in the order of arrival. */
export function streamWrongs(
  frames: readonly Frame[],
  ends: readonly EndReason[],
  end: string | null,
): readonly string[] {
  let [seq, settled, step, attempt, length] = [0, 0, 0, 0, 0]
  let isOver = false
  const wrongs = new Set<string>()
  for (const frame of frames) {
    if (isOver) wrongs.add(`${frame.type} came after the end`)
    if (frame.seq !== null) {
      if (frame.seq <= seq) wrongs.add('an event came again')
      seq = frame.seq
      if (frame.type === 'step_planned') settled = frame.step
      isOver ||= frame.type === 'run_ended'
      continue
    }
    const isNewer = frame.step > step || (frame.step === step && frame.attempt > attempt)
    const isOlder = frame.step < step || (frame.step === step && frame.attempt < attempt)
    if (isOlder || frame.step <= settled) wrongs.add('text of a generation that is over')
    if (isNewer) [step, attempt, length] = [frame.step, frame.attempt, 0]
    if (frame.type !== 'delta') continue
    // from the start again on another connection, and never with a hole
    if (frame.offset > length) wrongs.add('a piece of the text is missing')
    length = frame.offset + frame.text.length
  }
  if (!isOver) wrongs.add('the stream has no end')
  if (!ends.includes(end as EndReason)) wrongs.add(`the run ended as ${end}`)
  return [...wrongs]
}

export interface Spent {
  readonly steps: number
  readonly toolCalls: number
  readonly tokens: number
  readonly cost: number
}

/** Invariant 17. `tried`: calls that reached a tool; `ends`: the reasons that are right. */
export const endWrongs = (
  found: { readonly end: string | null; readonly spent: Spent; readonly tried: number },
  limits: Spent,
  ends: readonly EndReason[] | 'any',
): readonly string[] => [
  ...wrongIf(found.end === null, 'it has no end'),
  ...wrongIf(ends !== 'any' && !ends.includes(found.end as EndReason), `it ended as ${found.end}`),
  ...wrongIf(found.tried > limits.toolCalls, `${found.tried} calls reached a tool`),
  ...(Object.keys(limits) as (keyof Spent)[]).flatMap((what) =>
    wrongIf(found.spent[what] > limits[what], `${found.spent[what]} ${what} of ${limits[what]}`),
  ),
]

export interface Closed {
  /** At the provider, while somebody was down. */
  readonly effects: number
  readonly end: string | null
  /** What the model was told, or how the run ended; null when it went on afterwards. */
  readonly code: string | null
  /** At the provider in the end. */
  readonly last: number
}

/** Invariant 24. */
export const closedWrongs = ({ effects, end, code, last }: Closed): readonly string[] => [
  ...wrongIf(effects > 0, 'it happened'),
  ...wrongIf(end === null, 'it has no end'),
  ...wrongIf(last > 1, `done twice: ${last} effects`),
  ...wrongIf(code === null && last === 0, 'nobody was told why not'),
]

export interface Asked {
  /** When each request arrived, in milliseconds. */
  readonly at: readonly number[]
  readonly most: number
  readonly least: number
  /** What the provider asked to wait. */
  readonly retryAfterMs: number
  readonly ends: readonly EndReason[]
  readonly end: string | null
}

/** Invariant 26. */
export const retryWrongs = ({ at, most, least, retryAfterMs, ends, end }: Asked): readonly string[] => [
  ...wrongIf(at.length > most || at.length < least, `${at.length} requests, and ${least} to ${most} are right`),
  ...wrongIf(
    at.some((ms, i) => i > 0 && ms - (at[i - 1] ?? 0) < retryAfterMs),
    'it did not wait as it was asked',
  ),
  ...wrongIf(!ends.includes(end as EndReason), `it ended as ${end}`),
]
