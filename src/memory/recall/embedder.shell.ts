/**
 * Any URL that speaks the embeddings dialect of OpenAI, over one fetch for each batch: no retry, no redirect, and neither
 * the key nor the URL nor a text in any error.
 */
import { Fault } from '../../kernel/fault.ts'
import type { Embedder } from './embedder.ts'

export interface OpenAIEmbedderOptions {
  /** Without `/embeddings`, which is added. */
  readonly baseUrl: string
  readonly model: string
  readonly dimensions: number
  /** Sent as a bearer. */
  readonly apiKey?: string
  /** Texts of one request; default 64. */
  readonly batch?: number
  readonly weight?: number
  readonly floor?: number
}

const BATCH = 64
/** Of one text, in code units: what hosted models read of a text at all. */
const TEXT = 8_000

/** @throws Fault `invalid_definition` for a URL that is none, and for dimensions that no vector has */
export function openAIEmbedder(options: OpenAIEmbedderOptions): Embedder {
  const { model, dimensions, apiKey, batch = BATCH, weight, floor } = options
  const url = URL.canParse(options.baseUrl) ? new URL(options.baseUrl) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new Fault('invalid_definition', '`baseUrl` must be an http or https URL without a credential.')
  if (!Number.isInteger(dimensions) || dimensions < 1 || !Number.isInteger(batch) || batch < 1)
    throw new Fault('invalid_definition', '`dimensions` and `batch` must be whole numbers above 0.')
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/embeddings`
  const headers = {
    'content-type': 'application/json',
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  }
  const ask = async (texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> => {
    const input = texts.map((text) => text.slice(0, TEXT))
    const body = JSON.stringify({ model, input, encoding_format: 'float' })
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' }).catch(() => {
      signal.throwIfAborted()
      throw new Fault('model_transient')
    })
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new Fault(codeOf(response.status))
    }
    const answer: unknown = await response.json().catch(() => null)
    return vectorsIn(answer, texts.length, dimensions)
  }
  return {
    id: `${url.host}/${model}`,
    dimensions,
    ...(weight === undefined ? {} : { weight }),
    ...(floor === undefined ? {} : { floor }),
    async embed(texts, signal) {
      const all: Float32Array[] = []
      for (let at = 0; at < texts.length; at += batch) {
        signal.throwIfAborted()
        all.push(...(await ask(texts.slice(at, at + batch), signal)))
      }
      return all
    },
  }
}

function codeOf(status: number) {
  if (status === 429) return 'model_rate_limited'
  if (status === 401 || status === 403) return 'model_auth'
  return status >= 500 ? 'model_transient' : 'model_invalid_request'
}

/** By `index`, since the dialect allows any order. */
function vectorsIn(answer: unknown, count: number, dimensions: number): readonly Float32Array[] {
  const data = typeof answer === 'object' && answer !== null && 'data' in answer ? answer.data : null
  const vectors = new Array<Float32Array | undefined>(count).fill(undefined)
  for (const one of Array.isArray(data) ? (data as unknown[]) : []) {
    const { index, embedding } = one as { index?: unknown; embedding?: unknown }
    if (typeof index !== 'number' || !Array.isArray(embedding) || embedding.length !== dimensions) continue
    if (embedding.every((value) => typeof value === 'number' && Number.isFinite(value)))
      vectors[index] = Float32Array.from(embedding as number[])
  }
  if (vectors.length !== count || vectors.some((vector) => vector === undefined))
    throw new Fault('model_protocol', 'The provider did not give one vector of the agreed length for each text.')
  return vectors as Float32Array[]
}
