/**
 * Downloading what was kept (I5): who may see the run may read what it returned. Each download leaves an audit row, which
 * is written before the first byte.
 */
import { Fault } from '../kernel/fault.ts'
import type { ArtifactId, Ids } from '../kernel/ids.ts'
import type { Actor } from '../kernel/scope.ts'
import { scopeOf } from '../request/actor.ts'
import type { ArtifactStore, ArtifactView } from '../tool/result/artifact.store.ts'
import { fetchArtifact, type FetchParts } from '../tool/result/fetch.shell.ts'
import type { ByteRange } from '../tool/result/objects.ts'

export interface Downloading {
  readonly ids: Ids
  readonly artifacts: ArtifactStore
  /** Null: this program has no object store. */
  readonly fetching: FetchParts | null
}

/** The bytes of a range, which the caller has held against the size. @throws Fault `unavailable` without an object store */
export async function download(
  { ids, artifacts, fetching }: Downloading,
  actor: Actor,
  artifact: ArtifactView,
  range: ByteRange,
): Promise<AsyncIterable<Uint8Array>> {
  if (!fetching) throw new Fault('unavailable', 'This server has no object store to read from.')
  const isWhole = range.from === 0 && range.to === artifact.bytes
  await artifacts.downloaded(scopeOf(actor), {
    id: ids.next('aud'),
    kind: actor.kind,
    artifact: artifact.id as ArtifactId,
    run: artifact.run,
    sha256: artifact.sha256,
    outcome: isWhole ? 'whole' : `bytes ${range.from}-${range.to - 1}`,
  })
  return fetchArtifact(fetching, actor.tenant, artifact, range)
}
