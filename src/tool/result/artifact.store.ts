/** Rows of artifacts under their tenant. The bytes are elsewhere; a row is seen when the outcome that refers to it is settled. */
import type { Db } from '../../db/port.ts'
import type { ContentKeys } from '../../db/seal.ts'
import type { ArtifactId, Id } from '../../kernel/ids.ts'
import type { ActorKind, Scope } from '../../kernel/scope.ts'
import type { ArtifactAbout, Kept } from './artifact.ts'
import {
  artifactDetail,
  type ArtifactDetailRow,
  artifactsOfRun,
  auditDownload,
  dropArtifacts,
  keptFiles,
  recordArtifacts,
  recordUploads,
} from './artifact.sql.ts'
import type { RowsSummary } from './summary.ts'

type Walls = Pick<Scope, 'tenant' | 'environment'>

export interface ArtifactPlace {
  readonly run: string
  readonly step: number
  readonly position: number
  readonly callId: string
  readonly tool: string
}

export interface UploadPlace {
  readonly run: string
  readonly session: string
}

export interface ArtifactView extends Omit<ArtifactDetailRow, 'about'> {
  readonly name: string
  readonly summary: RowsSummary | null
  /** Stored bytes of a full frame. */
  readonly frame: number
}

export interface Download {
  readonly id: Id<'aud'>
  readonly kind: ActorKind
  readonly artifact: ArtifactId
  readonly run: string
  readonly sha256: string
  /** `whole`, or the range. */
  readonly outcome: string
}

export interface ArtifactStore {
  /** Before the commit whose outcome refers to them, by the hash that it will be stored with. */
  record(scope: Scope, place: ArtifactPlace, kept: readonly Kept[], resultHash: string): Promise<void>
  /** What came with the message that is about to open a run, by the hash that it will be stored with. */
  recordUploads(scope: Scope, place: UploadPlace, kept: readonly Kept[], messageHash: string): Promise<void>
  /** An empty `user` is a caller who sees the whole tenant. */
  ofRun(scope: Scope, user: string, run: string): Promise<readonly ArtifactView[]>
  get(scope: Scope, user: string, artifact: ArtifactId): Promise<ArtifactView | null>
  /** Files of a conversation, the oldest first. */
  files(scope: Walls, session: string): Promise<readonly ArtifactView[]>
  /** Records who took what; no content. */
  downloaded(scope: Scope, entry: Download): Promise<void>
  /** Of these objects, the keys of those that may be deleted; their rows are tombstones from now on. */
  drop(walls: Walls, keys: readonly string[]): Promise<readonly string[]>
}

export function artifactStore(db: Db, keys: ContentKeys): ArtifactStore {
  const sealed = (tenant: string, about: ArtifactAbout): string =>
    Buffer.from(keys.seal(tenant, Buffer.from(JSON.stringify(about)))).toString('base64')
  const row = (tenant: string, k: Kept) => ({
    id: k.id,
    kind: k.kind,
    media_type: k.mediaType,
    bytes: k.bytes,
    sha256: keys.veil(tenant, k.sha256),
    object_key: k.objectKey,
    about: sealed(tenant, { name: k.name, frame: k.frame, summary: k.summary }),
  })
  const view = (tenant: string, { about, ...of }: ArtifactDetailRow): ArtifactView => ({
    ...of,
    sha256: keys.unveil(tenant, of.sha256),
    ...(JSON.parse(Buffer.from(keys.open(tenant, about ?? new Uint8Array())).toString()) as ArtifactAbout),
  })
  return {
    async record(scope, { run, step, position, callId, tool }, kept, resultHash) {
      const artifacts = kept.map((k) => row(scope.tenant, k))
      const origin = JSON.stringify({ kind: 'tool', tool, step, position })
      const { tenant } = scope
      const all = { tenant, run, step, position, callId, origin, artifacts: JSON.stringify(artifacts) }
      await db.write(scope, recordArtifacts, { ...all, resultHash: keys.veil(tenant, resultHash) })
    },
    async recordUploads(scope, place, kept, messageHash) {
      const { tenant, environment, user, subject } = scope
      const artifacts = kept.map((k, position) => ({ ...row(tenant, k), position }))
      const hash = keys.veil(tenant, messageHash)
      const owner = { tenant, environment, user, subject, ...place }
      await db.write(scope, recordUploads, { ...owner, hash, artifacts: JSON.stringify(artifacts) })
    },
    async ofRun(scope, user, run) {
      const rows = await db.read(scope, artifactsOfRun, { tenant: scope.tenant, run, user })
      return rows.map((row) => view(scope.tenant, row))
    },
    async get(scope, user, artifact) {
      const [row] = await db.read(scope, artifactDetail, { tenant: scope.tenant, artifact, user })
      return row ? view(scope.tenant, row) : null
    },
    async files(scope, session) {
      const rows = await db.read(scope, keptFiles, { tenant: scope.tenant, session })
      return rows.map((row) => view(scope.tenant, row))
    },
    async downloaded({ tenant, environment, user }, { kind, sha256, ...entry }) {
      await db.write({ tenant, environment }, auditDownload, {
        ...entry,
        sha256: keys.veil(tenant, sha256),
        tenant,
        environment,
        actor: user,
        actorKind: kind,
      })
    },
    async drop(walls, keys) {
      const rows = await db.write(walls, dropArtifacts, { tenant: walls.tenant, keys: [...keys] })
      return rows.map((row) => row.key)
    },
  }
}
