/**
 * What a backup that is put back must be told before it serves: a log beside the database, of ids and times.
 *
 * G4  what was deleted, spent, revoked or destroyed after the backup stays so
 */
import { Fault } from '../kernel/fault.ts'

export type RestoreKind = 'tombstone' | 'spent' | 'revoked' | 'destroyed'

export interface RestoreEntry {
  readonly kind: RestoreKind
  readonly tenant: string
  readonly environment: string
  readonly id: string
  /** Of a tombstone its kind, of a spent confirmation its run. */
  readonly target: string
  /** Milliseconds since the epoch, by the clock of the database. */
  readonly at: number
}

/** Where segments are kept: outside of the database, and outlives it. */
export interface RestoreLog {
  /** Whole and on the disk when it resolves. */
  append(name: string, text: string): Promise<void>
  /** Segments with a greater name, in the order of their names. */
  after(name: string): AsyncIterable<{ readonly name: string; readonly text: string }>
}

/** `at` in milliseconds; `mark` keeps two processes apart that write in the same one. */
export const segmentName = (at: number, mark: string): string => `${String(Math.floor(at)).padStart(15, '0')}-${mark}`

export const segmentText = (entries: readonly RestoreEntry[]): string =>
  entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')

const KINDS: readonly string[] = ['tombstone', 'spent', 'revoked', 'destroyed'] satisfies readonly RestoreKind[]

/** @throws Fault `content_damaged`: a line that cannot be read may be the one that matters */
export function readSegment(name: string, text: string): readonly RestoreEntry[] {
  const damaged = (): Fault => new Fault('content_damaged', `Segment ${name} of the restore log cannot be read.`)
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      try {
        const entry = JSON.parse(line) as RestoreEntry
        if (KINDS.includes(entry.kind) && [entry.tenant, entry.id].every((id) => typeof id === 'string')) return entry
      } catch {
        throw damaged()
      }
      throw damaged()
    })
}

export const entryKey = ({ kind, tenant, id, target }: RestoreEntry): string =>
  JSON.stringify([kind, tenant, target, id])
