/** `plimsoll procedures` against a running server; the commands run in this process. One store: the words are the same on both. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { main } from '../../src/cli/program.ts'
import { EXIT } from '../../src/kernel/fault.ts'
import { memory } from '../../src/memory/key.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { openStore, type TestStore } from '../setup/engines.ts'
import { agentOf, type Body, openPlane, type Plane } from '../setup/plane.ts'

const keys = memory({
  lesson: { kind: 'experience', value: z.string(), scopes: ['project'], sources: ['operator'], sensitivity: 'none' },
})

let home = ''
let store: TestStore
let plane: Plane
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'plimsoll-procedures-'))
  store = await openStore('postgres')
  plane = await openPlane({
    db: store.db,
    agents: [
      agentOf('learner', { model: scripted(() => ({ text: 'Done.' })), memory: keys, procedures: ['refund_steps'] }),
    ],
    more: { evaluators: { cases: () => Promise.resolve({ score: 0.9, passed: true }) } },
    worker: false,
  })
  const [service, operator] = [(await plane.service()).bearer, (await plane.operator()).bearer]
  const access = { secret: '', tenant: 'acme', environment: 'test', service, operator }
  writeFileSync(join(home, 'access.json'), JSON.stringify(access))
  writeFileSync(join(home, 'server.json'), JSON.stringify({ pid: process.pid, url: plane.url }))
  chmodSync(join(home, 'access.json'), 0o600)
})
afterAll(async () => {
  await plane.close()
  await store.close()
  rmSync(home, { recursive: true, force: true })
})

async function run(...words: string[]): Promise<{ exit: number; stdout: string; stderr: string; json(): Body }> {
  let [stdout, stderr] = ['', '']
  const out = vi.spyOn(process.stdout, 'write').mockImplementation((text) => Boolean((stdout += String(text))))
  const err = vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean((stderr += String(text))))
  const exit = await main(['procedures', ...words, '--data', home])
  out.mockRestore()
  err.mockRestore()
  return { exit, stdout, stderr, json: () => JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') }
}

async function lesson(value: string): Promise<string> {
  const body = { key: 'lesson', value, scope: 'project', place_id: 'shop', reason: 'It was seen.' }
  const made = await (await plane.operator()).post('/ops/v1/memories', { body })
  expect(made).toMatchObject({ status: 201 })
  return made.body.id as string
}

it('E16 a procedure goes its whole way from the command line, and is approved only by somebody who was shown it', async () => {
  const from = ['--from', await lesson('The number was asked for first.'), '--from', await lesson('It helped again.')]
  const why = ['--reason', 'It works.']
  const file = join(home, 'rule.txt')
  writeFileSync(file, 'Ask for the order number first.\nThen look at the order.')
  const made = await run('propose', 'refund_steps', '--file', file, ...from, ...why, '--json')
  expect(made.json()).toMatchObject({ name: 'refund_steps', version: 1, status: 'proposed', proposed_by: 'operator_1' })
  const { id, hash } = made.json()
  const early = await run('approve', id, ...why, '--yes')
  expect(early).toMatchObject({ exit: EXIT.conflict, stderr: expect.stringContaining('refused_transition') })
  expect((await run('evaluate', id, 'cases')).stdout).toBe('refund_steps v1: cases passed, 0.9.\n')
  const shown = await run('show', id)
  expect(shown.stdout).toContain('  Ask for the order number first.\n  Then look at the order.\n')
  expect(shown.stdout).toContain(`hash ${hash}`)
  expect(await run('approve', id, ...why)).toMatchObject({ exit: EXIT.usage, stderr: expect.stringContaining('--yes') })
  const other = await run('approve', id, ...why, '--yes', '--hash', 'another')
  expect(other).toMatchObject({ exit: EXIT.conflict, stderr: expect.stringContaining('[params_hash_differs]') })
  const done = await run('approve', id, ...why, '--yes', '--hash', hash)
  expect(done.stderr).toContain('Ask for the order number first.')
  expect(done.stdout).toBe('refund_steps v1 is a rule of runs that are made from now on.\n')
  expect((await run('list', '--name', 'refund_steps')).stdout).toMatch(
    new RegExp(`${id} +refund_steps +1 +approved +cases passed, 0.9 +operator_1`),
  )
  expect((await run('retire', id, ...why)).stdout).toBe('refund_steps v1: retired.\n')
  const second = await run('propose', 'refund_steps', '--text', 'Ask first.', ...from, ...why, '--json')
  expect((await run('decline', second.json().id, ...why, '--json')).json()).toMatchObject({
    status: 'declined',
    version: 2,
  })
  expect((await run('list', '--name', 'others', '--json')).json()).toEqual({ items: [], more: false })
})

it('E16 a procedure without a text, without a source or from a file that is not there is told so', async () => {
  const why = ['--reason', 'x']
  expect(await run('propose', 'p', ...why)).toMatchObject({ exit: EXIT.usage })
  expect(await run('propose', 'p', '--file', join(home, 'none'), ...why)).toMatchObject({ exit: EXIT.usage })
  expect(await run('propose', 'p', '--text', 'Ask first.', ...why)).toMatchObject({
    exit: EXIT.usage,
    stderr: expect.stringContaining('/sources'),
  })
})
