import { linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemIds } from '../../kernel/system.shell.ts'
import { type Folder, partsOf } from './sandbox.ts'
import { folders, sweepFolders } from './sandbox.shell.ts'
import { NO_SCRUB } from '../result/scrub.ts'

const OUTSIDE = [
  '',
  '.',
  '..',
  '../x',
  'a/../../x',
  'a/..',
  '/etc/passwd',
  '//x',
  'a//b',
  'a/',
  './a',
  'a\\..\\b',
  'C:\\x',
  'c:x',
  'file.txt:stream',
  'a\0b',
  'a\nb',
  'nul',
  'NUL.txt',
  'con/x',
  'x/COM1',
  'lpt9.log',
  'end.',
  'end ',
  ' start',
  'a\u202eb',
  'half\ud800',
  'x'.repeat(201),
  Array(9).fill('d').join('/'),
]

describe('names in the folder of a conversation', () => {
  it.each(OUTSIDE.map((name) => [name]))('A10 %j leads nowhere', (name) => expect(partsOf(name)).toBeNull())

  it('A10 whatever is accepted stays below the folder on every system', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 8 }),
      fc.constantFrom('..', '.', '/', '\\', 'a', 'con', ':'),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const name = pieces.join('/')
        const parts = partsOf(name)
        if (!parts) return
        expect(join('/root/folder', name).startsWith('/root/folder/')).toBe(true)
        expect(parts.join('/')).toBe(name)
        expect(parts).not.toContain('..')
      }),
    )
  })
})

describe('the folder of a conversation on disk', () => {
  const root = mkdtempSync(join(tmpdir(), 'plimsoll-folders-'))
  const outside = join(root, 'outside.txt')
  const here = folders({ root: join(root, 'folders'), kept: null })
  const at = { tenant: 'acme', environment: 'test', session: systemIds.next('ses') }
  let folder: Folder
  beforeAll(async () => {
    writeFileSync(outside, 'of somebody else')
    folder = await here.open(at, { keeper: null, scrub: NO_SCRUB, maxRawBytes: 1_000 })
  })
  afterAll(() => rmSync(root, { recursive: true, force: true }))
  const confined = { code: 'path_not_confined' }

  it('A10 holds files for its owner alone, also in folders of its own', async () => {
    await folder.write('reports/may.csv', 'a,b')
    await folder.write('reports/may.csv', 'c')
    expect(Buffer.from(await folder.read('reports/may.csv')).toString()).toBe('c')
    expect(await folder.list()).toEqual(['reports/may.csv'])
    const made = [
      dirname(folder.path),
      folder.path,
      join(folder.path, 'reports'),
      await folder.resolve('reports/may.csv'),
    ]
    expect(made.map((path) => statSync(path).mode & 0o077)).toEqual([0, 0, 0, 0])
    await folder.remove('reports/may.csv')
    expect(await folder.list()).toEqual([])
  })

  it('A10 no name of it reads, writes or removes anything outside', async () => {
    for (const name of OUTSIDE)
      for (const work of [
        folder.read(name),
        folder.write(name, 'x'),
        folder.remove(name),
        folder.resolve(name),
        folder.keep(name),
      ])
        await expect(work).rejects.toMatchObject({
          code: expect.stringMatching(/path_not_confined|folder_unavailable/),
        })
    expect(readdirSync(root).sort()).toEqual(['folders', 'outside.txt'])
  })

  it('A10 a link is not followed, at the end or on the way, and a second name of a foreign file is none', async () => {
    symlinkSync(outside, join(folder.path, 'link'))
    symlinkSync(root, join(folder.path, 'way'))
    mkdirSync(join(folder.path, 'dir'))
    linkSync(outside, join(folder.path, 'hard'))
    const socket = createServer()
    await new Promise<void>((resolve) => socket.listen(join(folder.path, 'pipe'), resolve))
    for (const name of ['link', 'way/outside.txt', 'way/new.txt', 'dir', 'pipe']) {
      await expect(folder.read(name)).rejects.toMatchObject(confined)
      await expect(folder.write(name, 'x')).rejects.toMatchObject(confined)
    }
    await expect(folder.read('hard')).rejects.toMatchObject(confined)
    await expect(folder.write('hard', 'x')).rejects.toMatchObject(confined)
    expect(statSync(outside).size).toBe('of somebody else'.length)
    expect(await folder.list()).toEqual(['hard'])
    await new Promise((resolve) => socket.close(resolve))
  })

  it('H1 names of tenants and conversations that are none make no folder', async () => {
    for (const odd of [
      { ...at, tenant: '..' },
      { ...at, environment: 'a/b' },
      { ...at, session: '../x' },
    ])
      await expect(here.open(odd, { keeper: null, scrub: NO_SCRUB, maxRawBytes: 1 })).rejects.toMatchObject(confined)
  })

  it('A10 the folder goes with its conversation, and what it links to stays', async () => {
    const other = { ...at, tenant: 'birch', session: systemIds.next('ses') }
    await here.open(other, { keeper: null, scrub: NO_SCRUB, maxRawBytes: 1 })
    expect(await here.list()).toHaveLength(2)
    const asked: string[] = []
    const over = async ({ tenant }: { tenant: string }, sessions: readonly string[]) => {
      asked.push(tenant)
      return tenant === 'acme' ? sessions : []
    }
    expect(await sweepFolders(here, over, () => {})).toBe(1)
    expect(asked.sort()).toEqual(['acme', 'birch'])
    expect(await here.list()).toEqual([other])
    expect(statSync(outside).size).toBe('of somebody else'.length)
  })
})
