/** The app plane on a port. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { Fault } from '../kernel/fault.ts'
import type { Runtime } from '../runtime.ts'
import { appPlane } from './app.ts'
import { streams } from './pump.ts'

export interface HttpOptions {
  /** Signs tokens and cursors; the same in all processes of one installation, at least 32 characters. */
  readonly secret: string
  /** Default: any free port. */
  readonly port?: number
  /** Default: this machine only. */
  readonly host?: string
  /** Open event streams of this process; default 1 000. */
  readonly streams?: number
  /** A client that leaves its stream unread for this long is disconnected; default 15 000. */
  readonly stallMs?: number
  readonly onError?: (error: unknown) => void
}

export interface HttpServer {
  readonly url: string
  /** Event streams that are open now. */
  streams(): number
  /** Readiness off: `/readyz` says 503, and everything else is answered as before. */
  drain(): void
  /** Readiness off, streams closed, requests in flight answered. */
  close(): Promise<void>
}

/** A client has this long for its headers, and for the whole request. */
const HEADERS_MS = 10_000
const REQUEST_MS = 30_000
const KEEP_ALIVE_MS = 65_000
const HEADER_BYTES = 16_384
const MOST_STREAMS = 1_000
const STALL_MS = 15_000
/** After this the rest is cut off: whoever repeats with the same key gets the answer. */
const CLOSE_MS = 5_000
const IDLE_MS = 25

/** @throws Fault `port_in_use` */
export async function createHttpServer(runtime: Runtime, options: HttpOptions): Promise<HttpServer> {
  const open = streams(options.streams ?? MOST_STREAMS)
  let isDraining = false
  const app = appPlane({
    runtime,
    door: runtime.door(options.secret),
    streams: open,
    stallMs: options.stallMs ?? STALL_MS,
    isDraining: () => isDraining,
    onError: options.onError ?? (() => {}),
  })
  const server = createAdaptorServer({
    fetch: app.fetch,
    overrideGlobalObjects: false,
    serverOptions: {
      maxHeaderSize: HEADER_BYTES,
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
  }) as Server
  const silent = silentSockets(server)
  const host = options.host ?? '127.0.0.1'
  await listen(server, options.port ?? 0, host)
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : options.port
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    streams: open.open,
    drain() {
      isDraining = true
    },
    async close() {
      isDraining = true
      open.close()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      // a connection becomes idle when its last answer has left, and nobody tells us when that is
      const idle = setInterval(() => {
        server.closeIdleConnections()
        for (const socket of silent()) socket.destroy()
      }, IDLE_MS)
      const cut = setTimeout(() => server.closeAllConnections(), CLOSE_MS)
      await closed
      clearInterval(idle)
      clearTimeout(cut)
    },
  }
}

/** Connections that have not said anything yet: clients open them in advance, and Node does not count them as idle. */
function silentSockets(server: Server): () => readonly Socket[] {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return () => [...sockets].filter((socket) => socket.bytesRead === 0)
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Fault('port_in_use', `Port ${port} of ${host} is taken by another program.`)
          : error,
      ),
    )
    server.listen(port, host, () => resolve())
  })
}
