/** Numbers that identify a person or an account: each by its length, its check digit and what stands beside it (E5). */
import type { FindingClass, Rule } from './finding.ts'

const rule = (name: string, kind: FindingClass, pattern: RegExp, test?: (match: RegExpExecArray) => boolean): Rule => ({
  name: `${kind}.${name}`,
  class: kind,
  pattern,
  ...(test && { test }),
})

const digitsOf = (text: string): string => text.replaceAll(/\D/g, '')

export function luhn(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i])
    const doubled = i % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return digits.length > 0 && sum % 10 === 0
}

/** First digits and lengths of the networks. */
const NETWORKS: readonly (readonly [RegExp, number, number])[] = [
  [/^4/, 13, 19],
  [/^(?:5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720))/, 16, 16],
  [/^3[47]/, 15, 15],
  [/^3(?:0[0-5]|[689])/, 14, 19],
  [/^35(?:2[89]|[3-8])/, 16, 19],
  [/^6(?:011|4[4-9]|5)/, 16, 19],
  [/^62/, 16, 19],
  [/^(?:60|81|82|508)/, 16, 16],
  [/^9[0-4]/, 16, 16],
  [/^(?:50[0-9]|5[6-9]|6[0-9])/, 16, 19],
  [/^220[0-4]/, 16, 19],
]

function isCard(text: string): boolean {
  const digits = digitsOf(text)
  const known = NETWORKS.some(
    ([first, least, most]) => first.test(digits) && digits.length >= least && digits.length <= most,
  )
  return known && luhn(digits) && !/^(\d)\1+$/.test(digits)
}

/** ISO 7064 MOD 11-2, with a birthday that can be. */
export function isResidentId(id: string): boolean {
  const weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]
  const sum = weights.reduce((total, weight, i) => total + weight * Number(id[i]), 0)
  return isRegion(id) && isDay(id.slice(6, 14)) && '10X98765432'[sum % 11] === id[17]?.toUpperCase()
}

