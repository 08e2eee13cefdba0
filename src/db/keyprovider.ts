/**
 * Who wraps the data keys: a file of this machine (`keyfile.ts`), or a service that never gives its own key away. Asked
 * once per tenant and epoch in each process, and never while a statement is open.
 */
export interface WrappedKey {
  /** The key-encryption key that wrapped it. */
  readonly kek: string
  readonly bytes: Uint8Array
}

export interface KeyProvider {
  /** The key-encryption key that wraps what is new. */
  readonly id: string
  /** `key`: 32 bytes. What it gives is bound to the tenant: `unwrap` for another one fails. */
  wrap(tenant: string, key: Uint8Array): Promise<WrappedKey>
  /** @throws Fault `sealing_key_unfit` for what no key of it has wrapped; anything else counts as out of reach for now */
  unwrap(tenant: string, wrapped: WrappedKey): Promise<Uint8Array>
}
