import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/kernel/json.ts'
import type { Contract, Plan, ProbeOutcome, ToolContext } from '../../src/tool/contract.ts'
import { type Served, serveChild } from './child.ts'
import { airlineTools } from './contracts.ts'
import { AIRLINE_DATA, hasAirlineData, readConversations, readDefinitions } from './data.ts'
import { vendorAt } from './vendor.ts'

const present = hasAirlineData()
if (!present) console.log(`skipped: no recorded airline in ${AIRLINE_DATA}`)

const BAGS = { reservation_id: '4WQ150', total_baggages: 6, nonfree_baggages: 1, payment_id: 'gift_card_3576581' }

describe.skipIf(!present)('the contracts of the airline', () => {
  const folder = mkdtempSync(join(tmpdir(), 'airline-'))
  let served: Served
  let contracts: readonly Contract[]
  beforeAll(async () => {
    served = await serveChild('./provider.ts', ['--log', join(folder, 'log')])
    contracts = airlineTools(vendorAt(served.url), readDefinitions())
  })
  afterAll(async () => {
    await served.stop()
    rmSync(folder, { recursive: true })
  })

  /** What the gateway would give: only the conversation and the key matter to these tools. */
  const context = (conversation: string, effectKey: string) =>
    ({ actor: { subject: conversation }, effectKey, signal: new AbortController().signal }) as ToolContext
  const named = (name: string) => {
    const found = contracts.find((contract) => contract.exposedName === name)
    if (!found) throw new Error(`no ${name}`)
    return found
  }
  const does = (name: string) => named(name).implementation

  it('I1 the model is offered the recorded names, and every level of effect is as the rules have it', () => {
    const levels = Object.fromEntries(contracts.map((contract) => [contract.exposedName, contract.effect]))
    expect(Object.keys(levels)).toEqual(readDefinitions().map(({ name }) => name))
    const above = Object.entries(levels).filter(([, effect]) => effect !== 'read')
    expect(Object.fromEntries(above)).toEqual({
      book_reservation: 'irreversible',
      cancel_reservation: 'irreversible',
      send_certificate: 'irreversible',
      update_reservation_baggages: 'write',
      update_reservation_flights: 'write',
      update_reservation_passengers: 'write',
    })
    expect(contracts.filter((contract) => contract.approval === 'confirm')).toHaveLength(6)
    expect(contracts.filter((contract) => contract.ends)).toEqual([named('transfer_to_human_agents')])
  })

  it('I3 every recorded call passes the schema of its contract, and a call with a field too many does not', () => {
    const calls = readConversations().flatMap(({ turns }) => turns.flatMap((turn) => turn.calls))
    expect(calls.filter(({ name, args }) => named(name).check(args).length > 0)).toEqual([])
    expect(named('cancel_reservation').check({ reservation_id: 'R', force: true })).toHaveLength(1)
  })

  it('J3 the effect key makes a repeat of a commit the same effect', async () => {
    const commit = does('update_reservation_baggages').commit
    const first = await commit?.(BAGS, context('repeat', 'k'))
    expect(await commit?.(BAGS, context('repeat', 'k'))).toEqual(first)
    const again = (await commit?.(BAGS, context('repeat', 'other'))) as { payment_history: unknown[] }
    expect(again.payment_history).toHaveLength(2)
  })

  it('J4 a probe by key and a probe of the reservation tell what happened', async () => {
    const ask = async (tool: string, args: JsonObject, key: string): Promise<ProbeOutcome | undefined> =>
      does(tool).probe?.(args, context('probe', key))
    expect(await ask('update_reservation_baggages', BAGS, 'k')).toEqual({ happened: false })
    const result = await does('update_reservation_baggages').commit?.(BAGS, context('probe', 'k'))
    expect(await ask('update_reservation_baggages', BAGS, 'k')).toEqual({ happened: true, result })
    const cancel = { reservation_id: '4WQ150' }
    expect(await ask('cancel_reservation', cancel, 'c')).toEqual({ happened: false })
    const cancelled = await does('cancel_reservation').commit?.(cancel, context('probe', 'c'))
    expect(await ask('cancel_reservation', cancel, 'c')).toEqual({ happened: true, result: cancelled })
    expect(await ask('cancel_reservation', { reservation_id: 'none' }, 'c')).toEqual({ happened: false })
  })

  it('J12 a plan names its resource, and a change of it or of the paying card makes another version', async () => {
    const cx = context('plan', 'k')
    const planOf = async (tool: string, args: JsonObject) => (await does(tool).plan?.(args, cx)) as Plan
    const plan = await planOf('update_reservation_baggages', BAGS)
    expect(plan).toMatchObject({
      summary: 'Change reservation 4WQ150 to 6 bags, 1 of them not free, paid with gift_card_3576581',
      before: { reservation_id: '4WQ150', total_baggages: 5 },
      resource: 'reservation:4WQ150',
    })
    const version = () => does('update_reservation_baggages').resourceVersion?.(BAGS, cx)
    expect(await version()).toBe(plan.resourceVersion)
    const gesture = { user_id: 'chen_jackson_3290', amount: 50 }
    const sending = await planOf('send_certificate', gesture)
    expect(sending.resource).toBe('user:chen_jackson_3290')
    expect(Object.keys(sending.before as object)).toEqual(['payment_methods', 'reservations'])
    await does('send_certificate').commit?.(gesture, cx)
    expect(await version()).not.toBe(plan.resourceVersion)
    expect((await planOf('send_certificate', gesture)).resourceVersion).not.toBe(sending.resourceVersion)
    expect(await planOf('cancel_reservation', { reservation_id: 'none' })).toMatchObject({ before: null })
  })

  it('B6 a refusal by a rule is a normal result, an answer of the door is an error without values', async () => {
    const refused = { ...BAGS, payment_id: 'none' }
    const commit = does('update_reservation_baggages').commit
    expect(await commit?.(refused, context('refused', 'k'))).toBe('Error: payment method not found')
    await expect(commit?.(BAGS, context('refused', 'k'))).rejects.toThrow(/^the airline answered with status 409$/)
  })
})
