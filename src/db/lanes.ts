import pg from 'pg'
import { unreachable } from './fault.ts'

/**
 * Connections for single statements that need nothing of one another: each is its own transaction, so that several may be
 * under way on one connection. Checking a client out of a pool for every statement costs as much again as the statement.
 */
export interface Lanes {
  query(name: string, text: string, values: unknown[]): Promise<pg.QueryResult>
  close(): Promise<void>
}

interface Lane {
  readonly client: Promise<pg.Client>
  flying: number
}

/** Opens up to `most` connections, each when all others are busy. A broken one is forgotten and replaced at the next call. */
export function openLanes(config: pg.ClientConfig, most: number): Lanes {
  const lanes = new Set<Lane>()

  function open(): Lane {
    const client = new pg.Client(config)
    const lane: Lane = { client: client.connect().then(() => client), flying: 0 }
    // whoever waits for the connection gets the error; without these it would end the process
    lane.client.catch(() => lanes.delete(lane))
    client.on('error', () => lanes.delete(lane))
    client.on('end', () => lanes.delete(lane))
    lanes.add(lane)
    return lane
  }

  function least(): Lane {
    let best: Lane | undefined
    for (const lane of lanes) if (!best || lane.flying < best.flying) best = lane
    return best && (best.flying === 0 || lanes.size >= most) ? best : open()
  }

  return {
    async query(name, text, values) {
      const lane = least()
      lane.flying += 1
      try {
        return await (await lane.client).query({ name, text, values })
      } catch (error) {
        // the server says why it ends a connection before it does: nobody may take the lane in between
        if (unreachable(error)) lanes.delete(lane)
        throw error
      } finally {
        lane.flying -= 1
      }
    },
    async close() {
      const open = [...lanes]
      lanes.clear()
      await Promise.allSettled(open.map(async (lane) => (await lane.client).end()))
    },
  }
}
