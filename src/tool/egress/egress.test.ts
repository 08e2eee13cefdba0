import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { admit, isHostPattern, isPublic, isReachable, nextHop } from './egress.ts'

const rules = (hosts: readonly string[], local: readonly string[] = []) => ({ hosts, local })
const reason = (text: string, hosts: readonly string[], local: readonly string[] = []): string => {
  const admitted = admit(text, rules(hosts, local))
  return admitted.ok ? 'ok' : admitted.reason
}

describe('the list of hosts', () => {
  it('I10 a contract without a list reaches nothing', () => {
    expect(reason('https://api.vendor.example/', [])).toBe('host')
  })

  it.each([
    ['https://api.vendor.example/x', 'ok'],
    ['https://API.Vendor.Example:443/x', 'ok'],
    ['https://api.vendor.example:8443/', 'host'],
    ['https://api.vendor.example./', 'host'],
    ['https://vendor.example/', 'host'],
    ['https://xapi.vendor.example/', 'host'],
    ['https://api.vendor.example.evil.test/', 'host'],
    ['https://evil.test/api.vendor.example', 'host'],
    ['https://evil.test#api.vendor.example', 'host'],
    ['https://evil.test\\@api.vendor.example/', 'host'],
    ['https://api.vendor.example@evil.test/', 'credentials'],
    ['https://user@api.vendor.example/', 'credentials'],
    ['https://:secret@api.vendor.example/', 'credentials'],
    ['http://api.vendor.example/', 'scheme'],
    ['ftp://api.vendor.example/', 'scheme'],
    ['api.vendor.example', 'url'],
  ])('I10 a URL that only looks like a listed host is refused: %s', (url, expected) => {
    expect(reason(url, ['api.vendor.example'])).toBe(expected)
  })

  it.each([
    ['https://a.vendor.example/', 'ok'],
    ['https://a.b.vendor.example/', 'ok'],
    ['https://vendor.example/', 'host'],
    ['https://.vendor.example/', 'host'],
    ['https://evilvendor.example/', 'host'],
    ['https://a.vendor.example:444/', 'host'],
  ])('I10 a star stands for the names below and for nothing else: %s', (url, expected) => {
    expect(reason(url, ['*.vendor.example'])).toBe(expected)
  })

  it.each([
    ['api.vendor.example', true],
    ['api.vendor.example:8443', true],
    ['*.vendor.example', true],
    ['localhost:8080', true],
    ['127.0.0.1:8080', true],
    ['[2606:4700::1111]', true],
    ['*', false],
    ['*.example', false],
    ['*.10.0.0.1', false],
    ['a.*.example', false],
    ['API.vendor.example', false],
    ['https://api.vendor.example', false],
    ['api.vendor.example/path', false],
    ['api.vendor.example:443', false],
    ['user@api.vendor.example', false],
    ['api.vendor.example.', false],
    ['bücher.example', false],
    ['0x7f.1', false],
    ['', false],
  ])('I10 a line of the list that could never match, or matches too much, fails at load: %s', (pattern, expected) => {
    expect(isHostPattern(pattern)).toBe(expected)
  })

  it('I10 what is admitted is always a host of the list', () => {
    const label = fc.stringMatching(/^[a-z0-9.@:/#\\%[\]*-]{0,24}$/)
    fc.assert(
      fc.property(label, label, (before, after) => {
        const admitted = admit(`https://${before}api.vendor.example${after}`, rules(['api.vendor.example']))
        expect(!admitted.ok || admitted.url.host === 'api.vendor.example').toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('addresses', () => {
  it.each(['8.8.8.8', '1.1.1.1', '2606:4700::1111', '::ffff:8.8.8.8', '100.128.0.1', '172.32.0.1'])(
    'I4 an address of the public internet is one: %s',
    (address) => expect(isPublic(address)).toBe(true),
  )

  // biome-ignore format: a table
  it.each([
    '0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '100.100.100.200', '127.0.0.1', '127.255.255.254', '169.254.169.254',
    '168.63.129.16', '172.16.0.1', '172.31.255.255', '192.0.0.192', '192.0.2.1', '192.88.99.1', '192.168.1.1', '198.18.0.1',
    '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255', '::', '::1', '::127.0.0.1', '::ffff:127.0.0.1',
    '::ffff:7f00:1', '::ffff:169.254.169.254', '::ffff:168.63.129.16', '::ffff:0:127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::1', '100::1',
    '1::', '2001::1', '2001:db8::1', '2002:7f00:1::', '3fff::1', '4000::1', '5f00::1', 'fc00::1', 'fd00:ec2::254', 'fe80::1', 'fe80::1%eth0',
    'fec0::1', 'ff02::1', '2606:4700::1111%eth0', '127.1', '0x7f.0.0.1', '2130706433', '0177.0.0.1', 'localhost', '', ' 8.8.8.8',
  ])('I4 an address that is not of the public internet, or cannot be read, is refused: %s', (address) =>
    expect(isPublic(address)).toBe(false),
  )

  it('I4 the waiver of a developer opens the loopback and no other address', () => {
    for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '8.8.8.8'])
      expect([address, isReachable(address, true)]).toEqual([address, true])
    for (const address of ['10.0.0.1', '169.254.169.254', '0.0.0.0', '::', 'fd00:ec2::254', 'localhost'])
      expect([address, isReachable(address, true)]).toEqual([address, false])
  })
})

describe('redirects', () => {
  const hosts = ['a.example', 'b.example', '10.0.0.1']
  const headers = [
    ['authorization', 'Bearer x'],
    ['cookie', 'x=1'],
    ['x-api-key', 'x'],
    ['accept', 'text/plain'],
    ['content-type', 'application/json'],
  ] as const
  const hop = { url: new URL('https://a.example/p/q'), method: 'POST', headers, hasBody: true }
  const asked = (status: number, location: string, from: typeof hop = hop) => {
    const next = nextHop(from, status, location, rules(hosts))
    return next.ok
      ? { ...next.hop, url: next.hop.url.href, headers: next.hop.headers.map(([name]) => name) }
      : next.reason
  }

  it('I4 a credential does not follow to another origin, whatever it is called', () => {
    expect(asked(307, 'https://b.example/x')).toEqual({
      url: 'https://b.example/x',
      method: 'POST',
      hasBody: true,
      headers: ['accept', 'content-type'],
    })
    expect(asked(308, '../y')).toMatchObject({ url: 'https://a.example/y', headers: headers.map(([name]) => name) })
  })

  it('I4 a redirect that makes a GET takes no body along', () => {
    for (const status of [301, 302, 303])
      expect(asked(status, '/y')).toMatchObject({
        method: 'GET',
        hasBody: false,
        headers: ['authorization', 'cookie', 'x-api-key', 'accept'],
      })
    expect(asked(303, '/y', { ...hop, method: 'HEAD' })).toMatchObject({ method: 'HEAD' })
    expect(asked(302, '/y', { ...hop, method: 'PUT' })).toMatchObject({ method: 'PUT', hasBody: true })
  })

  it('I4 each hop obeys the same rules as the first', () => {
    expect(asked(302, 'http://a.example/')).toBe('scheme')
    expect(asked(302, '//evil.test/')).toBe('host')
    expect(asked(302, 'https://10.0.0.1/')).toBe('address')
    expect(asked(302, 'https://u:p@a.example/')).toBe('credentials')
    expect(asked(302, 'https://[::1')).toBe('url')
  })
})
