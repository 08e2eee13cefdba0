/** Pictures, documents and sounds of a result that the model is shown beside its text. */
import type { ContextLimits } from '../context/limits.ts'
import { mediaTokens } from '../context/media.ts'
import type { MediaPart } from '../context/message.ts'
import { MEDIA_LIMITS } from '../kernel/media.ts'
import type { ToolOutcome } from '../tool/contract.ts'

/** Those that the agent takes, up to the limits of a message; the text of the result names the others. */
export function shownParts(outcome: ToolOutcome | null, limits: ContextLimits): readonly MediaPart[] {
  const parts: MediaPart[] = []
  let left: number = MEDIA_LIMITS.messageBytes
  for (const { id, media } of (outcome?.ok && outcome.artifacts) || []) {
    if (!media || !limits.accepts?.includes(media.kind)) continue
    if (media.bytes > Math.min(MEDIA_LIMITS.partBytes, left) || parts.length >= MEDIA_LIMITS.parts) continue
    left -= media.bytes
    parts.push({ ...media, place: parts.length + 1, artifact: id, tokens: mediaTokens(media, limits.countMedia) })
  }
  return parts
}
