/**
 * Content at rest, as the stores see it. Everything here is synchronous: keys are at hand before a statement of their
 * tenant comes back (`keyring.ts`), and never asked for in the middle of a step. The first byte of what is sealed says how
 * (docs/design/sealing.md).
 */
import { createHash, createHmac } from 'node:crypto'
import { Fault } from '../kernel/fault.ts'

export interface Sealer {
  /** Equal lengths for equal lengths; never twice the same bytes. @throws Fault `content_destroyed` */
  seal(tenant: string, plain: Uint8Array): Uint8Array
  /** @throws Fault `content_destroyed` when the key is gone for ever · `content_damaged` when the bytes are not the tenant's */
  open(tenant: string, sealed: Uint8Array): Uint8Array
}

/** Keyed hashes: stable over all epochs of one tenant, different for each tenant and purpose, gone with the tenant's key. */
export interface Keys {
  /** 32 bytes. `purpose`: what the hash is for, a constant of the program. @throws Fault `content_destroyed` */
  hash(tenant: string, purpose: string, text: string | Uint8Array): Uint8Array
}

/** Texts that the store compares but need not read: hashes of content, and names that callers choose. */
export interface Veil {
  /** Equal texts of one tenant look equal, and that is all that is told. @throws Fault `content_destroyed` */
  readonly veil: (tenant: string, text: string) => string
  /** What was never veiled comes back as it is. @throws Fault `content_destroyed`, `content_damaged` */
  readonly unveil: (tenant: string, veiled: string) => string
}

export interface ContentKeys extends Sealer, Keys, Veil {}

export const PLAIN = 0

/** A version byte and the plain bytes; for stores whose bytes somebody has to read. Its hashes keep nothing secret. */
export const plainSealer: ContentKeys = {
  seal(_tenant, plain) {
    const sealed = new Uint8Array(plain.length + 1)
    sealed[0] = PLAIN
    sealed.set(plain, 1)
    return sealed
  },
  open(_tenant, sealed) {
    if (sealed[0] !== PLAIN)
      throw new Fault('content_damaged', 'Content is sealed in a way that this program does not know.')
    return sealed.subarray(1)
  },
  hash: (tenant, purpose, text) =>
    createHmac('sha256', createHash('sha256').update(`plain/${tenant}/${purpose}`).digest())
      .update(text)
      .digest(),
  veil: (_tenant, text) => text,
  unveil: (_tenant, veiled) => veiled,
}
