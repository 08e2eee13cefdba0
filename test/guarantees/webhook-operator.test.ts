/** Endpoints over the operator plane and the command line. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXIT } from '../../src/kernel/fault.ts'
import { type Place, plimsoll } from '../setup/cli.ts'
import { openStore, type TestStore } from '../setup/engines.ts'
import { openPlane, type Person, type Plane, until } from '../setup/plane.ts'
import { openReceiver, type Receiver, runWith } from '../setup/relay.ts'

const AT = '/ops/v1/webhook-endpoints'
const STORY = ['run_queued', 'run_ended']
/** Each command is a process, which takes seconds on a busy machine. */
const SLOW = 180_000

describe('webhooks for operators', { timeout: SLOW }, () => {
  let store: TestStore
  let plane: Plane
  let receiver: Receiver
  let operator: Person
  let home = ''
  let place: Place
  beforeAll(async () => {
    store = await openStore('embedded')
    receiver = await openReceiver()
    plane = await openPlane({ db: store.db, agents: [], developmentOrigins: [receiver.url] })
    operator = await plane.operator()
    home = mkdtempSync(join(tmpdir(), 'plimsoll-hooks-'))
    const access = { secret: '', tenant: 'acme', environment: 'test', service: 'x', operator: operator.bearer }
    writeFileSync(join(home, 'access.json'), JSON.stringify(access))
    writeFileSync(join(home, 'server.json'), JSON.stringify({ pid: process.pid, url: plane.url }))
    chmodSync(join(home, 'access.json'), 0o600)
    place = { cwd: home, env: { PLIMSOLL_HOME: home } }
  }, SLOW)
  afterAll(async () => {
    await plane?.close()
    await receiver?.close()
    await store?.close()
    rmSync(home, { recursive: true, force: true })
  })

  it('J9 R6 an endpoint is made, seen without its secret, rotated, disabled, enabled and deleted, by operators alone', async () => {
    const made = await operator.post(AT, { body: { url: `${receiver.url}/a`, types: ['run_ended'] } })
    expect(made).toMatchObject({
      status: 201,
      body: { id: expect.stringMatching(/^whk_/), secret: expect.stringMatching(/^whsec_/) },
    })
    const { id, secret } = made.body
    const seen = await operator.get(`${AT}/${id}`)
    expect(seen.body).toMatchObject({ url: `${receiver.url}/a`, types: ['run_ended'], state: 'enabled', failures: 0 })
    expect(JSON.stringify([seen.body, (await operator.get(AT)).body])).not.toContain('whsec_')
    for (const who of [await plane.service(), await plane.user('ann')]) {
      for (const path of [AT, `${AT}/${id}`, `${AT}/${id}/deliveries`]) expect((await who.get(path)).status).toBe(403)
      for (const verb of ['', `/${id}/rotate`, `/${id}/state`, `/${id}/test`, `/${id}/replay`])
        expect((await who.post(AT + verb, { body: {} })).status).toBe(403)
    }
    const stranger = await plane.operator('globex')
    expect((await stranger.get(`${AT}/${id}`)).status).toBe(404)
    expect(
      (await stranger.post(`${AT}/${id}/replay`, { body: { since: '2026-01-01T00:00:00Z', reason: 'x' } })).status,
    ).toBe(404)
    const rotated = (await operator.post(`${AT}/${id}/rotate`)).body
    expect(rotated.secret).not.toBe(secret)
    expect(await operator.post(`${AT}/${id}/state`, { body: { state: 'disabled', reason: 'moving' } })).toMatchObject({
      body: { state: 'disabled', reason: 'moving' },
    })
    expect(await operator.post(`${AT}/${id}/state`, { body: { state: 'enabled', reason: 'moved' } })).toMatchObject({
      body: { state: 'enabled' },
    })
    const gone = await fetch(`${plane.url}${AT}/${id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${operator.bearer}` },
    })
    expect(gone.status).toBe(204)
    expect((await operator.get(`${AT}/${id}`)).status).toBe(404)
    const audit = await store.admin(
      `select action, actor from plimsoll.audit where target = '${id}' order by created_at, id`,
    )
    expect(audit.map((a) => a.action)).toEqual([
      'endpoint.create',
      'endpoint.rotate',
      'endpoint.state',
      'endpoint.state',
      'endpoint.delete',
    ])
  })

  it.each([
    [{ url: 'http://169.254.169.254/' }, '/url'],
    [{ url: 'https://user:secret@a.example/' }, '/url'],
    [{ url: 'https://a.example/', types: ['no_such_type'] }, '/types/0'],
    [{ url: 'https://a.example/', types: [] }, '/types'],
    [{ url: 'https://a.example/', secret: 'mine' }, '/secret'],
  ])('J9 an endpoint that could never work is refused with its field: %j', async (body, path) => {
    const answer = await operator.post(AT, { body })
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path }] } })
    expect(JSON.stringify(answer.body)).not.toContain('secret@')
  })

  it('J9 a replay with the same key happens once', async () => {
    const { id } = (await operator.post(AT, { body: { url: `${receiver.url}/b` } })).body
    const run = await runWith(store, STORY, { environment: 'test' })
    await until(
      async () => receiver.got.filter((m) => m.run === run).length,
      (n) => n === 2,
    )
    const body = { since: '2026-01-01T00:00:00Z', reason: 'lost' }
    const [first, again] = [
      await operator.post(`${AT}/${id}/replay`, { body, key: 'k1' }),
      await operator.post(`${AT}/${id}/replay`, { body, key: 'k1' }),
    ]
    expect(first).toMatchObject({ status: 202, body: { runs: 1 } })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    for (const wrong of [
      { reason: 'x' },
      { ...body, run_id: `run_${'0'.repeat(26)}` },
      { since: 'today', reason: 'x' },
    ])
      expect((await operator.post(`${AT}/${id}/replay`, { body: wrong })).status).toBe(400)
    const attempts = await until(
      async () => (await operator.get(`${AT}/${id}/deliveries?limit=100`)).body.items,
      (items) => items.length === 4,
    )
    expect(new Set(attempts.map((a: { message_id: string }) => a.message_id)).size).toBe(2)
    expect(attempts[0]).toMatchObject({ outcome: 'delivered', status: 204, run_id: run })
  })

  it('J9 the command line does the same', async () => {
    const made = await plimsoll(['webhooks', 'create', `${receiver.url}/c`, '--type', 'run_ended', '--json'], place)
    expect(made).toMatchObject({ exit: EXIT.ok, stderr: expect.stringContaining('shown this once') })
    const { id, secret } = made.json()
    const list = await plimsoll(['webhooks', 'list'], place)
    expect(list.stdout).toContain(id)
    expect(list.stdout).not.toContain(secret)
    const tested = await plimsoll(['webhooks', 'test', id], place)
    expect(tested).toMatchObject({ exit: EXIT.ok, stdout: expect.stringMatching(/answered 204 after \d+ ms/) })
    const { answer } = receiver
    receiver.answer = () => 401
    expect(await plimsoll(['webhooks', 'test', id], place)).toMatchObject({
      stdout: expect.stringContaining('answered 401'),
      stderr: expect.stringMatching(/secret may be another one.*\[egress_failed\]/),
    })
    receiver.answer = answer
    const neither = await plimsoll(['webhooks', 'replay', id, '--reason', 'x'], place)
    expect(neither).toMatchObject({ exit: EXIT.usage, stderr: expect.stringContaining('--since') })
    const replayed = await plimsoll(
      ['webhooks', 'replay', id, '--since', '2026-01-01T00:00:00Z', '--reason', 'x', '--json'],
      place,
    )
    expect(replayed.json()).toMatchObject({ runs: 1 })
    await until(
      async () => (await operator.get(`${AT}/${id}/deliveries`)).body.items,
      (items) => items.length === 1,
    )
    const deliveries = await plimsoll(['webhooks', 'deliveries', id], place)
    expect(deliveries.stdout).toMatch(/evt_\S+_2 .* delivered/)
    expect(
      (await plimsoll(['webhooks', 'delete', `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`], place)).exit,
    ).toBe(EXIT.notFound)
  })
})
