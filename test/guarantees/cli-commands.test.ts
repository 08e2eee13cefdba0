/** The commands against a running server, which is in this process; each command is a process of its own. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXIT } from '../../src/kernel/fault.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { tool } from '../../src/tool/define.ts'
import { openStore, type TestStore } from '../setup/engines.ts'
import { oneLine, type Place, plimsoll } from '../setup/cli.ts'
import {
  agentOf,
  type Body,
  confirmationOf,
  ended,
  openPlane,
  type Payments,
  person,
  type Person,
  type Plane,
  refundTool,
  until,
} from '../setup/plane.ts'
import { uncertainAgent } from '../setup/uncertain.ts'

/** Each command is a process: see cli-failures.test.ts. */
const SLOW = 180_000
const NOBODY = `00000000000000000000000000`

const titled = tool('titles.set@1', {
  input: { type: 'object', properties: {}, additionalProperties: false },
  effect: 'write',
  unknown: 'manual',
  plan: () => ({ summary: 'x\u001b]0;pwned\u0007\u202e' }),
  commit: () => ({}),
})

describe('commands', { timeout: SLOW }, () => {
  const payments: Payments = { refunds: [], order: 1 }
  let home = ''
  let store: TestStore
  let plane: Plane
  let ann: Person
  let place: Place
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'plimsoll-cli-'))
    store = await openStore('embedded')
    const agents = [
      agentOf('support', { model: scripted('refund-demo'), tools: [refundTool(payments)] }),
      agentOf('titling', {
        model: scripted((r) => ({ calls: [{ name: r.tools[0]?.name ?? '', arguments: {} }] })),
        tools: [titled],
      }),
      uncertainAgent([], scripted),
    ]
    plane = await openPlane({ db: store.db, agents })
    ann = await plane.user('ann')
    const [service, operator] = [(await plane.service()).bearer, (await plane.operator()).bearer]
    writeFileSync(
      join(home, 'access.json'),
      JSON.stringify({ secret: '', tenant: 'acme', environment: 'test', service, operator }),
    )
    writeFileSync(join(home, 'server.json'), JSON.stringify({ pid: process.pid, url: plane.url }))
    chmodSync(join(home, 'access.json'), 0o600)
    place = { cwd: home, env: { PLIMSOLL_HOME: home } }
  }, SLOW)
  afterAll(async () => {
    await plane?.close()
    await store?.close()
    rmSync(home, { recursive: true, force: true })
  })

  async function asked(agent = 'support'): Promise<{ run: string; card: Body }> {
    const run = (await ann.post('/v1/runs', { body: { agent, text: 'Please refund order 1042, $12.00' } })).body.id
    return { run, card: await confirmationOf(ann, run) }
  }

  it('R6 an approval is given as the end user who may, through a token, and that is said', async () => {
    const { run, card } = await asked()
    const list = await plimsoll(['approvals', 'list', '--json'], place)
    expect(list.json().items).toMatchObject([{ id: card.id, params: { orderId: '1042', cents: 1_200 } }])
    const unasked = await plimsoll(['approvals', 'approve', card.id], place)
    expect(unasked).toMatchObject({ exit: EXIT.usage, stderr: expect.stringContaining('Nobody can be asked here') })
    const wrongHash = await plimsoll(['approvals', 'approve', card.id, '--yes', '--hash', 'f'.repeat(64)], place)
    expect(wrongHash).toMatchObject({ exit: EXIT.conflict, stderr: expect.stringContaining('[params_hash_differs]') })
    const bob = await plimsoll(['approvals', 'approve', card.id, '--yes', '--as', 'bob'], place)
    expect([EXIT.denied, EXIT.notFound]).toContain(bob.exit)
    expect(payments.refunds).toHaveLength(0)
    const done = await plimsoll(['approvals', 'approve', card.id, '--yes', '--json'], place)
    expect(done).toMatchObject({
      exit: EXIT.ok,
      stderr: expect.stringContaining('You decide as the end user ann, by a token'),
    })
    expect(done.stderr).toContain('exactly this will be sent')
    expect(done.json()).toMatchObject({ id: card.id, status: 'approved', decided_by: 'ann' })
    expect(done.stderr).toContain(`plimsoll runs show ${run}`)
    const { answer } = await ended(ann, run).then(async () =>
      (await plimsoll(['runs', 'show', run, '--json'], place)).json(),
    )
    expect(answer).toMatch(/\S/)
    expect(payments.refunds).toHaveLength(1)
    const again = await plimsoll(['approvals', 'approve', card.id, '--yes'], place)
    expect(again).toMatchObject({ exit: EXIT.conflict, stderr: expect.stringContaining('[already_decided]') })
  })

  it('A2 a rejection is one, and a canceled run says what stays done', async () => {
    const first = await asked()
    expect(
      (await plimsoll(['approvals', 'reject', first.card.id, '--yes', '--reason', 'not now', '--json'], place)).json(),
    ).toMatchObject({ status: 'rejected' })
    const second = await asked()
    const canceled = await plimsoll(['runs', 'cancel', second.run, '--json'], place)
    expect(canceled.json()).toMatchObject({ status: 'canceled', cancel_cause: 'operator', actions: [] })
    const shown = (await plimsoll(['runs', 'show', second.run, '--json'], place)).json()
    expect(shown).toMatchObject({
      id: second.run,
      end_reason: 'operator_canceled',
      effects: [{ tool: 'orders.refund' }],
    })
    const listed = await plimsoll(['runs', 'list', '--status', 'canceled'], place)
    expect(listed.stdout).toContain(second.run)
    expect(listed.stdout).not.toContain(first.run)
  })

  it('J4 an operator resolves an unknown effect with a reason', async () => {
    const run = (await ann.post('/v1/runs', { body: { agent: 'uncertain', text: 'Post it.' } })).body.id
    await until(
      () => ann.get(`/v1/runs/${run}`),
      ({ body }) => body.wait_reason === 'unknown_effect',
    )
    const [effect] = (await plimsoll(['effects', 'list', '--unknown', '--json'], place)).json().items
    const at = `${run}/${effect.step}/${effect.position}`
    const done = await plimsoll(
      ['effects', 'resolve', at, '--outcome', 'did-not-happen', '--reason', 'no letter', '--json'],
      place,
    )
    expect(done.json()).toMatchObject({ run_id: run, outcome: 'did_not_happen' })
    expect(await ended(ann, run)).toMatchObject({ status: 'succeeded' })
    const again = await plimsoll(['effects', 'resolve', at, '--outcome', 'happened', '--reason', 'x'], place)
    expect(again).toMatchObject({ exit: EXIT.conflict, stderr: expect.stringMatching(oneLine('refused_transition')) })
  })

  it('T3 a signal is told once in one way, and a word that is no JSON or no name changes nothing', async () => {
    const tell = (...rest: string[]) => plimsoll(['signals', 'tell', ...rest, '--json'], place)
    expect((await tell('parcel:17', '--body', '{"at":"the door"}')).json()).toEqual({
      signal: 'parcel:17',
      status: 'told',
    })
    expect((await tell('parcel:17', '--body', '{"at":"the door"}')).exit).toBe(EXIT.ok)
    expect(await tell('parcel:17')).toMatchObject({
      exit: EXIT.conflict,
      stderr: expect.stringMatching(oneLine('already_signaled')),
    })
    expect((await tell('parcel:18', '--body', 'soon')).exit).toBe(EXIT.usage)
    expect((await tell('a|b')).exit).toBe(EXIT.usage)
  })

  it('R5 a key is shown once, works, and dies with every token that it minted', async () => {
    const made = (
      await plimsoll(['keys', 'create', '--user', 'shop', '--permission', 'orders.refund', '--json'], place)
    ).json()
    const shop = person(plane.url, made.key)
    const token = (await shop.post('/v1/tokens', { body: { user: 'cleo' } })).body.token
    expect((await person(plane.url, token).get('/v1/runs')).status).toBe(200)
    expect((await plimsoll(['keys', 'revoke', made.id], place)).exit).toBe(EXIT.ok)
    for (const bearer of [made.key, token]) expect((await person(plane.url, bearer).get('/v1/runs')).status).toBe(401)
    const revoked = await plimsoll(['runs', 'list'], { ...place, env: { ...place.env, PLIMSOLL_KEY: made.key } })
    expect(revoked).toMatchObject({ exit: EXIT.denied, stderr: expect.stringMatching(oneLine('unauthenticated')) })
  })

  it('N1 an unknown id and a thing that is no id are told apart from nothing else', async () => {
    const commands = [
      ['runs', 'show', `run_${NOBODY}`],
      ['runs', 'cancel', `run_${NOBODY}`],
      ['approvals', 'show', `cnf_${NOBODY}`],
      ['keys', 'revoke', `key_${NOBODY}`],
    ]
    for (const command of commands)
      expect(await plimsoll(command, place)).toMatchObject({
        exit: EXIT.notFound,
        stderr: expect.stringMatching(oneLine('not_found')),
      })
    expect(await plimsoll(['runs', 'show', '../v1/runs'], place)).not.toMatchObject({ exit: EXIT.ok })
  })

  it('R2 what a tool says about itself is shown, not obeyed', async () => {
    const { card } = await asked('titling')
    for (const command of [
      ['approvals', 'list'],
      ['approvals', 'show', card.id],
      ['approvals', 'show', card.id, '--json'],
    ]) {
      const { stdout, stderr } = await plimsoll(command, place)
      expect(stdout + stderr).not.toMatch(/[\u001b\u0007\u202e]/)
      expect(stdout + stderr).toContain('x\\u001b]0;pwned\\u0007\\u202e')
    }
  })

  it('N1 the doctor of an untouched folder finds nothing to mend and makes nothing', async () => {
    const empty = mkdtempSync(join(home, 'empty-'))
    const { exit, stdout } = await plimsoll(['doctor', '--json', '--data', join(empty, 'data')], place)
    expect({ exit, report: JSON.parse(stdout) }).toMatchObject({ exit: 0, report: { ok: true } })
    expect(JSON.parse(stdout).findings.map((f: Body) => f.check)).toEqual([
      'node',
      'store',
      'durability',
      'lease',
      'child processes',
    ])
  })
})
