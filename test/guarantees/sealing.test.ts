import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { z } from 'zod'
import { openKeyFile } from '../../src/db/keyfile.ts'
import { CHECK_MS, openKeyring, WHOLE_TENANT } from '../../src/db/keyring.ts'
import { keyFileOf, rewrapAll } from '../../src/db/storekeys.ts'
import { canonicalText, hashArguments, hashJson } from '../../src/kernel/canonical.ts'
import type { Clock } from '../../src/kernel/clock.ts'
import { systemClock, systemRandom } from '../../src/kernel/system.shell.ts'
import type { ModelRequest } from '../../src/model/port.ts'
import { actorFrom } from '../../src/request/actor.ts'
import { createRuntime } from '../../src/runtime.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { tool } from '../../src/tool/define.ts'
import { later } from '../../src/tool/later.ts'
import { folderObjects } from '../../src/tool/result/folder-objects.shell.ts'
import { file } from '../../src/tool/result/raw.ts'
import { digests, encodings, everyFile, everyRow, foundIn } from '../setup/canary.ts'
import { listed } from '../setup/sealed-columns.ts'
import {
  agentOf,
  type Body,
  confirmationOf,
  ended,
  ENGINES,
  isFirst,
  openPlane,
  openStore,
  type Person,
  type Plane,
  refundTool,
  type Store,
  until,
} from '../setup/plane.ts'

/** No word of the program, and 25 characters: nobody meets it by chance. */
const CANARY = 'kanarienvogel-Zx81-99441q'
const ORDER = `order-${CANARY}`
const NOTE = { note: CANARY }

const tools = [
  refundTool({ refunds: [], order: 1 }),
  tool('notes.read@1', { input: z.strictObject({ about: z.string() }), effect: 'read', run: () => NOTE }),
  tool('notes.page@1', {
    input: z.strictObject({}),
    effect: 'read',
    run: () => file(CANARY.repeat(40), { name: `${CANARY}.txt`, mediaType: 'text/plain' }),
  }),
  tool('notes.wait@1', {
    input: z.strictObject({ key: z.string() }),
    effect: 'read',
    run: ({ key }) => later({ signal: key, withinMs: 3_600_000 }),
  }),
]

/** Says, asks, reads, keeps, and asks for a refund: the secret is in all of it. */
function spills(request: ModelRequest) {
  const asked = request.messages.findLast((m) => m.role === 'user')?.text ?? ''
  const answers = request.messages.filter((m) => m.role === 'tool').length
  if (asked.includes('refund') && answers === 0)
    return { calls: [{ name: 'orders__refund', arguments: { orderId: ORDER, cents: 1_200 } }] }
  if (asked.includes('wait') && answers === 0)
    return { calls: [{ name: 'notes__wait', arguments: { key: `sig:${CANARY}` } }] }
  if (asked.includes('read') && answers === 0)
    return {
      calls: [
        { name: 'notes__read', arguments: { about: CANARY } },
        { name: 'notes__page', arguments: {} },
      ],
    }
  return { text: `The answer is ${CANARY}.` }
}

/** What somebody would guess, and hash. */
const GUESSES = [
  CANARY,
  ORDER,
  `order/${ORDER}`,
  JSON.stringify(NOTE),
  JSON.stringify({ ok: true, result: NOTE }),
  JSON.stringify({ about: CANARY }),
  JSON.stringify({ role: 'user', text: `Please read ${CANARY}` }),
  CANARY.repeat(40),
  `idem-${CANARY}`,
  `sig:${CANARY}`,
]
/** As the program itself would hash them for this tenant. */
const hashesOf = (tenant: string): readonly string[] =>
  [
    { tool: 'orders.refund', version: 2, value: { orderId: ORDER, cents: 1_200 } },
    { tool: 'notes.read', version: 1, value: { about: CANARY } },
  ].flatMap(({ tool, version, value }) => [
    hashArguments({ tool, version, tenant, text: canonicalText(value) }),
    hashJson({ tool, input: value }),
  ])
const WANTED = [
  ...encodings(CANARY),
  ...GUESSES.flatMap(digests),
  ...[NOTE, { about: CANARY }, { told: CANARY }, { orderId: ORDER, cents: 1_200 }].map((value) => hashJson(value)),
]

