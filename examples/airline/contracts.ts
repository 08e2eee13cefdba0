/**
 * The fourteen tools as contracts: what a run may do to the airline, and how each effect is planned, keyed and asked for.
 *
 * A conversation is the subject of its actor, so a run can only reach the world of its own conversation.
 */
import type { Contract, Plan, ToolContext } from '../../src/tool/contract.ts'
import type { Json, JsonObject } from '../../src/kernel/json.ts'
import { tool } from '../../src/tool/define.ts'
import type { OfferedDefinition } from './data.ts'
import { type Change, changeOf } from './plans.ts'
import { ruleOf } from './rules/tools.ts'
import { hashOf } from './value.ts'
import type { Vendor } from './vendor.ts'

/**
 * One above what the recorded model does in a run: four equal bookings, the last one right, and five equal refusals.
 * Going back and forth between two look-ups is its way to compare.
 */
const RAISED = { identicalCalls: 5, identicalErrors: 6, alternation: false }
export type Breaker = 'default' | 'raised'
const ROLES = { user_id: 'identity', reservation_id: 'identity', payment_id: 'identity', amount: 'amount' } as const

/** `definitions`: name, description and JSON Schema of each tool, as the recorded model was offered them. */
export function airlineTools(
  vendor: Vendor,
  definitions: readonly OfferedDefinition[],
  breaker: Breaker = 'raised',
): readonly Contract[] {
  return definitions.map((definition) => {
    const { name, description, parameters } = definition
    const params = Object.fromEntries(Object.entries(ROLES).filter(([field]) => field in (parameters.properties ?? {})))
    const limits = breaker === 'raised' ? RAISED : {}
    const shared = { description, input: withAirports(parameters), breaker: limits, params }
    const change = changeOf(name)
    return change ? effectTool(vendor, name, change, shared) : readTool(vendor, name, shared)
  })
}

type Shared = {
  readonly description: string
  readonly input: JsonObject
  readonly breaker: Partial<typeof RAISED>
  readonly params: { readonly [field: string]: 'identity' | 'amount' }
}

function readTool(vendor: Vendor, name: string, shared: Shared): Contract {
  return tool(`${name}@1`, {
    ...shared,
    effect: 'read',
    ...(name === 'transfer_to_human_agents' && {
      ends: 'handed_over' as const,
      acknowledge: 'a person takes over; nothing of the airline changes',
    }),
    run: (args, cx) => vendor.call({ conversation: cx.actor.subject, tool: name, args, signal: cx.signal }),
  })
}

function effectTool(vendor: Vendor, name: string, change: Change, shared: Shared): Contract {
  return tool(`${name}@1`, {
    ...shared,
    effect: ruleOf(name)?.effect ?? 'irreversible',
    plan: async (args, cx): Promise<Plan> => {
      const { resource, before, version } = await resourceOf(vendor, change, args, cx)
      return { summary: change.summary(args), before, resource, resourceVersion: version }
    },
    resourceVersion: async (args, cx) => (await resourceOf(vendor, change, args, cx)).version,
    commit: (args, cx) =>
      vendor.call({
        conversation: cx.actor.subject,
        tool: name,
        args,
        ...(change.keyed && { key: cx.effectKey }),
        signal: cx.signal,
      }),
    unknown: change.keyed ? 'key' : 'probe',
    probe: async (cx, args) => {
      if (!change.keyed)
        return cancelled(await vendor.reservation(cx.actor.subject, idOf(args, 'reservation_id'), cx.signal))
      const kept = await vendor.findByKey(cx.actor.subject, cx.effectKey, cx.signal)
      return kept ? { happened: true, result: kept.result } : { happened: false }
    },
  })
}

/** The airline takes no key for a cancellation; the reservation itself is the only witness. */
function cancelled(reservation: JsonObject | null) {
  return reservation?.status === 'cancelled'
    ? ({ happened: true, result: reservation } as const)
    : ({ happened: false } as const)
}

/** The record that a write changes, and a version that differs once anything that the write depends on does. */
async function resourceOf(
  vendor: Vendor,
  change: Change,
  args: JsonObject,
  cx: ToolContext,
): Promise<{ readonly resource: string; readonly before: Json; readonly version: string }> {
  const conversation = cx.actor.subject
  if (change.resource === 'user') {
    const id = idOf(args, 'user_id')
    const user = await vendor.user(conversation, id, cx.signal)
    // what a confirmer needs of a user is what the write touches, and nothing personal
    const before = user && { payment_methods: user.payment_methods ?? null, reservations: user.reservations ?? null }
    return { resource: `user:${id}`, before, version: hashOf(user) }
  }
  const id = idOf(args, 'reservation_id')
  const reservation = await vendor.reservation(conversation, id, cx.signal)
  const payer =
    reservation && change.paid ? await vendor.user(conversation, idOf(reservation, 'user_id'), cx.signal) : null
  const version = hashOf([reservation, payer?.payment_methods ?? null])
  return { resource: `reservation:${id}`, before: reservation, version }
}

function idOf(record: JsonObject, field: string): string {
  const id = record[field]
  return typeof id === 'string' ? id : ''
}

/** A recorded call also names the airports of a flight. They are accepted and have no say. */
function withAirports(parameters: JsonObject): JsonObject {
  const properties = parameters.properties as { readonly flights?: Flights } | undefined
  const flights = properties?.flights
  if (!flights) return parameters
  const airport = { type: 'string' }
  const items = {
    ...flights.items,
    properties: { ...flights.items.properties, origin: airport, destination: airport },
    additionalProperties: false,
  }
  return { ...parameters, properties: { ...properties, flights: { ...flights, items } } }
}
type Flights = {
  readonly [key: string]: Json
  readonly items: { readonly [key: string]: Json; readonly properties: JsonObject }
}
