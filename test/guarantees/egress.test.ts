/** The client that tools, webhooks and tool servers are given, against real servers on loopback that count connections. */
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Clock } from '../../src/kernel/clock.ts'
import type { Actor } from '../../src/kernel/scope.ts'
import { systemClock } from '../../src/kernel/system.shell.ts'
import { tool } from '../../src/tool/define.ts'
import { NO_SERVICES } from '../../src/tool/services.ts'
import { type Egress, openEgress, type Resolve } from '../../src/tool/egress/egress.shell.ts'
import { callRead } from '../../src/tool/gateway.shell.ts'

type Answer = (request: http.IncomingMessage, response: http.ServerResponse, body: string) => void
interface Site {
  readonly port: number
  readonly origin: string
  readonly asked: { method: string; path: string; headers: http.IncomingHttpHeaders; body: string }[]
  answer: Answer
  close(): Promise<void>
}

async function site(host = '127.0.0.1', port = 0): Promise<Site> {
  const asked: Site['asked'] = []
  const server = http.createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      asked.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body })
      made.answer(request, response, body)
    })
  })
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  const at = server.address() as AddressInfo
  const made: Site = {
    port: at.port,
    origin: `http://127.0.0.1:${at.port}`,
    asked,
    answer: (_, response) => response.end('here'),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
  return made
}

/** Inside the network: counts who comes, and says nothing. */
let inside: { readonly port: number; readonly came: () => number; close(): void }
let vendor: Site
let other: Site
const opened: Egress[] = []
const open = (local: readonly string[], resolve?: Resolve, clock: Clock = systemClock): Egress => {
  const egress = openEgress({ clock, local, ...(resolve && { resolve }) })
  opened.push(egress)
  return egress
}

beforeAll(async () => {
  let came = 0
  const listening: net.Server[] = []
  let port = 0
  // every address of this machine that a trick may spell
  for (const host of ['127.0.0.1', '::1']) {
    const server = net.createServer((socket) => {
      came++
      socket.destroy()
    })
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve)).catch(
      () => {},
    )
    if (server.listening) port = (server.address() as AddressInfo).port
    listening.push(server)
  }
  inside = { port, came: () => came, close: () => listening.forEach((server) => server.close()) }
  ;[vendor, other] = [await site(), await site()]
})
afterAll(async () => {
  inside.close()
  await Promise.all([...opened.map((egress) => egress.close()), vendor.close(), other.close()])
})

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code
const failed = (work: Promise<unknown>): Promise<unknown> => work.then(() => 'reached', codeOf)
const messageOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'reached',
    (error: unknown) => (error as Error).message,
  )

/** Written with PORT for the port of the server inside. Each would reach it, or another place inside, if it were dialled. */
// biome-ignore format: a table
const SPELLINGS = [
  '127.0.0.1', '127.1', '127.0.1', '2130706433', '0x7f000001', '0x7f.1', '0x7f.0x0.0x0.0x1', '0177.0.0.1', '0177.1', '017700000001',
  '127.0.0.1.', '127.000.000.001', '0', '0.0.0.0', '0x0', '[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[0000::0001]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:127.0.0.1]', '[::127.0.0.1]', '[64:ff9b::127.0.0.1]', '[64:ff9b::7f00:1]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2002:7f00:0001::1]',
  '[::ffff:0:127.0.0.1]', '[fe80::1]', '[fd00:ec2::254]', '[fec0::1]', '[2001::1]', '169.254.169.254', '0xa9fea9fe', '2852039166', '[::ffff:169.254.169.254]',
  '100.64.0.1', '100.100.100.200', '168.63.129.16', '192.0.0.192', '10.0.0.1', '012.0.0.1', '172.16.0.1', '192.168.0.1', '①②⑦.⓪.⓪.①', '１２７.０.０.１', '127。0。0。1',
  '127．0．0．1', '127｡0｡0｡1', '%31%32%37.0.0.1', '0x7F.0.0.1', 'localhost', 'LOCALHOST', 'localhost.', 'ｌｏｃａｌｈｏｓｔ', 'loc%61lhost', 'ⓛocalhost',
]
const OTHERS = [
  'https://[fe80::1%25eth0]:PORT/',
  'https://user:pass@127.0.0.1:PORT/',
  'https://api.vendor.example@127.0.0.1:PORT/',
  'https://127.0.0.1:PORT\\@api.vendor.example/',
  'https:127.0.0.1:PORT/',
  'https:/127.0.0.1:PORT/',
  'https:\\\\127.0.0.1:PORT\\',
  ' https://127.0.0.1:PORT/',
  'ht\ntps://127.0.0.1:PORT/',
  'HTTPS://127.1:PORT/',
  'http://127.0.0.1:PORT/',
  'http://localhost:PORT/',
  'ws://127.0.0.1:PORT/',
  'file:///etc/passwd',
  'file://127.0.0.1/etc/passwd',
  'data:text/plain,secret',
  'gopher://127.0.0.1:PORT/_x',
  'ftp://127.0.0.1:PORT/',
  'blob:https://127.0.0.1:PORT/x',
  'javascript:1',
  'about:blank',
  '//127.0.0.1:PORT/',
  '127.0.0.1:PORT',
  '',
]

