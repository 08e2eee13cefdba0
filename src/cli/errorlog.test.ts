import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Fault } from '../kernel/fault.ts'
import { frames, keepFrames } from './errorlog.ts'

describe('the restricted log', () => {
  it('B6 holds where something failed and of which kind, and none of its words', () => {
    const cause = Object.assign(new TypeError('the card 4111 of ann'), { code: 'EPIPE' })
    const error = new Fault('internal', 'S3CRET', { cause })
    const text = frames(error).join('\n')
    expect(text).toMatch(/^\w+ internal\n\s+at [\s\S]*\nTypeError EPIPE\n\s+at /)
    expect(text).not.toMatch(/4111|S3CRET/)
    expect(frames('4111')).toEqual([])
  })

  it('P6 is readable by its owner alone, and a folder that cannot be made hides no failure', () => {
    const folder = mkdtempSync(join(tmpdir(), 'errorlog-'))
    const file = join(folder, 'deep', 'error.log')
    expect(keepFrames(file, new Error('x'))).toBe(file)
    keepFrames(file, new Error('y'))
    expect(readFileSync(file, 'utf8').match(/^Error$/gm)).toHaveLength(2)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(keepFrames(join(file, 'below', 'error.log'), new Error('x'))).toBeNull()
    rmSync(folder, { recursive: true })
  })
})
