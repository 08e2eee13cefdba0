/** A TCP proxy before a server, which loses what a network loses: a request, a reply, or everything for a while. */
import { createServer, connect, type AddressInfo, type Socket } from 'node:net'

export interface Proxy {
  /** The URL of the server, through the proxy. */
  readonly url: string
  /**
   * Cuts the connection at the n-th request from now that holds `text`, or one of several texts: before it reaches the
   * server, or before its reply leaves.
   */
  cut(when: 'before' | 'after', text: string | readonly string[], nth?: number): void
  /** How often a cut has happened. */
  readonly cuts: () => number
  /** Ends all connections and refuses new ones, until `open`. */
  close(): void
  open(): void
  stop(): Promise<void>
}

/** `ReadyForQuery` of the PostgreSQL protocol without its last byte: the server has done what it was asked. */
const DONE = Buffer.from([0x5a, 0, 0, 0, 5])

interface Plan {
  readonly when: 'before' | 'after'
  readonly texts: readonly string[]
  left: number
}

export async function proxyTo(target: string): Promise<Proxy> {
  const to = new URL(target)
  const sockets = new Set<Socket>()
  let plan: Plan | null = null
  let cuts = 0
  let closed = false

  const end = (...both: readonly Socket[]): void => {
    for (const socket of both) socket.destroy()
  }

  const server = createServer((client) => {
    if (closed) return end(client)
    const upstream = connect(Number(to.port), to.hostname)
    let armed = false
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket
        .on('error', () => end(client, upstream))
        .on('close', () => {
          sockets.delete(socket)
          end(client, upstream)
        })
    }
    client.on('data', (data) => {
      const hit = plan?.texts.some((text) => data.includes(text)) && --plan.left === 0 ? plan : null
      if (hit) plan = null
      if (hit?.when === 'before') {
        cuts += 1
        return end(client, upstream)
      }
      armed ||= hit !== null
      upstream.write(data)
    })
    upstream.on('data', (data) => {
      if (!armed) return void client.write(data)
      if (!data.includes(DONE)) return
      cuts += 1
      end(client, upstream)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: Object.assign(new URL(target), { host: `127.0.0.1:${port}` }).toString(),
    cut(when, text, nth = 1) {
      plan = { when, texts: [text].flat(), left: nth }
    },
    cuts: () => cuts,
    close() {
      closed = true
      end(...sockets)
    },
    open() {
      closed = false
    },
    async stop() {
      end(...sockets)
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
