/** What happened, in order: a hash of all of it, and the last lines in words. Ids, codes and times only. */
export interface Trace {
  add(at: number, who: string, what: string): void
  /** The same for two runs of one seed. */
  hash(): string
  last(): readonly string[]
}

const KEPT = 48

export function traceOf(): Trace {
  const kept: { readonly at: number; readonly who: string; readonly what: string }[] = []
  let hash = 0x811c9dc5
  let length = 0
  /** FNV-1a. */
  const mix = (text: string): void => {
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  }
  return {
    add(at, who, what) {
      hash = Math.imul(hash ^ at, 0x01000193)
      mix(who)
      mix(what)
      kept[length % KEPT] = { at, who, what }
      length += 1
    },
    hash: () => `${(hash >>> 0).toString(16).padStart(8, '0')}.${length}`,
    last: () =>
      Array.from({ length: Math.min(length, KEPT) }, (_, i) => {
        const line = kept[(Math.max(0, length - KEPT) + i) % KEPT]
        return line ? `${String(line.at).padStart(8)} ${line.who.padEnd(10)} ${line.what}` : ''
      }),
  }
}
