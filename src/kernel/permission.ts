/** The one reading of permissions: `orders.refund` is held by `orders.refund`, by `orders.*` and by `*`. */
import type { Actor } from './scope.ts'

/** True when a held permission covers the wanted one. A star stands only alone or after a dot, for one or more names. */
export function holds(held: Actor['permissions'], wanted: string): boolean {
  return held.some((permission) => {
    if (permission === wanted || permission === '*') return true
    return permission.endsWith('.*') && wanted.startsWith(permission.slice(0, -1)) && wanted.length >= permission.length
  })
}
