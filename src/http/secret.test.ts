import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { secretIn } from './secret.ts'

it('R5 the secret of a data folder is made once and is its owner’s alone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'secret-'))
  const [first, again] = [await secretIn(join(folder, 'data')), await secretIn(join(folder, 'data'))]
  expect(first).toHaveLength(43)
  expect(again).toBe(first)
  expect(statSync(join(folder, 'data', 'http-secret')).mode & 0o777).toBe(0o600)
  rmSync(folder, { recursive: true })
})
