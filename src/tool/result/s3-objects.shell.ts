/**
 * Objects in a bucket of any service that speaks the S3 API, for workers on several machines.
 *
 * What fits into one part is one request. Larger objects go up in parts, so that one part is in memory at a time, and are
 * there when the last request says so. What a process leaves half sent when it dies, the bucket's own rule for unfinished
 * uploads removes.
 */
import { AwsClient } from 'aws4fetch'
import { Fault } from '../../kernel/fault.ts'
import { isObjectKey, type ObjectStore, type StoredObject } from './objects.ts'

export interface S3Options {
  /** `https://s3.example.com/bucket`, or with a prefix: `https://s3.example.com/bucket/prefix`. */
  readonly url: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  /** Default `us-east-1`. */
  readonly region?: string
}

/** S3 takes parts from 5 MiB and at most 10 000 of them: enough for 80 GB, beyond the largest result. */
const PART = 8 * 1024 * 1024
/** Of a request that carries no more than it names; a slow one is repeated by the caller. */
const ANSWER_MS = 60_000
const RETRIES = 2

export function s3Objects(options: S3Options): ObjectStore {
  const { url, region = 'us-east-1', ...keys } = options
  const [bucket, prefix] = placesOf(url)
  const client = new AwsClient({ ...keys, region, service: 's3', retries: RETRIES })

  /** @throws Error for every answer that is not good; its text names no address and no key */
  async function ask(
    method: string,
    address: string,
    init: { body?: Uint8Array; headers?: Record<string, string> } = {},
  ) {
    const signal = AbortSignal.timeout(ANSWER_MS)
    const response = await client.fetch(address, { method, ...init, signal, redirect: 'error' })
    if (response.ok) return response
    await response.body?.cancel()
    throw Object.assign(new Error(`the object store answered ${response.status}`), { status: response.status })
  }
  const addressOf = (key: string): string => {
    if (!isObjectKey(key)) throw new Fault('internal', 'A key of the object store has another form.')
    return `${bucket}/${prefix}${key}`
  }
  const put = (address: string, body: Uint8Array) => ask('PUT', address, { body })

  /** The parts after the first, and the end of them; when anything fails, all parts are given up. */
  async function putParts(address: string, parts: AsyncIterable<Uint8Array>): Promise<void> {
    const begun = tagOf(await (await ask('POST', `${address}?uploads`)).text(), 'UploadId')
    const upload = `uploadId=${encodeURIComponent(begun)}`
    try {
      const tags: string[] = []
      for await (const part of parts) {
        const answer = await put(`${address}?partNumber=${tags.length + 1}&${upload}`, part)
        await answer.body?.cancel()
        tags.push(answer.headers.get('etag') ?? '')
      }
      const list = tags.map((tag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${tag}</ETag></Part>`).join('')
      const body = Buffer.from(`<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`)
      const done = await (await ask('POST', `${address}?${upload}`, { body })).text()
      // this answer may be 200 and hold an error all the same
      if (done.includes('<Error>')) throw new Error('the object store did not complete the upload')
    } catch (error) {
      await ask('DELETE', `${address}?${upload}`).catch(() => {})
      throw error
    }
  }

  return {
    async put(key, source) {
      const address = addressOf(key)
      const parts = partsOf(source)[Symbol.asyncIterator]()
      const first = await parts.next()
      if (first.done === true || first.value.byteLength < PART) {
        await put(address, first.done === true ? new Uint8Array() : first.value)
        return
      }
      await putParts(address, joined(first.value, parts))
    },
    async get(key, range) {
      if (range && range.to <= range.from) return joined(new Uint8Array(), [][Symbol.iterator]())
      const last = range && range.to < Number.MAX_SAFE_INTEGER ? range.to - 1 : ''
      const headers: Record<string, string> = range ? { range: `bytes=${range.from}-${last}` } : {}
      // no time for the whole: it is read as fast as its reader takes it
      const response = await client.fetch(addressOf(key), { headers, redirect: 'error' })
      if (response.ok && response.body) return response.body
      await response.body?.cancel()
      if (response.status === 404) return null
      throw new Error(`the object store answered ${response.status}`)
    },
    async delete(key) {
      await ask('DELETE', addressOf(key)).catch((error: unknown) => {
        if ((error as { readonly status?: number }).status !== 404) throw error
      })
    },
    async *list() {
      for (let after: string | null = ''; after !== null; ) {
        const query = `list-type=2&prefix=${encodeURIComponent(prefix)}`
        const token: string = after === '' ? '' : `&continuation-token=${encodeURIComponent(after)}`
        const page = await (await ask('GET', `${bucket}?${query}${token}`)).text()
        yield* listed(page, prefix)
        after = page.includes('<IsTruncated>true</IsTruncated>') ? tagOf(page, 'NextContinuationToken') : null
      }
    },
  }
}

/** The address of the bucket, and what stands before each key. */
function placesOf(text: string): readonly [string, string] {
  const url = new URL(text)
  const [bucket = '', ...rest] = url.pathname.split('/').filter((part) => part !== '')
  if (bucket === '' || !/^https?:$/.test(url.protocol) || url.search !== '' || url.username !== '')
    throw new Fault(
      'invalid_definition',
      'The address of an object store is https://host/bucket, with a prefix if any.',
    )
  return [`${url.origin}/${bucket}`, rest.length > 0 ? `${rest.join('/')}/` : '']
}

async function* partsOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let part = Buffer.allocUnsafe(PART)
  let used = 0
  for await (const bytes of source) {
    for (let at = 0; at < bytes.byteLength; ) {
      const taken = Math.min(PART - used, bytes.byteLength - at)
      part.set(bytes.subarray(at, at + taken), used)
      used += taken
      at += taken
      if (used < PART) continue
      yield part
      // the one before may still be on its way
      part = Buffer.allocUnsafe(PART)
      used = 0
    }
  }
  if (used > 0) yield part.subarray(0, used)
}

async function* joined(
  first: Uint8Array,
  rest: AsyncIterator<Uint8Array> | Iterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield first
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}

/** The one value of an element. Our own keys and the tokens of the service hold nothing that XML would escape but `&`. */
const tagOf = (xml: string, name: string): string =>
  (new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? '').replaceAll('&quot;', '"').replaceAll('&amp;', '&')

function* listed(xml: string, prefix: string): Generator<StoredObject> {
  for (const [, entry = ''] of xml.matchAll(/<Contents>([\s\S]*?)<\/Contents>/g)) {
    const key = tagOf(entry, 'Key').slice(prefix.length)
    const at = Date.parse(tagOf(entry, 'LastModified'))
    if (isObjectKey(key) && Number.isFinite(at)) yield { key, at }
  }
}
