/** `plimsoll artifacts`: what calls returned and nobody reads whole. */
import { createHash } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { Fault } from '../kernel/fault.ts'
import { type Body, field, reach, type Reach } from './client.ts'
import { type Output, table, usage } from './output.ts'
import { visible } from './visible.ts'

export interface GetOptions extends Reach {
  readonly output?: string
}

export async function listArtifacts(run: string, options: Reach, out: Output): Promise<void> {
  const page = await (await reach(options, 'service')).get(`/v1/runs/${encodeURIComponent(run)}/artifacts`)
  const items = page['items'] as readonly Body[]
  const rows = items.map((a) => [
    a['id'],
    `${field(a, 'step')}/${field(a, 'position')}`,
    a['name'],
    a['media_type'],
    a['bytes'],
    (a['summary'] as Body | null)?.['rows'],
  ])
  out.show(...table(['artifact', 'place', 'name', 'type', 'bytes', 'rows'], rows))
  out.result({ items })
}

export async function getArtifact(id: string, options: GetOptions, out: Output): Promise<void> {
  const server = await reach(options, 'service')
  const path = `/v1/artifacts/${encodeURIComponent(id)}`
  const artifact = await server.get(path)
  // the name comes from a tool: its last part, and in this folder
  const target = options.output ?? basename(field(artifact, 'name'))
  const file = await open(target, 'wx').catch((error: unknown) => {
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    const cause = isThere ? 'is there already' : 'cannot be written'
    throw usage(`The file ${target} ${cause}.`, 'Name another with `--output`.')
  })
  try {
    const hash = createHash('sha256')
    for await (const bytes of await server.bytes(`${path}/content`)) {
      hash.update(bytes)
      await file.appendFile(bytes)
    }
    if (hash.digest('hex') !== artifact['sha256'])
      throw new Fault('content_damaged', 'What came is not what was stored.')
  } catch (error) {
    await rm(target, { force: true })
    throw Fault.is(error) ? error : new Fault('unavailable', 'The download was cut off.', { cause: error })
  } finally {
    await file.close()
  }
  out.show(`${visible(target)}: ${field(artifact, 'bytes')} bytes, as they were stored.`)
  out.result({ id, file: target, bytes: artifact['bytes'], sha256: artifact['sha256'] })
}