describe('spellings', () => {
  const urls = [...SPELLINGS.map((host) => `https://${host}:PORT/`), ...OTHERS]

  it(`I4 none of ${urls.length} spellings reaches a server inside the network, even when its host is listed`, async () => {
    const egress = open([])
    const outcomes: [string, unknown][] = []
    for (const spelling of urls) {
      const url = spelling.replace('PORT', String(inside.port))
      const parsed = URL.canParse(url) ? new URL(url).host : ''
      const hosts = [parsed, `127.0.0.1:${inside.port}`, `localhost:${inside.port}`]
      outcomes.push([spelling, await failed(egress.fetch({ hosts, timeoutMs: 5_000 })(url))])
    }
    expect(outcomes.filter(([, code]) => code !== 'egress_refused')).toEqual([])
    expect(inside.came()).toBe(0)
  })

  it('I4 the server inside counts whoever comes, so that the table could fail', async () => {
    const before = inside.came()
    const egress = open([`http://127.0.0.1:${inside.port}`])
    expect(
      await failed(egress.fetch({ hosts: [`127.0.0.1:${inside.port}`] })(`http://127.0.0.1:${inside.port}/`)),
    ).toBe('egress_failed')
    expect(inside.came()).toBe(before + 1)
  })

  it('I10 what a refusal says names no host and no path', async () => {
    const said = await messageOf(open([]).fetch({ hosts: [] })('https://secret.example/token-of-somebody'))
    expect(said).toBe('The host is not in the list of this call.')
  })
})

describe('names', () => {
  const answering = (...answers: string[][]): Resolve & { asked: number } => {
    const resolve = (async () => {
      const found = answers[Math.min(resolve.asked++, answers.length - 1)] ?? []
      return found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    }) as unknown as Resolve & { asked: number }
    resolve.asked = 0
    return resolve
  }

  it('I4 one address inside the network among good ones refuses the name, and no address of it is dialled', async () => {
    const before = inside.came()
    for (const found of [
      ['127.0.0.1'],
      ['8.8.8.8', '127.0.0.1'],
      ['::1', '2606:4700::1111'],
      ['169.254.169.254'],
      [],
    ]) {
      const egress = open([], answering(found))
      const url = `https://api.vendor.example:${inside.port}/`
      expect(await failed(egress.fetch({ hosts: [`api.vendor.example:${inside.port}`] })(url))).toBe('egress_refused')
    }
    expect(inside.came()).toBe(before)
  })

  it('I4 a name that changes its answer is dialled where it was checked, and each connection is checked', async () => {
    const origin = `http://vendor.test:${vendor.port}`
    const resolve = answering(['127.0.0.1'], ['169.254.169.254'], ['10.0.0.1'], ['127.0.0.1'])
    const fetch = open([origin], resolve).fetch({ hosts: [`vendor.test:${vendor.port}`] })
    vendor.answer = (_, response) => response.setHeader('connection', 'close').end('here')
    const outcomes = []
    for (let i = 0; i < 4; i++) outcomes.push(await fetch(origin).then((r) => r.text(), codeOf))
    expect(outcomes).toEqual(['here', 'egress_refused', 'egress_refused', 'here'])
    expect(resolve.asked).toBe(4)
  })

  it('I4 the waiver of one origin is none for another port of the same name', async () => {
    const before = inside.came()
    const fetch = open([`http://localhost:${vendor.port}`]).fetch({ hosts: [`localhost:${inside.port}`] })
    for (const scheme of ['http', 'https'])
      expect(await failed(fetch(`${scheme}://localhost:${inside.port}/`))).toBe('egress_refused')
    expect(inside.came()).toBe(before)
  })

  it('I10 a name that does not resolve, and a resolver that fails, end the call with a fault', async () => {
    const resolve: Resolve = () => Promise.reject(new Error('ENOTFOUND api.vendor.example'))
    const said = await messageOf(
      open([], resolve).fetch({ hosts: ['api.vendor.example'] })('https://api.vendor.example/'),
    )
    expect(said).toBe('The name of the host cannot be resolved.')
  })
})

