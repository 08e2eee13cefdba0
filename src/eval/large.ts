/**
 * `npm run large -- [--rows N] [--db URL] [--json]`: a tool that returns N rows, 200 000 by default, one at a time.
 * Without a database that is migrated, the store is in memory.
 *
 * A child process works and serves; this one asks, downloads over HTTP, and compares with rows that it makes anew. Exits
 * 0 when the model's part keeps its limit, the bytes are identical, and the memory of the child grew by less than 64 MB.
 */
import { fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { EXIT } from '../kernel/fault.ts'
import { linesOf, MODEL_BYTES } from './large-rows.ts'

const MB = 1024 * 1024
/** A process that held the rows would grow by several times their size; this is less than three times 25 MB of text. */
const MOST_GROWTH = 64 * MB
const MOST_ROWS = 5_000_000

/** Of new objects Node keeps up to 48 MB before it looks which are needed still; what is measured is what is needed. */
const SMALL_NURSERY = ['--max-semi-space-size=4']

/** What the child tells: where it serves, and afterwards what it saw of itself and of the model's request. */
export interface Ready {
  readonly url: string
  readonly token: string
  readonly run: string
}
export interface Worked {
  readonly modelBytes: number
  readonly rssBefore: number
  readonly rssPeak: number
}

const worker = fileURLToPath(new URL(`./large-worker${extname(import.meta.url)}`, import.meta.url))

export async function large(argv: readonly string[], print: (line: string) => void): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: { rows: { type: 'string', default: '200000' }, db: { type: 'string' }, json: { type: 'boolean' } },
  })
  const rows = Number(values.rows)
  if (!Number.isSafeInteger(rows) || rows < 1 || rows > MOST_ROWS) {
    print(`usage: npm run large -- [--rows 1…${MOST_ROWS}] [--db URL] [--json]`)
    return EXIT.usage
  }
  const home = mkdtempSync(join(tmpdir(), 'plimsoll-large-'))
  const child = fork(worker, [home, String(rows), values.db ?? ''], {
    execArgv: [...process.execArgv, ...SMALL_NURSERY],
  })
  const told = <T>(): Promise<T> =>
    new Promise((resolve, reject) => {
      child.once('message', (message) => resolve(message as T))
      child.once('exit', (code) => reject(new Error(`the worker ended with ${code}`)))
    })
  try {
    const ready = await told<Ready>()
    const { bytes, isSame } = await compared(ready, rows)
    child.send('done')
    const worked = await told<Worked>()
    const growth = worked.rssPeak - worked.rssBefore
    const isGood = isSame && worked.modelBytes <= MODEL_BYTES && growth < MOST_GROWTH
    const mb = (n: number) => Math.round((n / MB) * 10) / 10
    print(
      `${rows} rows, ${mb(bytes)} MB: ${isSame ? 'fetched back identical' : 'DIFFERENT'}; the model read ${worked.modelBytes} of at most ${MODEL_BYTES} bytes; memory grew by ${mb(growth)} MB from ${mb(worked.rssBefore)} MB`,
    )
    const figures = { rows, rawBytes: bytes, identical: isSame, modelBytes: worked.modelBytes, modelLimit: MODEL_BYTES }
    if (values.json)
      print(JSON.stringify({ ...figures, rssBefore: worked.rssBefore, rssPeak: worked.rssPeak, growthMb: mb(growth) }))
    return isGood ? EXIT.ok : EXIT.failure
  } finally {
    child.kill()
    rmSync(home, { recursive: true, force: true })
  }
}

/** Reads the one artifact of the run over HTTP, beside rows that are made anew. */
async function compared({ url, token, run }: Ready, rows: number): Promise<{ bytes: number; isSame: boolean }> {
  const headers = { authorization: `Bearer ${token}` }
  const list = (await (await fetch(`${url}/v1/runs/${run}/artifacts`, { headers })).json()) as {
    readonly items: readonly { readonly id: string; readonly bytes: number; readonly sha256: string }[]
  }
  const [artifact] = list.items
  if (!artifact || list.items.length !== 1) return { bytes: 0, isSame: false }
  const wanted = createHash('sha256')
  for (const line of linesOf(rows)) wanted.update(line)
  const came = createHash('sha256')
  const content = await fetch(`${url}/v1/artifacts/${artifact.id}/content`, { headers })
  let bytes = 0
  for await (const piece of (content.body ?? []) as AsyncIterable<Uint8Array>) {
    came.update(piece)
    bytes += piece.byteLength
  }
  const hash = came.digest('hex')
  return { bytes, isSame: bytes === artifact.bytes && hash === artifact.sha256 && hash === wanted.digest('hex') }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = await large(process.argv.slice(2), console.log)
}
