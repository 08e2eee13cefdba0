/**
 * Credentials live on this side of the gateway (I6): the model, the arguments and the rows never hold one. A tool names
 * capabilities in its contract, and is given the value of this tenant or user for the time of one call.
 */
import type { Actor } from '../../kernel/scope.ts'

/** For whom a credential is asked. A vault per tenant reads the tenant; accounts that users connect read the user too. */
export type CredentialOwner = Pick<Actor, 'tenant' | 'environment' | 'user'>

export interface Credentials {
  /**
   * The value now, for one call; null when there is none. It is asked for at each call, so what is revoked is over with
   * the next one, and what must be refreshed is refreshed here. What it throws counts as none.
   */
  get(owner: CredentialOwner, capability: string, signal: AbortSignal): Promise<string | null> | string | null
}
