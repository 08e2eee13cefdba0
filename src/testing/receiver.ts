/** A receiver of webhooks on this machine, over real HTTP, which remembers what came. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly id: string
  readonly body: string
  readonly headers: Record<string, string>
  readonly run: string
  readonly seq: number
  readonly type: string
}

export interface Receiver {
  readonly url: string
  readonly got: Received[]
  /** The status for a message; a promise holds the answer back. Default 204. */
  answer: (message: Received) => number | Promise<number>
  close(): Promise<void>
}

export async function openReceiver(): Promise<Receiver> {
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const { type, data } = JSON.parse(body) as { type: string; data: { run_id: string; seq: number } }
      const headers = request.headers as Record<string, string>
      const message = { id: headers['webhook-id'] ?? '', body, headers, run: data.run_id, seq: data.seq, type }
      made.got.push(message)
      void Promise.resolve(made.answer(message)).then((status) => response.writeHead(status).end())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const made: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    got: [],
    answer: () => 204,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
  return made
}