describe('redirects', () => {
  const reach = (hosts: readonly string[] = [], redirects?: number) =>
    open([vendor.origin, other.origin]).fetch({
      hosts: [`127.0.0.1:${vendor.port}`, ...hosts],
      ...(redirects !== undefined && { redirects }),
    })
  const redirecting = (status: number, location: string): void => {
    vendor.answer = (_, response) => response.writeHead(status, { location }).end()
  }

  it('I4 no redirect leads inside the network or to another scheme, though every host is listed', async () => {
    const before = inside.came()
    const hosts = [
      `127.0.0.1:${inside.port}`,
      `[::1]:${inside.port}`,
      `localhost:${inside.port}`,
      '169.254.169.254',
      '',
    ]
    const outcomes: unknown[] = []
    const targets = [
      `https://127.0.0.1:${inside.port}/`,
      `http://127.0.0.1:${inside.port}/`,
      `https://[::1]:${inside.port}/`,
      `https://localhost:${inside.port}/`,
      `//2130706433:${inside.port}/`,
      'https://169.254.169.254/latest/meta-data/',
      'http://169.254.169.254/latest/meta-data/',
      'file:///etc/passwd',
      'data:text/plain,x',
      'gopher://127.0.0.1/',
      'https://[::',
    ]
    for (const status of [301, 302, 303, 307, 308])
      for (const target of targets) {
        redirecting(status, target)
        outcomes.push(await failed(reach(hosts)(vendor.origin)))
      }
    expect(outcomes).toEqual(outcomes.map(() => 'egress_refused'))
    expect(outcomes).toHaveLength(55)
    expect(inside.came()).toBe(before)
  })

  it('I4 a chain of redirects is as long as its limit and no longer', async () => {
    const chain = (length: number) => {
      vendor.answer = ({ url }, response) => {
        const n = Number(url?.slice(1))
        if (n === length) response.end('the end')
        else response.writeHead(302, { location: `/${n + 1}` }).end()
      }
    }
    chain(5)
    expect(await (await reach()(`${vendor.origin}/0`)).text()).toBe('the end')
    chain(6)
    expect(await messageOf(reach()(`${vendor.origin}/0`))).toBe('The host redirects too often.')
    chain(-1)
    vendor.asked.length = 0
    expect(await failed(reach([], 3)(`${vendor.origin}/0`))).toBe('egress_refused')
    expect(vendor.asked).toHaveLength(4)
  })

  it('I4 a credential stays with its origin, and a body follows only where the method does', async () => {
    const init = {
      method: 'POST',
      body: '{"a":1}',
      headers: { authorization: 'Bearer x', cookie: 'a=1', 'x-api-key': 'x', 'content-type': 'application/json' },
    }
    for (const [status, method, body] of [
      [307, 'POST', '{"a":1}'],
      [302, 'GET', ''],
    ] as const) {
      redirecting(status, `${other.origin}/there`)
      other.asked.length = vendor.asked.length = 0
      await (await reach([`127.0.0.1:${other.port}`])(vendor.origin, init)).text()
      expect(vendor.asked[0]?.headers).toMatchObject({ authorization: 'Bearer x', cookie: 'a=1', 'x-api-key': 'x' })
      expect(other.asked).toMatchObject([{ method, body, path: '/there' }])
      for (const name of ['authorization', 'cookie', 'x-api-key'])
        expect(other.asked[0]?.headers).not.toHaveProperty(name)
    }
  })

  it('I4 whoever asks for no redirects gets none', async () => {
    redirecting(302, `${other.origin}/there`)
    other.asked.length = 0
    const fetch = reach([`127.0.0.1:${other.port}`])
    expect((await fetch(vendor.origin, { redirect: 'manual' })).status).toBe(302)
    expect(await failed(fetch(vendor.origin, { redirect: 'error' }))).toBe('egress_refused')
    expect((await reach([`127.0.0.1:${other.port}`], 0)(vendor.origin)).status).toBe(302)
    expect(other.asked).toEqual([])
  })
})