/** A clock of which a test can say that time has passed. */
function ahead(): Clock & { passed: number } {
  const clock = { ...systemClock, passed: 0, monotonic: (): number => systemClock.monotonic() + clock.passed }
  return clock
}

const codeOf = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    return (error as { code?: unknown }).code ?? error
  }
}

const DUMP = '/usr/lib/postgresql/15/bin/pg_dump'

describe.each(ENGINES)('sealed content on the %s store', (engine) => {
  const home = mkdtempSync(join(tmpdir(), 'plimsoll-seal-'))
  const objects = folderObjects(join(home, 'objects'))
  const clock = ahead()
  let store: Store
  let plane: Plane | null = null
  beforeAll(async () => {
    store = await openStore(engine)
  })
  afterEach(async () => {
    await plane?.close()
    plane = null
  })
  afterAll(async () => {
    await store.close()
    rmSync(home, { recursive: true, force: true })
  })

  const keysIn = (name = 'key.json') => openKeyFile(join(home, name), true)
  const agents = () => [
    agentOf('spiller', { model: scripted(spills, { id: 'spills', contextTokens: 200_000 }), tools }),
  ]
  const opened = async (more: object, on = store): Promise<Plane> => {
    plane = await openPlane({ db: on.db, agents: agents(), http: { onError: () => {} }, more: { objects, ...more } })
    return plane
  }
  const saying = async (who: Person, text: string, key?: string): Promise<string> => {
    const made = await who.post('/v1/runs', { body: { agent: 'spiller', text }, ...(key && { key }) })
    expect(made.status).toBe(201)
    return made.body.id as string
  }

  /** The secret in messages, arguments, results, plans, events, files, answers, signals, addresses and reasons. */
  async function spilled(at: Plane, tenant: string) {
    const ann = await at.user('ann', tenant)
    const operator = await at.operator(tenant)
    const read = await saying(ann, `Please read ${CANARY}`, `idem-${CANARY}`)
    expect((await ended(ann, read)).status).toBe('succeeded')
    const refunded = await saying(ann, `refund ${CANARY}`)
    const card = await confirmationOf(ann, refunded)
    expect(card.resource).toBe(`order/${ORDER}`)
    const yes = { version: card.version, body: { params_hash: card.params_hash, reason: `because of ${CANARY}` } }
    expect((await ann.post(`/v1/confirmations/${card.id}/approve`, yes)).status).toBe(200)
    expect((await ended(ann, refunded)).status).toBe('succeeded')
    const waiting = await saying(ann, `wait ${CANARY}`)
    await until(
      async () => (await ann.get(`/v1/runs/${waiting}`)).body,
      (run: Body) => run.wait_reason === 'external',
    )
    const open = await saying(ann, `refund ${CANARY} again`)
    const openCard = await confirmationOf(ann, open)
    const rule = { class: 'message', days: 3_000, reason: `since ${CANARY}` }
    await at.runtime.retention.set(operatorOf(tenant), rule.class, rule.days, rule.reason)
    const hook = await operator.post('/ops/v1/webhook-endpoints', { body: { url: `https://example.com/${CANARY}` } })
    return { ann, operator, read, refunded, card, waiting, open, openCard, hook }
  }

  it('G7 G4 what a dump and the objects hold gives nothing away: no secret in any encoding, no hash that can be guessed', async () => {
    const tenant = `dump_${engine}`
    const at = await opened({ keys: await keysIn() })
    const all = await spilled(at, tenant)
    expect(all.hook.status).toBeLessThan(300)
    await at.runtime.signal(service(tenant), `sig:${CANARY}`, { told: CANARY })
    expect((await ended(all.ann, all.waiting)).status).toBe('succeeded')
    const held = `${await everyRow(store)}\n${everyFile(join(home, 'objects'))}`
    expect(held).toContain(all.read)
    expect(foundIn(held, [...WANTED, ...hashesOf(tenant)])).toEqual([])
    for (const { table, sealed, veiled } of listed) {
      const wrong = [
        // a request that is not answered yet holds a random token in the place of its answer
        ...sealed.map(
          (c) =>
            `${c} is not null and get_byte(${c}, 0) <> 1${table === 'idempotency' ? ' and status is not null' : ''}`,
        ),
        ...veiled.map((c) => `${c} is not null and ${c} not like 'v1.%'`),
      ]
      for (const where of wrong) {
        const rows = await store.admin(
          `select count(*)::int as n from plimsoll.${table} where tenant_id = $1 and ${where}`,
          [tenant],
        )
        expect([table, where, rows]).toEqual([table, where, [{ n: 0 }]])
      }
    }
    // and still everything is answered as it was said
    const events = await all.ann.get(`/v1/runs/${all.read}/events`)
    expect(JSON.stringify(events.body)).toContain(CANARY)
    const again = await all.ann.post('/v1/runs', {
      body: { agent: 'spiller', text: `Please read ${CANARY}` },
      key: `idem-${CANARY}`,
    })
    expect(again.body.id).toBe(all.read)
  })

  it('G7 without keys the same search finds it in many places: the search can fail', async () => {
    const bare = await openStore(engine)
    const kept = join(home, 'bare')
    try {
      const at = await opened({ objects: folderObjects(kept) }, bare)
      await spilled(at, 'acme')
      const found = foundIn(`${await everyRow(bare)}\n${everyFile(kept)}`, WANTED)
      expect(found).toContain(CANARY)
      expect(found).toContain(Buffer.from(CANARY).toString('hex'))
      // what was never stored is found by guessing it
      expect(found).toContain(digests(CANARY.repeat(40))[0])
      expect(foundIn(await everyRow(bare), hashesOf('acme'))).toHaveLength(4)
    } finally {
      await plane?.close()
      plane = null
      await bare.close()
    }
  })

  it('G7 G9 a destroyed tenant is gone for every process: reads are 410, runs end, nothing crashes, the dump is silent', async () => {
    const tenant = `gone_${engine}`
    const keys = await keysIn()
    const at = await opened({ keys, backupDays: 35 })
    const all = await spilled(at, tenant)
    const other = createRuntime({ db: await store.another(), agents: agents(), keys, clock, objects })
    const reader = await other
      .door('a secret of the tests, long enough to be one')
      .authenticate(`Bearer ${all.ann.bearer}`)
    const read = () => other.eventsAfter(reader.actor, all.read as 'run_', { after: 0, limit: 50 })
    expect(JSON.stringify(await read())).toContain(CANARY)

    const done = await at.runtime.tenants.destroy(tenant, { actor: 'op', reason: 'contract ended' })
    expect(done).toEqual({ outcome: 'destroyed', runs: 2, backupsExpireAt: expect.any(Number) })
    expect(done.backupsExpireAt).toBeGreaterThan(Date.now() + 34 * 86_400_000)
    expect(await at.runtime.tenants.destroy(tenant, { actor: 'op', reason: 'again' })).toMatchObject({
      outcome: 'destroyed_before',
      runs: 0,
    })

    for (const path of [`/v1/runs/${all.read}/events`, `/v1/confirmations/${all.card.id}`]) {
      const answer = await all.ann.get(path)
      expect([path, answer.status, answer.body.code]).toEqual([path, 410, 'content_destroyed'])
    }
    const fresh = await all.ann.post('/v1/runs', { body: { agent: 'spiller', text: 'hello' } })
    expect([fresh.status, fresh.body.code]).toEqual([410, 'content_destroyed'])
    const ends = await store.admin('select status, end_reason as end from plimsoll.run where id = any ($1)', [
      [all.waiting, all.open],
    ])
    expect(ends).toEqual([1, 2].map(() => ({ status: 'canceled', end: 'operator_canceled' })))
    const yes = { version: all.openCard.version, body: { params_hash: all.openCard.params_hash } }
    expect((await all.ann.post(`/v1/confirmations/${all.openCard.id}/approve`, yes)).status).toBeGreaterThanOrEqual(400)

    // another process: after the stated time, and whatever it held before
    clock.passed += CHECK_MS
    await expect(read()).rejects.toMatchObject({ code: 'content_destroyed' })

    // what goes over all tenants passes it by
    await at.runtime.sweep()
    const neighbour = await at.user('ben', 'birch')
    expect((await ended(neighbour, await saying(neighbour, 'hello'))).status).toBe('succeeded')

    const held = await everyRow(store)
    const audit = await store.admin(
      `select actor, action, reason from plimsoll.audit where tenant_id = $1 and reason is not null`,
      [tenant],
    )
    expect(audit).toEqual([{ actor: 'op', action: 'tenant.destroy', reason: 'contract ended' }])
    expect(foundIn(held, WANTED)).toEqual([])
    const left = await store.admin(
      `select (select count(*)::int from plimsoll.tenant_key where tenant_id = $1 and (length(wrapped) > 0 or destroyed_at is null)) as keys,
         (select count(*)::int from plimsoll.delivery where tenant_id = $1) as deliveries,
         (select count(*)::int from plimsoll.tombstone where tenant_id = $1 and kind = 'tenant') as tombstones,
         (select count(*)::int from plimsoll.ledger where tenant_id = $1) > 0 as ledger`,
      [tenant],
    )
    expect(left).toEqual([{ keys: 0, deliveries: 0, tombstones: 1, ledger: true }])
    if (engine === 'postgres' && existsSync(DUMP)) {
      const base = new URL(inject('postgres'))
      base.pathname = new URL(store.url).pathname
      const dump = execFileSync(DUMP, [base.href], { encoding: 'latin1', maxBuffer: 1 << 28 })
      expect(dump).toContain(all.read)
      expect(foundIn(dump, WANTED)).toEqual([])
      const { keys: secret } = JSON.parse(readFileSync(join(home, 'key.json'), 'utf8')) as {
        keys: Record<string, string>
      }
      const kek = Buffer.from(secret[keys.id] as string, 'base64')
      expect(foundIn(dump, [kek.toString('base64'), kek.toString('hex')])).toEqual([])
    }
    expect(foundIn(everyFile(join(home, 'objects')), WANTED)).toEqual([])
  })

  if (!isFirst(engine)) return

  it('L9 G7 a legal hold forbids to destroy a tenant', async () => {
    const at = await opened({ keys: await keysIn() })
    const actor = operatorOf(`held_${engine}`)
    await at.operator(actor.tenant)
    const hold = await at.runtime.retention.hold(actor, null, 'court')
    const destroy = () => at.runtime.tenants.destroy(actor.tenant, { actor: 'op', reason: 'asked for' })
    await expect(destroy()).rejects.toMatchObject({ code: 'tenant_held' })
    await at.runtime.retention.release(actor, hold, 'over')
    expect(await destroy()).toMatchObject({ outcome: 'destroyed' })
  })

  it('G7 after a rotation old and new values are read, hashes stay, and nobody seals by a key that others cannot know yet', async () => {
    const tenant = `turn_${engine}`
    const keys = await keysIn()
    const ring = () => openKeyring({ db: store.db, keys, clock, random: systemRandom, refusePlain: false })
    const [one, two] = [ring(), ring()]
    await Promise.all([one.ready(tenant), two.ready(tenant)])
    const old = one.seal(tenant, Buffer.from('before'))
    const [hash, veiled] = [one.hash(tenant, 'test', 'x'), one.veil(tenant, 'x')]
    expect(await one.rotate(tenant)).toBe(2)
    const soon = one.seal(tenant, Buffer.from('at once'))
    expect([old, soon].map((sealed) => Buffer.from(sealed).readUInt32BE(1))).toEqual([1, 1])
    await store.admin(`update plimsoll.tenant_key set created_at = now() - interval '2 minutes' where tenant_id = $1`, [
      tenant,
    ])
    clock.passed += CHECK_MS
    await one.ready(tenant)
    const late = one.seal(tenant, Buffer.from('after'))
    expect(Buffer.from(late).readUInt32BE(1)).toBe(2)
    await two.ready(tenant)
    for (const sealed of [old, soon, late]) expect(two.open(tenant, sealed)).toEqual(one.open(tenant, sealed))
    expect([two.hash(tenant, 'test', 'x'), two.veil(tenant, 'x')]).toEqual([hash, veiled])
    expect(two.hash(tenant, 'other', 'x')).not.toEqual(hash)
    expect(two.unveil(tenant, veiled)).toBe('x')
  })

  it('G7 a first key is one key, however many processes make it at the same time', async () => {
    const tenant = `race_${engine}`
    const keys = await keysIn()
    const dbs = await Promise.all(Array.from({ length: 4 }, () => store.another(1)))
    const rings = dbs.map((db) => openKeyring({ db, keys, clock, random: systemRandom, refusePlain: false }))
    await Promise.all(rings.map(async (ring) => ring.ready(tenant)))
    const sealed = rings.map((ring) => ring.seal(tenant, Buffer.from('x')))
    for (const ring of rings) for (const one of sealed) expect(Buffer.from(ring.open(tenant, one)).toString()).toBe('x')
  })

  it('G7 content of before there were keys is read until it is refused, and bytes of another tenant never', async () => {
    const keys = await keysIn()
    const [tenant, other] = [`mine_${engine}`, `other_${engine}`]
    const ring = (refusePlain: boolean) => openKeyring({ db: store.db, keys, clock, random: systemRandom, refusePlain })
    const [lenient, strict] = [ring(false), ring(true)]
    for (const one of [lenient, strict]) await Promise.all([one.ready(tenant), one.ready(other)])
    const plain = Uint8Array.from([0, 120])
    expect(Buffer.from(lenient.open(tenant, plain)).toString()).toBe('x')
    expect(codeOf(() => strict.open(tenant, plain))).toBe('content_damaged')
    expect(codeOf(() => lenient.open(other, lenient.seal(tenant, plain)))).toBe('content_damaged')
    expect(codeOf(() => lenient.seal('never_named', plain))).toBe('store_unavailable')
  })

  it('G7 a key file that is missing, or of another database, is told before anything is served', async () => {
    await expect(keyFileOf(store.db, join(home, 'none.json'))).rejects.toMatchObject({ code: 'sealing_key_missing' })
    await keysIn('foreign.json')
    await expect(keyFileOf(store.db, join(home, 'foreign.json'))).rejects.toMatchObject({ code: 'sealing_key_unfit' })
    expect((await keyFileOf(store.db, join(home, 'key.json'))).id).toBe((await keysIn()).id)
    const foreign = openKeyring({
      db: store.db,
      keys: await keysIn('foreign.json'),
      clock,
      random: systemRandom,
      refusePlain: false,
    })
    await expect(foreign.ready(`mine_${engine}`)).rejects.toMatchObject({ code: 'sealing_key_unfit' })
  })

  it('G7 after a change of the key-encryption key every tenant is wrapped by the new one, and the old one is needed no more', async () => {
    const { addToKeyFile } = await import('../../src/db/keyfile.ts')
    const before = await keysIn()
    const after = await addToKeyFile(join(home, 'key.json'))
    const ring = openKeyring({ db: store.db, keys: after, clock, random: systemRandom, refusePlain: false })
    expect(await rewrapAll(store.db, ring, after.id)).toBeGreaterThan(3)
    const left = await store.admin(
      `select count(*)::int as n from plimsoll.tenant_key where destroyed_at is null and kek = $1`,
      [before.id],
    )
    expect(left).toEqual([{ n: 0 }])
    const tenant = `mine_${engine}`
    const only = openKeyring({ db: store.db, keys: after, clock, random: systemRandom, refusePlain: false })
    await only.ready(tenant)
    expect(Buffer.from(only.open(tenant, only.seal(tenant, Buffer.from('x')))).toString()).toBe('x')
  })

  it('G7 keys stand in no environment, and a tenant sees its own alone', async () => {
    const [a, b] = [`mine_${engine}`, `other_${engine}`]
    const rows = await store.admin(`select distinct environment from plimsoll.tenant_key`)
    expect(rows).toEqual([{ environment: WHOLE_TENANT }])
    expect(a).not.toBe(b)
  })
})

const service = (tenant: string) =>
  actorFrom({
    kind: 'service',
    tenant,
    environment: 'test',
    user: 'shop',
    subject: 'shop',
    permissions: ['signals.tell'],
  })

const operatorOf = (tenant: string) =>
  actorFrom({ kind: 'operator', tenant, environment: 'test', user: 'op', subject: 'op', permissions: ['*'] })
