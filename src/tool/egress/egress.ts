/**
 * Where a call may go: the hosts that a contract lists, and of their addresses only those of the public internet.
 *
 * I10  a tool reaches the hosts of its list and nothing else; without a list, nothing
 * I4   every spelling of an address inside the network is refused, in the URL, in a redirect and in an answer of the DNS
 */
import ipaddr from 'ipaddr.js'

/** Why a URL or an address is refused; a word for people who look after the product, without the value. */
export type EgressRefusal = 'url' | 'scheme' | 'credentials' | 'host' | 'address' | 'redirects'

export interface EgressRules {
  /** `api.vendor.example`, `*.vendor.example` (every name below it), either with a `:port` that is not 443. */
  readonly hosts: readonly string[]
  /** Origins of a developer's machine, `http://localhost:8080`: without TLS and on a loopback address. */
  readonly local: readonly string[]
}

export type Admitted =
  | { readonly ok: true; readonly url: URL }
  | { readonly ok: false; readonly reason: Exclude<EgressRefusal, 'redirects'> }

/** The URL as every browser reads it, or why it is refused. Names are checked here, the addresses behind them at the dial. */
export function admit(text: string, rules: EgressRules): Admitted {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null) return { ok: false, reason: 'url' }
  const isLocal = rules.local.includes(url.origin)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal)) return { ok: false, reason: 'scheme' }
  if (url.username !== '' || url.password !== '') return { ok: false, reason: 'credentials' }
  // a name with its last dot is another text for the same host
  if (url.hostname.endsWith('.') || !rules.hosts.some((pattern) => matches(pattern, url.host)))
    return { ok: false, reason: 'host' }
  const literal = addressOf(url.hostname)
  if (literal !== null && !isReachable(literal, isLocal)) return { ok: false, reason: 'address' }
  return { ok: true, url }
}

/** In the one form that a URL and a resolver give an address; other spellings are names. */
const isAddress = (text: string): boolean => ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)

/** The address that a URL's host spells out, without brackets; null for a name. */
export function addressOf(hostname: string): string | null {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return isAddress(bare) ? bare : null
}

/** Exact, or any name below the suffix and not the suffix itself. Both sides are in the form that a URL gives a host. */
const matches = (pattern: string, host: string): boolean =>
  pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) && host.length >= pattern.length : pattern === host

/** IANA has given out nothing of IPv6 but this block for the public internet. */
const PUBLIC_V6 = ipaddr.parseCIDR('2000::/3')
/** The host agent of Azure, which answers every virtual machine from an address that looks public. */
const AZURE_HOST_AGENT = '168.63.129.16'

/** Whether an address is one of the public internet. Whatever cannot be read is not. */
export function isPublic(address: string): boolean {
  if (!isAddress(address) || address.includes('%')) return false
  const ip = ipaddr.process(address)
  if (ip.range() !== 'unicast' || ip.toString() === AZURE_HOST_AGENT) return false
  return ip.kind() === 'ipv4' || ip.match(PUBLIC_V6)
}

/** `isLocal`: the origin has the waiver of a developer's machine. */
export const isReachable = (address: string, isLocal: boolean): boolean =>
  isPublic(address) || (isLocal && isAddress(address) && ipaddr.process(address).range() === 'loopback')

/** Whether a line of `hosts` can ever match: a host as a URL writes it, in lower case and ASCII, without a path. */
export function isHostPattern(pattern: string): boolean {
  const host = pattern.startsWith('*.') ? pattern.slice(2) : pattern
  const url = URL.canParse(`https://${host}/`) ? new URL(`https://${host}/`) : null
  if (url?.host !== host || host.endsWith('.') || host.includes('*')) return false
  // a suffix of one label would be all of a top-level domain
  return pattern === host || (addressOf(url.hostname) === null && url.hostname.includes('.'))
}

/** One request of a chain of redirects. */
export interface Hop {
  readonly url: URL
  readonly method: string
  readonly headers: readonly (readonly [string, string])[]
  readonly hasBody: boolean
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])
/** What another origin may read; anything else, also under a name that nobody knows, may be a credential. */
const CROSSES_ORIGINS = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

export const isRedirect = (status: number): boolean => REDIRECTS.has(status)

/** What a redirect asks for, or why it is refused. The methods change as the Fetch standard says. */
export function nextHop(
  hop: Hop,
  status: number,
  location: string,
  rules: EgressRules,
): { readonly ok: true; readonly hop: Hop } | Extract<Admitted, { readonly ok: false }> {
  const target = URL.canParse(location, hop.url.href) ? new URL(location, hop.url).href : ''
  const admitted = admit(target, rules)
  if (!admitted.ok) return admitted
  const { url } = admitted
  const becomesGet = status === 303 ? hop.method !== 'HEAD' : status < 303 && hop.method === 'POST'
  const sameOrigin = url.origin === hop.url.origin
  const headers = hop.headers.filter(
    ([name]) => (sameOrigin || CROSSES_ORIGINS.has(name)) && !(becomesGet && name.startsWith('content-')),
  )
  return {
    ok: true,
    hop: { url, headers, method: becomesGet ? 'GET' : hop.method, hasBody: hop.hasBody && !becomesGet },
  }
}
