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
