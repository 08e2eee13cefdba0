/** What operators do with the endpoints of their tenant. Secrets are made here, shown once, and stored sealed. */
import type { Clock } from '../kernel/clock.ts'
import { EVENTS, type EventType } from '../kernel/events.ts'
import { Fault } from '../kernel/fault.ts'
import type { Ids } from '../kernel/ids.ts'
import type { Random } from '../kernel/random.ts'
import type { Actor, Scope } from '../kernel/scope.ts'
import type { Egress } from '../tool/egress/egress.shell.ts'
import type { DeliveryAttempt, Endpoint, EndpointId, EndpointStore, ReplayFrom } from './endpoint.store.ts'
import { SECRET_BYTES, SECRET_PREFIX } from './webhook.ts'
import { type Answered, post } from './webhook.shell.ts'

/** Of one environment. A tenant that needs more fans out behind one. */
const MOST_ENDPOINTS = 50
const LONGEST_URL = 2_048
/** How long the secret before a rotation signs, too. */
const KEEP_MS = 86_400_000

/** Every method throws `permission_denied` for all but operators, and `not_found` for an endpoint that is not there. */
export interface Endpoints {
  /** @throws Fault `invalid_request` for a URL that could never be reached, or a type that does not exist */
  create(
    actor: Actor,
    want: { readonly url: string; readonly types: readonly string[] | null },
  ): Promise<{ readonly id: EndpointId; readonly secret: string }>
  list(actor: Actor): Promise<readonly Endpoint[]>
  get(actor: Actor, id: EndpointId): Promise<Endpoint>
  /** The new secret, and until when the one before signs, too. */
  rotate(actor: Actor, id: EndpointId): Promise<{ readonly secret: string; readonly previousUntil: number }>
  /** Enabled again, it goes on where it stopped. */
  setState(actor: Actor, id: EndpointId, state: Endpoint['state'], reason: string | null): Promise<Endpoint>
  remove(actor: Actor, id: EndpointId): Promise<void>
  /** Sends one message of type `endpoint_tested`, now and once. */
  test(actor: Actor, id: EndpointId): Promise<Pick<Answered, 'ok' | 'status' | 'millis'>>
  attempts(actor: Actor, id: EndpointId, limit: number): Promise<readonly DeliveryAttempt[]>
  /** The number of runs whose events go out again, under the ids that they had. */
  replay(actor: Actor, id: EndpointId, from: ReplayFrom, reason: string): Promise<number>
}

export interface EndpointParts {
  readonly endpoints: EndpointStore
  readonly egress: Egress
  readonly clock: Clock
  readonly ids: Ids
  readonly random: Random
  readonly scopeOf: (actor: Actor) => Scope
}

export function endpointsOf(parts: EndpointParts): Endpoints {
  const { endpoints, egress, clock, ids, random } = parts
  const secret = (): string => SECRET_PREFIX + Buffer.from(random.bytes(SECRET_BYTES)).toString('base64')
  const by = (actor: Actor) => ({ actor: actor.user, audit: ids.next('aud') })
  const scopeOf = (actor: Actor): Scope => {
    if (actor.kind !== 'operator') throw new Fault('permission_denied', 'Only an operator key may do this.')
    return parts.scopeOf(actor)
  }
  async function found(scope: Scope, id: EndpointId): Promise<Endpoint> {
    const [one] = await endpoints.list(scope, id)
    if (!one) throw new Fault('not_found')
    return one
  }
  return {
    async create(actor, { url, types }) {
      const scope = scopeOf(actor)
      checkUrl(egress, url)
      const made = { id: ids.next('whk'), url, types: types && checkTypes(types), secret: secret() }
      if (!(await endpoints.add(scope, made, { ...by(actor), most: MOST_ENDPOINTS })))
        throw new Fault('invalid_request', `An environment has at most ${MOST_ENDPOINTS} endpoints.`)
      return { id: made.id, secret: made.secret }
    },
    list: async (actor) => endpoints.list(scopeOf(actor)),
    get: async (actor, id) => found(scopeOf(actor), id),
    async rotate(actor, id) {
      const made = secret()
      const previousUntil = await endpoints.rotate(scopeOf(actor), id, made, { ...by(actor), keepMs: KEEP_MS })
      if (previousUntil === null) throw new Fault('not_found')
      return { secret: made, previousUntil }
    },
    async setState(actor, id, state, reason) {
      const scope = scopeOf(actor)
      await endpoints.setState(scope, id, state, reason, by(actor))
      return found(scope, id)
    },
    async remove(actor, id) {
      if (!(await endpoints.remove(scopeOf(actor), id, by(actor)))) throw new Fault('not_found')
    },
    async test(actor, id) {
      const target = await endpoints.target(scopeOf(actor), id)
      if (!target) throw new Fault('not_found')
      const body = JSON.stringify({
        type: 'endpoint_tested',
        timestamp: new Date(clock.now()).toISOString(),
        data: { endpoint_id: id },
      })
      const message = { id: `evt_${Buffer.from(random.bytes(12)).toString('hex')}`, body }
      const { ok, status, millis } = await post({ egress, clock }, target, message, new AbortController().signal)
      return { ok, status, millis }
    },
    async attempts(actor, id, limit) {
      const scope = scopeOf(actor)
      await found(scope, id)
      return endpoints.attempts(scope, id, limit)
    },
    async replay(actor, id, from, reason) {
      const scope = scopeOf(actor)
      await found(scope, id)
      return endpoints.replay(scope, id, from, { ...by(actor), reason })
    },
  }
}

const wrong = (path: string, message: string): Fault =>
  new Fault('invalid_request', undefined, { errors: [{ path, message }] })

function checkUrl(egress: Egress, url: string): void {
  if (url.length > LONGEST_URL) throw wrong('/url', `has more than ${LONGEST_URL} characters`)
  try {
    egress.check(url)
  } catch {
    throw wrong(
      '/url',
      'is no https address of the public internet; one on this machine stands in `developmentOrigins` of the runtime',
    )
  }
}

/** What people may see. */
const PUBLIC = (Object.keys(EVENTS) as EventType[]).filter((type) => EVENTS[type].visibility === 'user')

function checkTypes(types: readonly string[]): readonly EventType[] {
  const unknown = types.findIndex((type) => !PUBLIC.some((known) => known === type))
  if (unknown >= 0) throw wrong(`/types/${unknown}`, `is none of ${PUBLIC.join(', ')}`)
  return [...new Set(types)] as EventType[]
}
