/** Requests that happen once per `Idempotency-Key`. */
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { FaultCode } from '../kernel/fault.ts'
import type { Json } from '../kernel/json.ts'
import type { Performed } from '../request/idempotency.shell.ts'
import type { SubmitRequest, SubmitResult } from '../run/submit.shell.ts'
import { type Ctx, etag, ifMatch, type Parts } from './request.ts'
import { submitted } from './views.ts'

export interface OnceOptions {
  /** The body as it was sent. */
  readonly sent: Json
  /** The run that the request makes or moves, when it does. */
  readonly run?: string
  readonly stored?: readonly FaultCode[]
}

export async function performOnce(
  c: Ctx,
  { runtime }: Parts,
  options: OnceOptions,
  perform: (claim: { readonly taken: boolean }) => Promise<Performed>,
): Promise<{ readonly status: ContentfulStatusCode; readonly body: Json }> {
  const request = {
    key: c.req.header('idempotency-key'),
    operation: `${c.req.method} ${c.req.path}`,
    body: options.sent,
    run: options.run ?? '',
  }
  const done = await runtime.once(c.get('caller'), request, perform, options.stored)
  if (done.replayed) c.header('idempotency-replayed', 'true')
  return { status: done.status as ContentfulStatusCode, body: done.body }
}

/** A message becomes a run: 201, with the run's place and the version of what was written to. */
export async function submit(
  c: Ctx,
  parts: Parts,
  sent: Json,
  request: Omit<SubmitRequest, 'claimed' | 'sessionVersion'>,
): Promise<Response> {
  const { runtime } = parts
  const version = ifMatch(c)
  const run = runtime.ids.next('run')
  const done = await performOnce(c, parts, { sent, run }, async () => {
    const made = await runtime.submit(c.get('caller').actor, {
      ...request,
      ...(version !== null && { sessionVersion: version }),
      claimed: { run, status: 201 },
    })
    return { status: 201, body: { ...made }, stored: true }
  })
  const made = done.body as unknown as SubmitResult
  c.header('location', `/v1/runs/${made.run}`)
  c.header('etag', etag(request.session === undefined ? 1 : made.sessionVersion))
  return c.json(submitted(made), done.status)
}
