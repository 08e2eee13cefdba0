/** `plimsoll memory` against a running server; the commands run in this process. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { main } from '../../src/cli/program.ts'
import { plainSealer } from '../../src/db/seal.ts'
import { EXIT } from '../../src/kernel/fault.ts'
import { systemIds } from '../../src/kernel/system.shell.ts'
import { candidateStore } from '../../src/memory/candidate.store.ts'
import { memory } from '../../src/memory/key.ts'
import { actorFrom } from '../../src/request/actor.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { oneLine } from '../setup/cli.ts'
import { openStore, type TestStore } from '../setup/engines.ts'
import { growing, someone } from '../setup/growing.ts'
import { agentOf, type Body, ended, openPlane, type Plane } from '../setup/plane.ts'
import { unique } from '../setup/seed.ts'

const keys = memory({
  answer_language: { kind: 'preference', value: z.enum(['en', 'zh-CN']) },
  food: { kind: 'preference', value: z.string(), purpose: 'To suggest dishes.' },
  nickname: { kind: 'fact', value: z.string(), confirm: 'ask' },
  order_state: { kind: 'fact', value: z.string(), sources: ['authority'], authority: 'shop' },
  house_rule: { kind: 'fact', value: z.string(), scopes: ['tenant'], sources: ['operator'], sensitivity: 'none' },
})

describe('plimsoll memory', () => {
  let home = ''
  let store: TestStore
  let plane: Plane
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'plimsoll-memory-'))
    store = await openStore('embedded')
    const model = scripted((r) => {
      const last = r.messages.at(-1)
      const [, value] = /^Call me (\w+)$/.exec(last?.role === 'user' ? last.text : '') ?? []
      if (value === undefined) return { text: 'Noted.' }
      return { calls: [{ name: r.tools[0]!.name, arguments: { key: 'nickname', value, quote: value } }] }
    })
    plane = await openPlane({
      db: store.db,
      agents: [agentOf('attentive', { model, memory: keys })],
      more: { authorities: { shop: { read: () => Promise.resolve('shipped') } } },
    })
    const [service, operator] = [(await plane.service()).bearer, (await plane.operator()).bearer]
    const access = { secret: '', tenant: 'acme', environment: 'test', service, operator }
    writeFileSync(join(home, 'access.json'), JSON.stringify(access))
    writeFileSync(join(home, 'server.json'), JSON.stringify({ pid: process.pid, url: plane.url }))
    chmodSync(join(home, 'access.json'), 0o600)
  })
  afterAll(async () => {
    await plane?.close()
    await store?.close()
    rmSync(home, { recursive: true, force: true })
  })
  afterEach(() => vi.restoreAllMocks())

  async function run(...words: string[]): Promise<{ exit: number; stdout: string; stderr: string; json(): Body }> {
    let [stdout, stderr] = ['', '']
    const out = vi.spyOn(process.stdout, 'write').mockImplementation((text) => Boolean((stdout += String(text))))
    const err = vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean((stderr += String(text))))
    const exit = await main(['memory', ...words, '--data', home])
    out.mockRestore()
    err.mockRestore()
    return { exit, stdout, stderr, json: () => JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') }
  }

  it('G1 what is remembered is listed, explained, corrected and forgotten from the command line', async () => {
    const ann = unique('ann')
    const as = ['--as', ann]
    const made = await run('remember', 'food', 'rice "and" beans', ...as, '--json')
    expect(made.json()).toMatchObject({ outcome: 'saved', version: 1 })
    const { id } = made.json()
    expect((await run('list', ...as)).stdout).toMatch(new RegExp(`${id} +food +rice "and" beans +user`))
    expect((await run('list', ...as, '--kind', 'fact', '--json')).json()).toEqual({ items: [], more: false })
    expect((await run('show', id, ...as, '--json')).json()).toMatchObject({ key: 'food', value: 'rice "and" beans' })
    expect((await run('show', id, ...as)).stdout).toContain('To suggest dishes.')
    const why = await run('why', id, ...as)
    expect(why.stdout).toContain('food = rice "and" beans, user, until 2')
    expect(why.stdout).toMatch(new RegExp(`user +${ann}`))
    expect((await run('correct', id, 'noodles', ...as, '--json')).json()).toMatchObject({ id, version: 2 })
    const stale = await run('correct', id, 'soup', ...as, '--seen', '1')
    expect(stale).toMatchObject({ exit: EXIT.conflict, stderr: expect.stringMatching(oneLine('precondition_failed')) })
    expect((await run('versions', id, ...as, '--json')).json().items.map((v: Body) => v.value)).toEqual([
      'rice "and" beans',
      'noodles',
    ])
    const exported = await run('export', ...as)
    expect(JSON.parse(exported.stdout)).toMatchObject({ memory: { id, value: 'noodles' } })
    expect((await run('export', ...as, '--json')).json().items).toHaveLength(1)

    expect(await run('forget', id, ...as)).toMatchObject({
      exit: EXIT.usage,
      stderr: expect.stringContaining('Nobody can be asked here'),
    })
    expect((await run('forget', ...as, '--yes')).exit).toBe(EXIT.usage)
    expect((await run('forget', id, '--everything', ...as, '--yes')).exit).toBe(EXIT.usage)
    const gone = (await run('forget', id, ...as, '--yes', '--json')).json()
    expect(gone).toMatchObject({ kind: 'memory', target: id })
    const receipt = (await run('deletion', gone.id, ...as, '--json')).json()
    expect(receipt).toMatchObject({ id: gone.id, target: id, done_at: gone.done_at })
    expect((await run('deletion', gone.id)).stdout).toContain('record')
    expect((await run('deletions', ...as, '--json')).json().items).toMatchObject([{ id: gone.id }])
    expect((await run('deletions', '--limit', '100', '--json')).json().items.map((d: Body) => d.id)).toContain(gone.id)
    expect(await run('show', id, ...as)).toMatchObject({
      exit: EXIT.notFound,
      stderr: expect.stringMatching(oneLine('not_found')),
    })
    expect((await run('list', ...as)).stdout).toBe('Nothing is remembered.\n')
  })

  it('G1 a refusal says its reasons and not the value, and a word that is missing is usage', async () => {
    const refused = await run('remember', 'food', 'my password is hunter2-Xq9', '--as', 'ann')
    expect(refused).toMatchObject({ exit: EXIT.denied, stderr: expect.stringMatching(oneLine('memory_refused')) })
    expect(refused.stderr).toContain('Reasons: password')
    expect(refused.stdout + refused.stderr).not.toContain('hunter2')
    expect((await run('list')).exit).toBe(EXIT.usage)
    expect((await run('reveal', `mem_${'0'.repeat(26)}`)).exit).toBe(EXIT.usage)
    expect((await run('list', '--as', 'ann', '--kind', 'secret')).exit).toBe(EXIT.usage)
  })

  it('R6 a candidate is answered as the end user, through a token, and that is said', async () => {
    const name = unique('ann')
    const as = ['--as', name]
    const ann = await plane.user(name)
    const ask = async (text: string): Promise<string> => {
      await ended(ann, (await ann.post('/v1/runs', { body: { agent: 'attentive', text } })).body.id)
      return (await run('candidates', ...as, '--json')).json().items[0].id
    }
    const first = await ask('Call me Kit')
    expect((await run('candidates', ...as)).stdout).toMatch(/nickname +Kit +user/)
    expect(await run('accept', first, ...as)).toMatchObject({ exit: EXIT.usage })
    expect(await run('accept', first, ...as, '--yes', '--hash', 'f'.repeat(64))).toMatchObject({
      exit: EXIT.conflict,
      stderr: expect.stringContaining('[params_hash_differs]'),
    })
    expect((await run('accept', first, '--as', 'bob', '--yes')).exit).toBe(EXIT.notFound)
    const done = await run('accept', first, ...as, '--yes', '--json')
    expect(done.json()).toMatchObject({ outcome: 'saved', change: 'created' })
    expect(done.stderr).toContain(`You answer as the end user ${name}, by a token`)
    const second = await ask('Call me Kat')
    expect((await run('decline', second, ...as, '--yes', '--json')).json()).toMatchObject({ status: 'declined' })
    expect((await run('decline', second, ...as, '--yes')).stderr).toMatch(/\[already_decided\]/)
  })

  it('G7 an operator sees facts, reveals and forgets with a reason, and finds nothing left', async () => {
    const ann = unique('ann')
    const { id } = (await run('remember', 'food', 'oysters', '--as', ann, '--json')).json()
    const facts = await run('facts', ann, '--json')
    expect(facts.json().items).toMatchObject([{ id, key: 'food' }])
    expect(facts.stdout).not.toContain('oysters')
    expect((await run('reveal', id, '--reason', 'case 7')).stdout).toBe('oysters\n')
    expect((await run('forget-subject', ann, '--reason', 'asked', '--yes', '--json')).json()).toMatchObject({
      kind: 'subject',
      target: ann,
    })
    expect((await run('facts', ann)).stdout).toBe('Nothing is remembered.\n')
    const left = (await run('reconcile', '--json')).json().items as readonly Body[]
    expect(left.filter((r) => r.removed > 0 || r.error !== null)).toEqual([])
  })

  it('G8 H4 consents and members are said and shown from the command line', async () => {
    const as = ['--as', unique('ann')]
    expect((await run('consent', ...as)).stdout).toBe('Nothing was said.\n')
    expect((await run('consent', 'To suggest dishes.', 'withdrawn', ...as)).exit).toBe(EXIT.usage)
    const said = await run('consent', 'To suggest dishes.', 'withdrawn', ...as, '--yes', '--json')
    expect(said.json()).toMatchObject({ state: 'withdrawn', deletion: { kind: 'purpose' } })
    expect((await run('consent', ...as)).stdout).toMatch(/To suggest dishes\. +withdrawn/)
    expect((await run('consent', 'x', 'perhaps', ...as)).exit).toBe(EXIT.usage)
    const place = `group:${unique('team')}`
    expect((await run('members', 'join', place, 'ann')).stdout).toBe(`ann belongs to ${place}.\n`)
    expect((await run('members', 'list', place, '--json')).json().items).toMatchObject([{ user: 'ann' }])
    expect((await run('members', 'leave', place, 'ann', '--json')).json()).toEqual({
      place,
      user: 'ann',
      member: false,
    })
    expect((await run('members', 'leave', place, 'ann')).exit).toBe(EXIT.notFound)
    expect((await run('members', 'list', 'everybody')).exit).toBe(EXIT.usage)
  })

  it('E13 E14 E15 what an authority says and what everybody may know is written, and put out of use, from the command line', async () => {
    const ann = unique('ann')
    const fact = (await run('fact', ann, 'order_state', 'o-1', '--json')).json()
    expect(fact).toMatchObject({ outcome: 'saved', version: 1 })
    expect((await run('show', fact.id, '--as', ann)).stdout).toContain('shipped')
    expect((await run('changed', 'shop', 'o-2')).stdout).toContain('0 memories are out of use')
    expect((await run('changed', 'shop', 'o-1', '--json')).json()).toEqual({ changed: 1 })
    expect((await run('show', fact.id, '--as', ann, '--json')).json()).toMatchObject({ status: 'invalid' })
    const rule = 'Returns are free for 30 days'
    const shared = (await run('share', 'house_rule', rule, '--reason', 'ticket 7', '--json')).json()
    expect(shared).toMatchObject({ outcome: 'saved' })
    expect((await run('list', '--as', ann, '--scope', 'tenant')).stdout).toContain(rule)
    expect((await run('share', 'house_rule', rule)).exit).toBe(EXIT.usage)
    expect(await run('share', 'food', 'fish', '--reason', 'ticket 8')).toMatchObject({
      exit: EXIT.denied,
      stderr: expect.stringMatching(oneLine('memory_refused')),
    })
  })

  it('E15 E6 G7 what everybody would read waits for an operator, who sees it with a reason, over HTTP and from the command line', async () => {
    const [here, candidates] = ['test', candidateStore(store.db, plainSealer)]
    const olga = actorFrom({ ...someone('operator', 'acme', 'operator_1'), environment: here })
    const on = growing(store.db, keys).on(olga)
    const asking = { writer: 'plimsoll', session: null, run: null, many: false, reasons: ['key_asks'], openMs: 60_000 }
    const ask = async (value: string) => {
      const sources = [{ kind: 'operator', ref: 'operator_1', role: 'evidence', run: null, quote: null }] as const
      const about = {
        key: 'house_rule',
        kind: 'fact',
        value,
        slot: '',
        place: { scope: 'tenant', id: '' },
        subject: '',
      } as const
      const known = {
        layer: 'semantic',
        integrity: 'untrusted',
        confidentiality: 'tenant',
        sensitivity: 'none',
      } as const
      const times = { validFrom: Date.now(), expiresAt: null, saidAt: Date.now(), detectors: 1 }
      const entry = {
        ...about,
        ...known,
        ...times,
        sources,
        permissionScope: ['member'],
        purpose: 'To know what you told before.',
      }
      const more = { confidence: 0.5, importance: 0.5, consentBasis: 'memory', confirmedBy: null, authority: null }
      return (await candidates.ask(on.scope, { ...entry, ...more }, { ...asking, id: systemIds.next('mcd') }))!
    }
    const path = '/ops/v1/memory-candidates'
    const [operator, service] = [await plane.operator(), await plane.service()]
    const first = await ask('We close at five')
    for (const answer of [
      await service.get(path),
      await service.post(`${path}/${first}/reveal`, { body: { reason: 'x' } }),
    ])
      expect(answer.status).toBe(403)
    expect((await operator.get(path)).body.items).toMatchObject([
      { id: first, key: 'house_rule', value: null, hash: null },
    ])
    expect((await operator.post(`${path}/${first}/accept`, { body: { hash: 'x' } })).status).toBe(428)
    const wrong = await operator.post(`${path}/${first}/accept`, { version: 1, body: { hash: 'x' } })
    expect(wrong.body.code).toBe('params_hash_differs')

    expect((await run('shared-candidates')).stdout).toMatch(/house_rule/)
    expect((await run('shared-candidates')).stdout).not.toMatch(/We close/)
    expect((await run('shared-accept', first, '-y')).exit).toBe(EXIT.usage)
    const accepted = await run('shared-accept', first, '-y', '--reason', 'ticket 9', '--json')
    expect([accepted.json(), accepted.stderr]).toMatchObject([
      { outcome: 'saved' },
      expect.stringContaining('We close at five'),
    ])
    const second = await ask('We close at six')
    const declined = await run('shared-decline', second, '-y', '--reason', 'ticket 9', '--json')
    expect(declined.json()).toMatchObject({ id: second, status: 'declined' })
    const rules = (await run('list', '--as', unique('ann'), '--key', 'house_rule')).stdout
    expect([/five/.test(rules), /six/.test(rules)]).toEqual([true, false])
    expect((await run('shared-decline', second, '-y', '--reason', 'ticket 9')).exit).not.toBe(EXIT.ok)
  })
})
