/**
 * A payment provider that moves no money: an append-only file of what it was told, one refund a line, each under its
 * idempotency key. It stands for the other side, so it knows nothing of runs.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

export interface Refund {
  readonly key: string
  readonly orderId: string
  readonly cents: number
}

export interface Payments {
  /** A key that is known already changes nothing and gets the first answer. */
  refund(order: { readonly orderId: string; readonly cents: number }, key: string): Refund
  find(key: string): Refund | null
  refunded(orderId: string): { readonly cents: number; readonly version: string }
}

export function openPayments(file: string): Payments {
  mkdirSync(dirname(file), { recursive: true })
  const find = (key: string): Refund | null => readRefunds(file).find((r) => r.key === key) ?? null
  return {
    find,
    refund({ orderId, cents }, key) {
      const known = find(key)
      if (known) return known
      const made = { key, orderId, cents }
      append(file, `${JSON.stringify(made)}\n`)
      return made
    },
    refunded(orderId) {
      const all = readRefunds(file).filter((r) => r.orderId === orderId)
      return { cents: all.reduce((sum, r) => sum + r.cents, 0), version: `v${all.length + 1}` }
    },
  }
}

/** What the provider did, in order. */
export function readRefunds(file: string): readonly Refund[] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n')
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Refund)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** On the disk before it is acknowledged, as a provider would have it. */
function append(file: string, text: string): void {
  const handle = openSync(file, 'a')
  try {
    writeSync(handle, text)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
