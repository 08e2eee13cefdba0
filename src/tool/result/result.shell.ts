/**
 * The four outputs of a result (I5): what the model reads, a summary for programs, the raw bytes in the object store with
 * a reference to download them by, and a typed error.
 */
import { Fault } from '../../kernel/fault.ts'
import { utf8Length } from '../../kernel/json.ts'
import { type ArtifactRef, type Kept, refOf } from './artifact.ts'
import type { Contract, ToolOutcome } from '../contract.ts'
import { keepValue, type KeepLimits, type KeepParts, type KeepPlace, type Taken, takeRaw } from './keep.shell.ts'
import { checkedResult, envelope } from '../outcome.ts'
import { pagingOf } from './page.ts'
import { besideOf, rawOf } from './raw.ts'
import type { Scrub } from './scrub.ts'
import { bytesNamed, resultBytes, shortened, shortText, summarised } from './shorten.ts'

/** Keeps what one call gives back, and remembers what was kept until the outcome is recorded. */
export interface Keeper {
  readonly parts: KeepParts
  readonly place: KeepPlace
  readonly kept: Kept[]
}

export interface Gathering {
  /** Null: there is no object store. */
  readonly keeper: Keeper | null
  readonly scrub: Scrub
  readonly signal: AbortSignal
}

/** Reads what a tool returned to its end. @throws whatever its source throws */
export async function gathered(contract: Contract, value: unknown, gathering: Gathering): Promise<ToolOutcome> {
  try {
    const beside = besideOf(value)
    if (beside) await keepBeside(contract, beside.files, gathering)
    return withFiles(await gather(contract, beside ? beside.value : value, gathering), gathering.keeper)
  } catch (error) {
    // ours: the codes of `keep`
    if (Fault.is(error) && NOT_KEPT.has(error.code)) return { ok: false, error: envelope(error.code) }
    throw error
  }
}

/** More than any tool has to show at once. */
const MOST_BESIDE = 16

/** What cannot be kept is left out: the value says what there was, and a call does not fail for a picture. */
async function keepBeside(
  contract: Contract,
  files: readonly unknown[],
  { keeper, scrub, signal }: Gathering,
): Promise<void> {
  if (!keeper) return
  const { maxRawBytes } = contract
  for (const one of files.slice(0, MOST_BESIDE)) {
    const raw = rawOf(one)
    if (!raw) continue
    try {
      // nothing of it is read as a value
      const taken = await takeRaw(keeper.parts, keeper.place, raw, { maxResultBytes: 0, maxRawBytes, scrub, signal })
      if (taken.is === 'kept') keeper.kept.push(taken.kept)
    } catch (error) {
      if (!Fault.is(error) || !NOT_KEPT.has(error.code)) throw error
    }
  }
}

const NOT_KEPT: ReadonlySet<string> = new Set(['result_too_large', 'result_not_kept', 'result_not_serialisable'])

async function gather(contract: Contract, value: unknown, { keeper, scrub, signal }: Gathering): Promise<ToolOutcome> {
  const { maxResultBytes, maxRawBytes } = contract
  const limits: KeepLimits = { maxResultBytes, maxRawBytes, scrub, signal }
  const raw = rawOf(value)
  if (raw && !keeper) return { ok: false, error: envelope('result_not_kept') }
  const taken: Taken = raw && keeper ? await takeRaw(keeper.parts, keeper.place, raw, limits) : { is: 'value', value }
  if (taken.is === 'kept') {
    // nobody has held the whole against the schema
    if (contract.outputSchema !== null) return { ok: false, error: envelope('result_invalid') }
    keeper?.kept.push(taken.kept)
    return { ok: true, ...shownKept(taken, maxResultBytes), mended: false }
  }
  const checked = checkedResult(contract, taken.value, scrub)
  if (!checked.ok) return checked
  const isLarge = keeper !== null && resultBytes(checked.value) > maxResultBytes
  const paging = pagingOf(contract)
  if (!isLarge) return { ok: true, ...shortened(checked.value, maxResultBytes, null, paging), mended: checked.mended }
  const kept = await keepValue(keeper.parts, keeper.place, checked.value, limits)
  keeper.kept.push(kept)
  const whole = { artifact: refOf(kept), summary: kept.summary }
  return { ok: true, ...shortened(checked.value, maxResultBytes, whole, paging), mended: checked.mended }
}

function shownKept({ kept, head }: Extract<Taken, { is: 'kept' }>, maxResultBytes: number) {
  const artifact = refOf(kept)
  const { bytes, summary } = kept
  if (summary) return { ...summarised(summary, bytes, maxResultBytes, artifact), bytes }
  if (head === null) return { result: bytesNamed(artifact), bytes, truncated: true }
  const named = `${head}\n[kept as ${artifact.id}]`
  if (bytes <= maxResultBytes && utf8Length(named) <= maxResultBytes) return { result: named, bytes, truncated: false }
  return { result: shortText(head, bytes, maxResultBytes, { artifact, summary }), bytes, truncated: true }
}

/** What was kept belongs to the outcome; an error refers to nothing, and what was kept for it is swept. */
function withFiles(outcome: ToolOutcome, keeper: Keeper | null): ToolOutcome {
  if (!outcome.ok || !keeper || keeper.kept.length === 0) return outcome
  return { ...outcome, artifacts: keeper.kept.map(refOf) satisfies readonly ArtifactRef[] }
}
