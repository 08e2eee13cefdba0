/** `plimsoll start` and `plimsoll worker`: everything in one process, or a worker alone. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Access, announceServer, ensureAccess, ensureFolder, forgetServer } from './access.ts'
import { type Definition, loadDefinition } from './definition.ts'
import { type Agent, createHttpServer, type Runtime } from '../index.ts'
import { openPayments } from './payments.ts'
import type { Output } from './output.ts'
import { CUSTOMER, ensureWaitingRefund } from './seed.ts'
import { openRuntime, reportTo, stopAsked } from './serve.ts'
import { stopPolitely } from './stop.ts'
import { supportAgent } from './support.ts'

export interface StartOptions {
  readonly file: string | undefined
  /** URL of PostgreSQL; absent: the embedded store in `data`. */
  readonly db: string | undefined
  readonly data: string
  readonly port: number
  readonly host: string
}

const definition = async ({ file, data }: Pick<StartOptions, 'file' | 'data'>): Promise<Definition> =>
  file === undefined
    ? { agents: [supportAgent(openPayments(join(data, 'payments.jsonl')))], runtime: {} }
    : loadDefinition(file)

export async function start(options: StartOptions, out: Output): Promise<number> {
  const asked = stopAsked()
  const defined = await definition(options)
  const { agents } = defined
  await ensureFolder(options.data)
  if (options.db === undefined && !existsSync(join(options.data, 'store')))
    out.note('plimsoll: making the store, which takes some seconds, once.')
  const { db, runtime } = await openRuntime(options, defined)
  try {
    const { access, isNew, kept } = await ensureAccess(options.data, runtime)
    if (kept !== null) out.note(`plimsoll: The keys of another store were in this folder; they are kept in ${kept}.`)
    const worker = await runtime.work({ onError: reportTo(out) })
    const serving = await serve(options, runtime, access, out).catch(async (error: unknown) => {
      await worker.stop()
      throw error
    })
    tell(options, { url: serving.url, isNew, isWaiting: serving.isWaiting, engine: db.engine, agents }, out)
    await asked
    out.note('plimsoll: stopping.')
    await forgetServer(options.data)
    return await stopPolitely(out, { server: serving, worker, db })
  } catch (error) {
    await db.close()
    throw error
  }
}

/** The waiting refund comes first: whoever finds the server ready finds it, too. */
async function serve(options: StartOptions, runtime: Runtime, access: Access, out: Output) {
  const isWaiting = options.file === undefined && (await ensureWaitingRefund(runtime, await customer(runtime, access)))
  const report = reportTo(out)
  const server = await createHttpServer(runtime, {
    secret: access.secret,
    port: options.port,
    host: options.host,
    onError: (error) => report(error, null),
  })
  await announceServer(options.data, server.url)
  return { ...server, isWaiting }
}

/** As any end user comes in: by a token that a service key was good for. */
async function customer(runtime: Runtime, access: Access) {
  const door = runtime.door(access.secret)
  const service = await door.authenticate(`Bearer ${access.service}`)
  const { token } = await door.mint(service, { user: CUSTOMER })
  return (await door.authenticate(`Bearer ${token}`)).actor
}

interface Started {
  readonly url: string
  readonly isNew: boolean
  readonly isWaiting: boolean
  readonly engine: string
  readonly agents: readonly Agent[]
}

function tell({ data, db }: StartOptions, { url, isNew, isWaiting, engine, agents }: Started, out: Output): void {
  const seconds = Math.round(process.uptime() * 10) / 10
  const access = join(data, 'access.json')
  out.show(
    `Plimsoll is ready after ${seconds} s.`,
    `  API       ${url}/v1        ready: ${url}/readyz        description: ${url}/openapi.json`,
    `  store     ${db === undefined ? `${join(data, 'store')} (embedded: survives a killed process, not a power cut)` : 'PostgreSQL'}`,
    `  agents    ${agents.map((a) => a.name).join(', ')}`,
  )
  if (isNew) out.show(`  keys      a service key and an operator key were made: ${access} (read by its owner alone)`)
  if (isWaiting)
    out.show(
      '',
      `A refund waits for the word of ${CUSTOMER}. In another terminal:`,
      '  npx plimsoll approvals list',
      '  npx plimsoll approvals approve <id>',
    )
  out.result({
    ready: true,
    url,
    store: engine,
    agents: agents.map((a) => a.name),
    access,
    waiting: isWaiting,
    seconds,
  })
}

export async function work(options: Pick<StartOptions, 'file' | 'db' | 'data'>, out: Output): Promise<number> {
  const asked = stopAsked()
  const defined = await definition(options)
  const { agents } = defined
  await ensureFolder(options.data)
  const { db, runtime } = await openRuntime(options, defined)
  const worker = await runtime.work({ onError: reportTo(out) })
  out.show(`The worker is ready: ${agents.map((a) => a.name).join(', ')}.`)
  out.result({ ready: true, worker: worker.id(), store: db.engine, agents: agents.map((a) => a.name) })
  await asked
  out.note('plimsoll: stopping.')
  return stopPolitely(out, { worker, db })
}
