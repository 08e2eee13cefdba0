/**
 * Content at rest. Today a version byte and the plain bytes; the envelope with one data key per tenant and epoch takes
 * the next version byte, so that both can be read side by side (G7).
 */
export interface Sealer {
  seal(tenant: string, plain: Uint8Array): Uint8Array
  open(tenant: string, sealed: Uint8Array): Uint8Array
}

const PLAIN = 0

export const plainSealer: Sealer = {
  seal(_tenant, plain) {
    const sealed = new Uint8Array(plain.length + 1)
    sealed[0] = PLAIN
    sealed.set(plain, 1)
    return sealed
  },
  open(_tenant, sealed) {
    if (sealed[0] !== PLAIN) throw new Error('sealed with an unknown key version')
    return sealed.subarray(1)
  },
}