describe('limits', () => {
  const reach = (more: object = {}, clock?: Clock) =>
    open([vendor.origin], undefined, clock).fetch({ hosts: [`127.0.0.1:${vendor.port}`], ...more })

  it('I10 an answer goes through whole, with status, headers and body', async () => {
    vendor.answer = (_, response) => response.writeHead(418, { 'x-kind': 'tea' }).end('short')
    const response = await reach()(`${vendor.origin}/pot?a=1`, { method: 'PUT', body: new URLSearchParams({ a: 'b' }) })
    expect([response.status, response.headers.get('x-kind'), await response.text()]).toEqual([418, 'tea', 'short'])
    expect(vendor.asked.at(-1)).toMatchObject({ method: 'PUT', path: '/pot?a=1', body: 'a=b' })
  })

  it('I10 the host header is that of the URL, whatever the caller says', async () => {
    vendor.answer = (_, response) => response.end()
    await reach()(vendor.origin, { headers: { host: 'inside.example', 'x-mine': '1' } })
    expect(vendor.asked.at(-1)?.headers).toMatchObject({ host: `127.0.0.1:${vendor.port}`, 'x-mine': '1' })
  })

  it('I4 an answer that is larger than the limit ends, also when it is small until it is unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000))
    const answers: Answer[] = [
      (_, response) => response.end(Buffer.alloc(100_001)),
      (_, response) => {
        response.writeHead(200)
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(50_000)));
          if (!response.destroyed) response.once('drain', more)
        }
        more()
      },
      (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
      (_, response) => response.writeHead(200, { 'content-encoding': 'gzip, gzip' }).end(gzipSync(bomb)),
    ]
    for (const answer of answers) {
      vendor.answer = answer
      const work = reach({ maxBytes: 100_000 })(vendor.origin).then((response) => response.arrayBuffer())
      expect(await messageOf(work)).toBe('The answer is larger than the limit.')
    }
    vendor.answer = (_, response) => response.end(Buffer.alloc(100_000))
    expect((await (await reach({ maxBytes: 100_000 })(vendor.origin)).arrayBuffer()).byteLength).toBe(100_000)
  })

  it('I4 a host that says nothing, or never comes to an end, holds nobody longer than the limit', async () => {
    for (const answer of [
      () => {},
      (_: unknown, response: http.ServerResponse) => void response.write('a'),
    ] as Answer[]) {
      let ring = (): void => {}
      const clock = { ...systemClock, after: (_: number, then: () => void) => ((ring = then), () => {}) }
      const arrived = new Promise<void>((resolve) => {
        vendor.answer = (request, response, body) => {
          answer(request, response, body)
          resolve()
        }
      })
      const work = reach({}, clock)(vendor.origin).then((response) => response.text())
      await arrived
      ring()
      expect(await messageOf(work)).toBe('The host took too long.')
    }
  })

  it('K1 a request whose body never comes to its end is left with its time and its caller, and its source is closed', async () => {
    const endless = () => {
      let body: ReadableStream | undefined
      const isClosed = new Promise<unknown>((cancel) => {
        body = new ReadableStream({
          start: (out) => out.enqueue(Buffer.from('a')),
          pull: () => new Promise(() => {}),
          cancel,
        })
      })
      return { init: { method: 'POST', body, duplex: 'half' } as RequestInit, isClosed }
    }
    let ring = (): void => {}
    const clock = { ...systemClock, after: (_: number, then: () => void) => ((ring = then), () => {}) }
    const late = endless()
    const work = reach({}, clock)(vendor.origin, late.init)
    ring()
    expect(await messageOf(work)).toBe('The host took too long.')
    await late.isClosed
    const gone = new AbortController()
    const left = endless()
    const stopped = reach()(vendor.origin, { ...left.init, signal: gone.signal })
    gone.abort(new Error('left'))
    expect(await messageOf(stopped)).toBe('left')
    await left.isClosed
  })

  it('K1 the reason of the caller comes back when its signal aborts, before and during the answer', async () => {
    const gone = new AbortController()
    const arrived = new Promise<void>((resolve) => {
      vendor.answer = (_, response) => {
        response.write('a')
        resolve()
      }
    })
    const work = reach()(vendor.origin, { signal: gone.signal }).then((response) => response.text())
    await arrived
    gone.abort(new Error('left'))
    expect(await messageOf(work)).toBe('left')
    expect(await messageOf(reach()(vendor.origin, { signal: gone.signal }))).toBe('left')
  })

  it('I4 no proxy of the environment is asked', async () => {
    const before = inside.came()
    const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY']
    const kept = names.map((name) => process.env[name])
    vendor.answer = (_, response) => response.end('direct')
    try {
      for (const name of names)
        process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : `http://127.0.0.1:${inside.port}`
      expect(await (await reach()(vendor.origin)).text()).toBe('direct')
    } finally {
      names.forEach((name, i) => (kept[i] === undefined ? delete process.env[name] : (process.env[name] = kept[i])))
    }
    expect(inside.came()).toBe(before)
  })
})

