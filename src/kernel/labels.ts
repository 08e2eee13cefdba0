/** Information-flow labels of a message part, from `SECURITY` §5: columns, never prose. Later rules raise approvals by them (I9). */
export type Integrity = 'trusted' | 'user' | 'untrusted'
export type Confidentiality = 'public' | 'subject' | 'tenant' | 'secret'

export interface Origin {
  readonly kind: 'rules' | 'user' | 'model' | 'tool' | 'memory'
  readonly tool?: string
  readonly step?: number
  readonly position?: number
}

export interface Labels {
  readonly integrity: Integrity
  readonly confidentiality: Confidentiality
  readonly origin: Origin
}

const INTEGRITY: readonly Integrity[] = ['trusted', 'user', 'untrusted']
const CONFIDENTIALITY: readonly Confidentiality[] = ['public', 'subject', 'tenant', 'secret']

/** The lower of two integrities. */
export const lowerIntegrity = (a: Integrity, b: Integrity): Integrity =>
  INTEGRITY.indexOf(a) >= INTEGRITY.indexOf(b) ? a : b

/** The higher of two confidentialities. */
export const higherConfidentiality = (a: Confidentiality, b: Confidentiality): Confidentiality =>
  CONFIDENTIALITY.indexOf(a) >= CONFIDENTIALITY.indexOf(b) ? a : b
