/** What a server of tools answered, as a result of ours. Text is text, data is counted and not passed on. */
import type { Json, JsonObject } from '../../kernel/json.ts'

export interface McpAnswer {
  /** The server says that the tool failed. */
  readonly isError: boolean
  readonly value: Json
  /** Pictures and sounds of the answer. */
  readonly files: readonly Uint8Array[]
}

/** `answer` is a result of `tools/call` in plain JSON. Structured content counts before the text that repeats it. */
export function readAnswer(answer: JsonObject): McpAnswer {
  const isError = answer.isError === true
  const content = Array.isArray(answer.content) ? (answer.content as readonly Json[]) : []
  const files = isError ? [] : content.flatMap(fileOf)
  if (answer.structuredContent !== undefined && !isError) return { isError, value: answer.structuredContent, files }
  const parts = content.map(part)
  const [only] = parts
  if (parts.every((p) => typeof p === 'string'))
    return { isError, value: parts.length === 1 ? (only ?? '') : parts.join('\n'), files }
  return { isError, value: parts.length === 1 ? (only ?? null) : parts, files }
}

/** What stands in the answer itself; what it is is found out from its bytes. */
function fileOf(block: Json): readonly Uint8Array[] {
  if (typeof block !== 'object' || block === null || Array.isArray(block)) return []
  const { type, data } = block as JsonObject
  if ((type !== 'image' && type !== 'audio') || typeof data !== 'string' || data === '') return []
  return [Buffer.from(data, 'base64')]
}

/** Pictures, sounds and files are named with their size: their bytes are nothing that a model reads in the text of a tool message. */
function part(block: Json): Json {
  if (typeof block !== 'object' || block === null || Array.isArray(block)) return ''
  const { type, text, data, mimeType = null, uri = null, name = null, resource } = block as JsonObject
  if (type === 'text' && typeof text === 'string') return text
  if (type === 'resource' && typeof resource === 'object' && resource !== null && !Array.isArray(resource)) {
    const inner = resource as JsonObject
    if (typeof inner.text === 'string') return { type, uri: inner.uri ?? null, text: inner.text }
    return { type, uri: inner.uri ?? null, mimeType: inner.mimeType ?? null, bytes: bytesOf(inner.blob) }
  }
  if (type === 'resource_link') return { type, uri, name, mimeType }
  return { type: type ?? null, mimeType, bytes: bytesOf(data) }
}

/** Bytes of base64 text. */
const bytesOf = (data: Json | undefined): number => (typeof data === 'string' ? Math.floor((data.length * 3) / 4) : 0)
