/**
 * What comes with a message: looked at, counted, kept as objects before the message is stored, and taken back when it is
 * refused (T2).
 */
import { mediaTokens } from '../context/media.ts'
import type { MediaPart } from '../context/message.ts'
import { Fault } from '../kernel/fault.ts'
import type { ArtifactId, RunId } from '../kernel/ids.ts'
import {
  isDeclared,
  MEDIA_EXTENSIONS,
  MEDIA_LIMITS,
  type MediaFacts,
  mediaFacts,
  type MediaKind,
} from '../kernel/media.ts'
import type { Actor, Scope } from '../kernel/scope.ts'
import { scopeOf } from '../request/actor.ts'
import type { Kept } from '../tool/result/artifact.ts'
import { fetchArtifact } from '../tool/result/fetch.shell.ts'
import { keep } from '../tool/result/keep.shell.ts'
import type { Agent } from './agent.ts'
import type { ToolServices } from './services.shell.ts'

/** A picture, document or sound that is sent: its bytes, or the id of an artifact of the same subject. */
export type GivenPart =
  | { readonly type: MediaKind; readonly mediaType: string; readonly data: Uint8Array }
  | { readonly type: MediaKind; readonly mediaType: string; readonly artifact: ArtifactId }

/** A part that was found to be what it was said to be. `bytes` null: it is kept already. */
interface Sound {
  readonly facts: MediaFacts
  readonly bytes: Uint8Array | null
  readonly artifact: string
}

export interface Uploads {
  /** As the message refers to them, in the order in which they were given. */
  readonly parts: readonly MediaPart[]
  readonly kept: readonly Kept[]
}

export const NO_UPLOADS: Uploads = { parts: [], kept: [] }

type Keeping = ToolServices['keeping']

/**
 * Nothing is kept unless every part may be sent.
 * @throws Fault `media_too_many`, `media_not_accepted`, `media_too_large`, `media_unknown`; `not_found` for an artifact of
 * somebody else; `unavailable` without an object store
 */
export async function keepUploads(
  keeping: Keeping,
  actor: Actor,
  agent: Agent,
  given: { readonly run: RunId; readonly parts: readonly GivenPart[] },
): Promise<Uploads> {
  if (given.parts.length === 0) return NO_UPLOADS
  if (given.parts.length > MEDIA_LIMITS.parts)
    throw refused('media_too_many', '/parts', `has more than ${MEDIA_LIMITS.parts} parts`)
  given.parts.forEach(({ type }, at) => {
    if (!agent.context.accepts?.includes(type))
      throw refused('media_not_accepted', `/parts/${at}/type`, 'is not accepted by this agent')
  })
  if (!keeping) throw new Fault('unavailable', 'This server has no object store to keep files in.')
  const sound: Sound[] = []
  let left: number = MEDIA_LIMITS.messageBytes
  for (const [at, part] of given.parts.entries()) {
    const one = await soundOf(keeping, actor, part, { at, left })
    left -= one.facts.bytes
    sound.push(one)
  }
  const { environment, tenant } = actor
  const kept: Kept[] = []
  const place = { tenant, environment, run: given.run, step: 0, position: 0, tool: '' }
  const parts: MediaPart[] = []
  for (const [at, { facts, bytes, artifact }] of sound.entries()) {
    const one = bytes && (await keepOne(keeping, place, facts, bytes))
    if (one) kept.push(one)
    const tokens = mediaTokens(facts, agent.context.countMedia)
    parts.push({ ...facts, place: at + 1, artifact: one?.id ?? artifact, tokens })
  }
  return { parts, kept }
}

const refused = (
  code: 'media_too_many' | 'media_not_accepted' | 'media_too_large' | 'media_unknown',
  path: string,
  message: string,
) => new Fault(code, undefined, { errors: [{ path, message }] })

async function soundOf(
  keeping: NonNullable<Keeping>,
  actor: Actor,
  part: GivenPart,
  { at, left }: { readonly at: number; readonly left: number },
): Promise<Sound> {
  const path = `/parts/${at}`
  const limit = Math.min(MEDIA_LIMITS.partBytes, left)
  const tooLarge = (size: number) => {
    const whole =
      size > MEDIA_LIMITS.partBytes
        ? `${MEDIA_LIMITS.partBytes} bytes`
        : `${MEDIA_LIMITS.messageBytes} bytes of all parts`
    return refused('media_too_large', path, `has more than ${whole}`)
  }
  const isNew = 'data' in part
  if (isNew && part.data.byteLength > limit) throw tooLarge(part.data.byteLength)
  const bytes = isNew ? part.data : await bytesOf(keeping, actor, part.artifact, { path, limit, tooLarge })
  const facts = mediaFacts(bytes)
  if (!facts || !isDeclared(facts, part.type, part.mediaType))
    throw refused('media_unknown', path, 'is not what its type and media type say')
  return { facts, bytes: isNew ? bytes : null, artifact: isNew ? '' : part.artifact }
}

/** An artifact of the same subject, read once to see what it is. What the caller may not see is not there. */
async function bytesOf(
  keeping: NonNullable<Keeping>,
  actor: Actor,
  id: ArtifactId,
  {
    path,
    limit,
    tooLarge,
  }: { readonly path: string; readonly limit: number; readonly tooLarge: (size: number) => Fault },
): Promise<Uint8Array> {
  const user = actor.kind === 'end_user' ? actor.user : ''
  const found = await keeping.artifacts.get(scopeOf(actor), user, id)
  if (found?.subject !== actor.subject)
    throw new Fault('not_found', undefined, { errors: [{ path: `${path}/artifact`, message: 'is not there' }] })
  if (found.bytes > limit) throw tooLarge(found.bytes)
  return wholeOf(keeping, actor.tenant, found)
}

/** All bytes of an artifact, held against their hash. */
export async function wholeOf(
  keeping: NonNullable<Keeping>,
  tenant: string,
  artifact: Parameters<typeof fetchArtifact>[2],
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of fetchArtifact(keeping, tenant, artifact, { from: 0, to: artifact.bytes }))
    pieces.push(piece)
  return Buffer.concat(pieces)
}

async function keepOne(
  keeping: NonNullable<Keeping>,
  place: Parameters<typeof keep>[1],
  { kind, mediaType }: MediaFacts,
  bytes: Uint8Array,
): Promise<Kept> {
  // a name of ours: what a client calls a file is content that nobody needs
  const content = { source: once(bytes), name: `${kind}.${MEDIA_EXTENSIONS[mediaType]}`, mediaType }
  try {
    return await keep(keeping, place, content, { maxRawBytes: MEDIA_LIMITS.partBytes, kind: 'upload' })
  } catch (cause) {
    throw new Fault('unavailable', 'What the message carries cannot be kept right now.', { cause })
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** The message was refused: nothing of it stays. What cannot be removed now refers to nothing, and is swept. */
export async function dropUploads(keeping: Keeping, scope: Scope, { kept }: Uploads): Promise<void> {
  if (!keeping || kept.length === 0) return
  try {
    const gone = await keeping.artifacts.drop(
      scope,
      kept.map((k) => k.objectKey),
    )
    for (const key of gone) await keeping.objects.delete(key)
  } catch {
    // the refusal is what the caller has to know
  }
}
