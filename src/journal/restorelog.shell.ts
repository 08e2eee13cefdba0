/**
 * Writes the restore log as things happen, and tells a database what it has not seen. Nothing of the database is open while
 * a segment is written: a segment that is written and not noted is told again, and changes nothing.
 */
import { mkdir, open, readdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../kernel/clock.ts'
import { Fault } from '../kernel/fault.ts'
import type { Random } from '../kernel/random.ts'
import { entryKey, readSegment, type RestoreEntry, type RestoreLog, segmentName, segmentText } from './restorelog.ts'
import type { RestoreStore } from './restorelog.store.ts'

export interface RestoreParts {
  readonly restores: RestoreStore
  readonly log: RestoreLog
  readonly clock: Clock
  readonly random: Random
}

/** Between two looks: what a database has lost that happened in this time cannot be told to an older one. */
export const LOG_EVERY_MS = 5_000
const AT_A_TIME = 500
/** Entries that this process remembers to have written: the minute before the mark is read at each look. */
const MOST_KNOWN = 10_000

export interface RestoreWriter {
  /** Writes what is new, at once. How many entries. */
  write(): Promise<number>
}

export function restoreWriter({ restores, log, random }: RestoreParts): RestoreWriter {
  let known = new Set<string>()
  return {
    async write() {
      const { now } = await restores.mark()
      const fresh = (await restores.entries()).filter((entry) => !known.has(entryKey(entry)))
      if (fresh.length === 0) return 0
      const name = segmentName(now, Buffer.from(random.bytes(4)).toString('hex'))
      await log.append(name, segmentText(fresh))
      await restores.reached(name, now)
      if (known.size > MOST_KNOWN) known = new Set()
      for (const entry of fresh) known.add(entryKey(entry))
      return fresh.length
    },
  }
}

/**
 * Tells the database every segment that is newer than it. How much of it the database did not know; a dry run only counts
 * what there is to tell.
 */
export async function restoreFrom(
  { restores, log }: Pick<RestoreParts, 'restores' | 'log'>,
  dry: boolean,
): Promise<number> {
  let changed = 0
  for await (const { name, text } of log.after((await restores.mark()).segment)) {
    const entries = readSegment(name, text)
    if (dry) {
      changed += entries.length
      continue
    }
    for (let i = 0; i < entries.length; i += AT_A_TIME)
      changed += await restores.restore(entries.slice(i, i + AT_A_TIME))
    await restores.reached(name, lastOf(entries))
  }
  return changed
}

/** What a restored database has seen itself since then is written again, and no harm. */
const lastOf = (entries: readonly RestoreEntry[]): number => entries.reduce((last, { at }) => Math.max(last, at), 0)

/** Looks every five seconds, beside a worker. */
export function startLogging(
  writer: RestoreWriter,
  clock: Clock,
  onError: (error: unknown) => void,
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      await writer.write().catch(onError)
      await clock.sleep(LOG_EVERY_MS, stopping.signal).catch(() => {})
    }
    await writer.write().catch(onError)
  }
  const looping = loop()
  return {
    async stop() {
      stopping.abort(new Fault('worker_stopping'))
      await looping
    },
  }
}

const SEGMENT = /^(\d{15,}-[0-9a-f]{8})\.jsonl$/

/** A folder of this machine, or one that all machines share: a file for each segment. */
export function restoreFolder(root: string): RestoreLog {
  return {
    async append(name, text) {
      await mkdir(root, { recursive: true, mode: 0o700 })
      const path = join(root, `${name}.jsonl`)
      const file = await open(`${path}.part`, 'w', 0o600)
      await file.writeFile(text)
      await file.sync()
      await file.close()
      await rename(`${path}.part`, path)
      const folder = await open(root, 'r')
      await folder.sync().finally(() => folder.close())
    },
    async *after(name) {
      const files = await readdir(root).catch((error: unknown) => {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
        throw error
      })
      for (const file of files.sort()) {
        const segment = SEGMENT.exec(file)?.[1]
        if (segment !== undefined && segment > name)
          yield { name: segment, text: await readFile(join(root, file), 'utf8') }
      }
    },
  }
}
