/** A dump of an embedded instance without the files of its log that a start does not read: half of its bytes are these. */
import type { PGlite } from '@electric-sql/pglite'

const BLOCK = 512
const NAME = 100
const SIZE = { from: 124, to: 136 }

const text = (bytes: Buffer): string => bytes.toString('latin1').replace(/\0.*$/s, '').trim()

/** A tar archive of the folder, after a checkpoint. */
export async function dumpOf(lite: PGlite): Promise<Buffer> {
  await lite.exec('checkpoint')
  const { rows } = await lite.query<{ file: string }>('select redo_wal_file as file from pg_control_checkpoint()')
  const whole = Buffer.from(await (await lite.dumpDataDir('none')).arrayBuffer())
  const kept: Buffer[] = []
  for (let at = 0; at + BLOCK <= whole.length; ) {
    const name = text(whole.subarray(at, at + NAME))
    if (name === '') break
    const size = Number.parseInt(text(whole.subarray(at + SIZE.from, at + SIZE.to)) || '0', 8)
    const end = at + BLOCK + Math.ceil(size / BLOCK) * BLOCK
    const log = /pg_wal\/([0-9A-F]{24})$/.exec(name)?.[1]
    if (log === undefined || log === rows[0]?.file) kept.push(whole.subarray(at, end))
    at = end
  }
  // two empty blocks end an archive
  return Buffer.concat([...kept, Buffer.alloc(2 * BLOCK)])
}