describe('tools', () => {
  const cx = {
    actor: { tenant: 'acme' } as unknown as Actor,
    runId: 'run_1',
    step: 1,
    position: 0,
    effectKey: 'k',
    signal: new AbortController().signal,
  }
  const asking = (hosts?: readonly string[]) =>
    tool('weather.show@1', {
      input: z.strictObject({}),
      effect: 'read',
      ...(hosts && { hosts }),
      run: async (_, { fetch }) => (await fetch(vendor.origin)).text(),
    })

  it('I10 a tool reaches the hosts of its contract through `cx.fetch`, and without a list nothing', async () => {
    vendor.answer = (_, response) => response.end('sun')
    const options = { clock: systemClock, egress: open([vendor.origin]) }
    const listed = asking([`127.0.0.1:${vendor.port}`])
    expect(await callRead(listed, {}, cx, options)).toMatchObject({ ok: true, result: 'sun' })
    const asked = vendor.asked.length
    const seen: unknown[] = []
    const services = { ...NO_SERVICES, report: (thrown: unknown) => seen.push(codeOf(thrown)) }
    for (const contract of [asking(), asking(['api.vendor.example'])])
      expect(await callRead(contract, {}, cx, { ...options, services })).toMatchObject({ ok: false })
    expect(seen).toEqual(['egress_refused', 'egress_refused'])
    expect(vendor.asked).toHaveLength(asked)
  })

  it('I10 the list is part of the hash, and one that matches nothing is refused at load', () => {
    const hashes = [undefined, ['a.example'], ['b.example'], ['a.example', 'b.example']].map((h) => asking(h).hash)
    expect(new Set(hashes).size).toBe(4)
    expect(asking(['b.example', 'a.example']).hash).toBe(hashes[3])
    for (const wrong of [['*'], ['https://a.example'], ['A.example'], 'a.example'])
      expect(() => asking(wrong as string[])).toThrow(/host_illegal|line_type/)
  })
})
