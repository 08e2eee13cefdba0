/**
 * The polite end of a process: nobody new is sent here, then what is under way reaches its boundary, then the door closes.
 *
 * P6  readiness goes off before the worker stops to claim, and the server answers until the worker is done
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../db/port.ts'
import type { HttpServer } from '../http/server.ts'
import { EXIT } from '../kernel/fault.ts'
import type { Worker } from '../run/worker.shell.ts'
import type { Output } from './output.ts'

/** The grace of the worker and the time of the server to close, and some for the last commits. */
const GRACE_MS = 20_000

/** Ends each part in its turn, the later ones even if an earlier one fails. Returns the exit code. */
export async function stopPolitely(
  out: Pick<Output, 'note'>,
  { server, worker, db }: { readonly server?: HttpServer; readonly worker?: Worker; readonly db: Pick<Db, 'close'> },
): Promise<number> {
  server?.drain()
  const ended = Promise.allSettled([worker?.stop()])
    .then(() => Promise.allSettled([server?.close()]))
    .then(() => db.close())
  const isInTime = await Promise.race([ended.then(() => true), sleep(GRACE_MS, false, { ref: false })])
  if (isInTime) return EXIT.ok
  out.note(`plimsoll: Not everything reached its end within ${GRACE_MS / 1000} s. Another worker takes it over.`)
  return EXIT.failure
}