const isRegion = (id: string): boolean => /^(?:1[1-5]|2[1-3]|3[1-7]|4[1-6]|5[0-4]|6[1-5]|71|8[1-3])/.test(id)
const isDay = (day: string): boolean => /^(?:18|19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$/.test(day)

/** A letter of Hong Kong is worth 10 to 35, a missing first one 36. */
function isHongKongId(text: string): boolean {
  const found = /^([A-Z]{1,2})(\d{6})\(?([\dA])\)?$/.exec(text.toUpperCase().replaceAll(/\s/g, ''))
  if (!found) return false
  const [, letters = '', number = '', check = ''] = found
  const worth = Array.from(letters.padStart(2, ' ')).map((c) => (c === ' ' ? 36 : c.charCodeAt(0) - 55))
  const all = [...worth, ...Array.from(number, Number)]
  const sum = all.reduce((total, value, i) => total + value * (9 - i), 0) + (check === 'A' ? 10 : Number(check))
  return sum % 11 === 0
}

function isTaiwanId(text: string): boolean {
  const letter = 'ABCDEFGHJKLMNPQRSTUVXYWZIO'.indexOf(text[0]?.toUpperCase() ?? '') + 10
  const digits = [Math.floor(letter / 10), letter % 10, ...Array.from(text.slice(1), Number)]
  const weights = [1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1]
  return digits.reduce((sum, digit, i) => sum + digit * (weights[i] ?? 0), 0) % 10 === 0
}

/** ISO 13616: letters are numbers from 10, the first four characters go last, and the rest of 97 is one. */
export function isIban(text: string): boolean {
  const iban = text.replaceAll(/[ -]/g, '').toUpperCase()
  if (iban.length < 15 || iban.length > 34) return false
  let rest = 0
  for (const c of iban.slice(4) + iban.slice(0, 4)) {
    const value = parseInt(c, 36)
    rest = (value > 9 ? rest * 100 + value : rest * 10 + value) % 97
  }
  return rest === 1
}

/** Nothing beside it that would make it a part of something longer. */
const ALONE = '(?<![\\p{L}\\d_.-]|\\d[ -])'
const END = '(?![\\p{L}\\d_]|[-.]\\d)'
const at = (source: string, flags = 'giu'): RegExp => new RegExp(source, flags)
const SEP = '[ .\\-_/·]{0,2}'
const ID_WORD =
  "(?:passport|travel document|driver['’]?s? licen[cs]e|driving licen[cs]e|national id(?:entity)?|identity (?:card|number)|id (?:card|number|no)|resident(?:ce)? (?:permit|card)|green card|tax id|social insurance|national insurance|reisepass|ausweis(?:nummer)?|pasaporte|passeport|护照(?:号码?)?|護照(?:號碼?)?|通行证|身份证(?:号码?)?|身份證(?:號碼?)?|身分證(?:字號)?|驾照|驾驶证|居住证|社保号|社会保障号|港澳通行证|军官证|パスポート|여권)"

export const NUMBERS: readonly Rule[] = [
  rule(
    'number',
    'card',
    at(`(?<![\\d\\p{Script=Latin}_]|\\d[.-])\\d(?:${SEP}\\d){12,18}(?!\\d|[-_]\\d|[A-Za-z])`),
    (m) => isCard(m[0]),
  ),
  rule(
    'code',
    'card',
    at(
      '(?:card|visa|mastercard|amex|银行卡|信用卡|卡号)[^\\n]{0,60}(?:cvv|cvc|cvn|security code|安全码|有效期|exp(?:iry|ires|iration)?)[^\\d\\n]{0,12}\\d{2,4}',
    ),
  ),
  rule(
    'beside_a_word',
    'card',
    at(
      '(?:card (?:number|no\\.?)|银行卡号?|信用卡号?|储蓄卡号?|卡号)\\s{0,2}(?:is|:|：|是|为|=)?\\s{0,2}(\\d(?:[ -]?\\d){14,18})(?!\\d)',
    ),
    (m) => luhn(digitsOf(m[1] ?? '')),
  ),
  rule(
    'resident',
    'identity_number',
    at(`(?<![\\d\\p{Script=Latin}])\\d{6}[ -]?\\d{4}[ -]?\\d{4}[ -]?\\d{3}[\\dXx](?![\\d\\p{Script=Latin}])`),
    (m) => isResidentId(m[0].replaceAll(/[ -]/g, '')),
  ),
  rule(
    'resident_15',
    'identity_number',
    at(
      '(?:身份证|身份證|身分證|id card|identity card|identity number|resident id|national id|证件)[^\\d\\n]{0,20}(\\d{15})(?!\\d)',
    ),
    (m) => isRegion(m[1] ?? '') && isDay(`19${(m[1] ?? '').slice(6, 12)}`),
  ),
  rule(
    'resident_15',
    'identity_number',
    at(`${ALONE}\\d{15}${END}`),
    (m) =>
      isRegion(m[0]) && isDay(`19${m[0].slice(6, 12)}`) && /^(?:[1-8]\d[0-9]{2}[0-9]{2})(?:[3-9]\d|0\d)/.test(m[0]),
  ),
  rule('hong_kong', 'identity_number', at(`${ALONE}[A-Z]{1,2} ?\\d{6} ?\\([\\dA]\\)`), (m) => isHongKongId(m[0])),
  rule(
    'hong_kong',
    'identity_number',
    at(
      '(?:hkid|hong kong id(?:entity)?(?: card)?|香港身份[证證])[^A-Za-z0-9\\n]{0,12}([A-Z]{1,2}\\d{6}\\(?[\\dA]\\)?)',
    ),
  ),
  rule('taiwan', 'identity_number', at(`${ALONE}[A-Z][1289]\\d{8}${END}`), (m) => isTaiwanId(m[0])),
  rule('ssn', 'identity_number', at(`${ALONE}(?!000|666)\\d{3}-(?!00)\\d{2}-(?!0000)\\d{4}${END}`)),
  rule(
    'ssn',
    'identity_number',
    at(
      '(?:\\bssn\\b|social security(?: number| no\\.?| #)?|\\bitin\\b)[^\\d\\n]{0,16}(\\d{3}[ .-]?\\d{2}[ .-]?\\d{4})(?!\\d)',
    ),
  ),
  rule(
    'national_insurance',
    'identity_number',
    at(
      `${ALONE}(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\\d{2} ?\\d{2} ?\\d{2} ?[A-D]${END}`,
      'gu',
    ),
  ),
  rule('aadhaar', 'identity_number', at('(?:aadhaar|aadhar)[^\\d\\n]{0,16}\\d{4}[ -]?\\d{4}[ -]?\\d{4}(?!\\d)')),
  rule(
    'pan',
    'identity_number',
    at('\\bpan\\b(?: card)?[^A-Za-z\\n]{0,4}(?:is|:|no\\.?|number)?[^A-Za-z\\n]{0,4}[A-Z]{5}\\d{4}[A-Z]\\b'),
  ),
  rule(
    'document',
    'identity_number',
    at(
      `${ID_WORD}\\s{0,2}(?:number|no\\.?|num|#|id|nr\\.?|号码?|號碼?)?[^A-Za-z0-9\\n]{0,6}(?:is|was|are|:|=|是|为|ist|es|est)?[^A-Za-z0-9\\n]{0,6}((?=(?:[A-Z-]{0,3}\\d){5})[A-Z0-9]{1,3}[- ]?[A-Z0-9-]{5,16})(?![A-Za-z0-9])`,
    ),
    (m) => /\d{5}|\d[A-Z]\d|\d{3}-\d/i.test(m[1] ?? '') && !isBadResident(m[1] ?? ''),
  ),
  rule('passport', 'identity_number', at(`(?<=护照|passport)[^\\n]{0,30}?[^A-Za-z0-9]([EGDSP][A-Z]?\\d{7,8})(?!\\d)`)),
  rule(
    'iban',
    'account',
    at(`${ALONE}[A-Z]{2}\\d{2}(?:[ -]?[A-Z0-9]{3,4}){3,7}(?:[ -]?[A-Z0-9]{1,3})?(?![A-Za-z0-9])`),
    (m) => ibanIn(m[0]),
  ),
  rule(
    'bank',
    'account',
    at(
      '(?:bank account|account (?:number|no\\.?|#)|acct\\.? ?(?:number|no\\.?|#)?|routing (?:number|no\\.?)|sort code|银行账号|银行帐号|银行账户|開戶帳號|开户行.{0,20}账号|收款账号|对公账户)[^\\d\\n]{0,16}(\\d[\\d -]{4,24}\\d)',
    ),
    (m) => digitsOf(m[1] ?? '').length >= 6,
  ),
]

/** Eighteen digits after the word that are no number of a resident are a number of something else. */
const isBadResident = (value: string): boolean => /^\d{17}[\dX]$/i.test(value) && !isResidentId(value)

/** The pattern may have taken a word too many. */
function ibanIn(found: string): boolean {
  const parts = found.split(/[ -]/)
  return parts.some((_, i) => isIban(parts.slice(0, parts.length - i).join('')))
}
