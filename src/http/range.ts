/** `Range` of a download (RFC 9110): one range of bytes. Several, or another unit, are answered with the whole. */
import { Fault } from '../kernel/fault.ts'

export interface Asked {
  readonly from: number
  /** Not included. */
  readonly to: number
  readonly isPart: boolean
}

const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/

/** @throws Fault `range_not_satisfiable` */
export function rangeOf(header: string | undefined, size: number): Asked {
  const whole = { from: 0, to: size, isPart: false }
  const [, first = '', last = ''] = RANGE.exec(header?.replaceAll(' ', '') ?? '') ?? []
  if (first === '' && last === '') return whole
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const to = first === '' || last === '' ? size : Math.min(size, Number(last) + 1)
  // the end before the start is no range at all
  if (first !== '' && last !== '' && Number(last) < from) return whole
  if (from >= size) throw new Fault('range_not_satisfiable', undefined, { facts: { size } })
  return { from, to, isPart: true }
}

/** Whether one of the ETags in `If-None-Match` is this one. The hash is the content, so a weak tag is as good. */
export const names = (header: string | undefined, etag: string): boolean =>
  header !== undefined && header.split(',').some((one) => ['*', etag, `W/${etag}`].includes(one.trim()))

/** For a download only, whatever the type: a plain name for old clients, and the whole name in UTF-8. */
export function attachment(name: string): string {
  const last = name.split('/').at(-1) ?? ''
  const plain = last.replaceAll(/[^A-Za-z0-9._-]/g, '_')
  const escaped = encodeURIComponent(last).replaceAll(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${escaped}`
}
