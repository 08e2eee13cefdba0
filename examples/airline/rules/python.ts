/** Numbers as Python prints them: the recorded texts come from there. */

/** The text of `repr(float)`: `150.0`, `0.1`, `1e+16`, `-0.0`, `inf`. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  const [mantissa = '0', power = '0'] = Math.abs(value).toExponential().split('e')
  const digits = mantissa.replace('.', '')
  const exponent = Number(power)
  // Python writes an exponent below 1e-4 and from 1e16 on; JavaScript only from 1e21 on
  if (value !== 0 && (exponent < -4 || exponent >= 16)) {
    const tail = digits.length > 1 ? `.${digits.slice(1)}` : ''
    return `${sign}${digits.charAt(0)}${tail}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`
}

/** A JSON number inside a sentence: whole numbers without a point, others as a float. */
export function numberText(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : floatText(value)
}

/** `round(value, 2)`: the nearest of the exact value, a tie to the even cent. */
export function roundToCents(value: number): number {
  // beyond 2^52 a float has no fraction; below, only odd multiples of 1/8 can lie exactly between two cents
  if (!Number.isFinite(value) || Math.abs(value) >= 2 ** 52) return value
  const eighths = Math.abs(value) * 8
  if (!Number.isInteger(eighths) || eighths % 2 === 0) return Number(value.toFixed(2))
  const below = (BigInt(eighths) * 25n) / 2n
  const cents = below % 2n === 0n ? below : below + 1n
  const rounded = Number(`${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`)
  return value < 0 ? -rounded : rounded
}
