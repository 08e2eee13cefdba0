/** Whoever is outside tells runs what they wait for (T3). */
import { Fault } from '../kernel/fault.ts'
import type { Json } from '../kernel/json.ts'
import { checkJson } from '../kernel/plain.ts'
import { holds } from '../kernel/permission.ts'
import type { Actor } from '../kernel/scope.ts'
import { scopeOf } from '../request/actor.ts'
import { isSignal } from '../tool/later.ts'
import type { RunStore } from './run.store.ts'

/** What a service must hold to tell: a signal may be what an effect waits for. */
export const TELL = 'signals.tell'

/**
 * Delivers `body` under the name of a signal: to every run that waits for it, and to those that will. The same body may
 * be told again. A lost reply is no harm for that reason: tell it again.
 *
 * @throws Fault 403 permission_denied · 400 invalid_request · 409 already_signaled
 */
export async function tellSignal(
  { runs }: { readonly runs: RunStore },
  actor: Actor,
  signal: string,
  body: unknown,
): Promise<void> {
  if (actor.kind === 'end_user' || !holds(actor.permissions, TELL)) throw new Fault('permission_denied')
  if (!isSignal(signal))
    throw new Fault('invalid_request', 'A signal has 1 to 200 letters, digits, `.`, `_`, `:`, `@` or `-`.')
  const checked = checkJson(body ?? null)
  if (!checked.ok) throw new Fault('invalid_request', 'The body of a signal is not plain JSON within the limits.')
  const told = await runs.tell(scopeOf(actor), signal, checked.value satisfies Json)
  if (told !== 'told') throw new Fault('already_signaled')
}
