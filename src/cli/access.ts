/**
 * The file that lets the commands of this machine in: the secret of the server and two keys, readable by its owner
 * alone. Whoever can read it can already read the store beside it.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Runtime } from '../runtime.ts'

export interface Access {
  /** Signs tokens and cursors. */
  readonly secret: string
  readonly tenant: string
  readonly environment: string
  readonly service: string
  readonly operator: string
}

const FILE = 'access.json'
const SERVER = 'server.json'
const PRIVATE = 0o600
const PRIVATE_FOLDER = 0o700

export const TENANT = 'default'
export const ENVIRONMENT = 'dev'

/** Null when there is none, or half of one. */
export const readAccess = (folder: string): Promise<Access | null> => readJson<Access>(join(folder, FILE), 'operator')

async function readJson<T extends object>(file: string, last: keyof T): Promise<T | null> {
  try {
    const value = JSON.parse(await readFile(file, 'utf8')) as T
    return typeof value === 'object' && value !== null && last in value ? value : null
  } catch {
    return null
  }
}

/** Whole or not at all: a reader never finds half a file. */
async function writePrivate(folder: string, name: string, value: object): Promise<void> {
  await ensureFolder(folder)
  const half = join(folder, `.${name}.${process.pid}`)
  await writeFile(half, `${JSON.stringify(value, null, 2)}\n`, { mode: PRIVATE })
  await rename(half, join(folder, name))
}

/** Private from the first moment, whatever is put into it. */
export const ensureFolder = (folder: string): Promise<unknown> =>
  mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER })

/**
 * The access of this folder, made on its first use and again when the store does not know its keys. Servers that share a
 * PostgreSQL but no folder share the secret by PLIMSOLL_SECRET.
 */
export async function ensureAccess(
  folder: string,
  runtime: Runtime,
): Promise<{ readonly access: Access; readonly isNew: boolean; readonly kept: string | null }> {
  const found = await readAccess(folder)
  const secret = process.env.PLIMSOLL_SECRET ?? found?.secret ?? randomBytes(32).toString('base64url')
  if (found && (await isKnown(found, runtime))) return { access: { ...found, secret }, isNew: false, kept: null }
  const place = { tenant: TENANT, environment: ENVIRONMENT }
  const service = await runtime.createKey({ ...place, kind: 'service', user: 'local_service', permissions: ['*'] })
  const operator = await runtime.createKey({ ...place, kind: 'operator', user: 'local_operator', permissions: ['*'] })
  const access: Access = { secret, ...place, service: service.key, operator: operator.key }
  const kept = found && (await keepOld(folder))
  await writePrivate(folder, FILE, access)
  return { access, isNew: true, kept }
}

/** The keys of another store may be written down nowhere else. */
async function keepOld(folder: string): Promise<string> {
  const old = join(folder, `access-${randomBytes(4).toString('hex')}.json`)
  await rename(join(folder, FILE), old)
  return old
}

async function isKnown(access: Access, runtime: Runtime): Promise<boolean> {
  const both = await Promise.all([access.service, access.operator].map((key) => runtime.credentials.bySecret(key)))
  return both.every((key) => key?.tenant === access.tenant && key.environment === access.environment)
}

/** Where the server of this folder listens: how the other commands find it. */
export const announceServer = (folder: string, url: string): Promise<void> =>
  writePrivate(folder, SERVER, { pid: process.pid, url })
export const forgetServer = (folder: string): Promise<void> => rm(join(folder, SERVER), { force: true })
export const announcedServer = async (folder: string): Promise<string | null> =>
  (await readJson<{ readonly pid: number; readonly url: string }>(join(folder, SERVER), 'url'))?.url ?? null
