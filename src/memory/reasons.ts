/** Why a candidate is saved, asked about, kept for the session or refused: a closed list, printed in docs/memory.md. */
import type { FindingClass } from './detect/finding.ts'

export const REASONS = {
  unreadable: 'A line of the candidate is missing or of another kind.',
  key_unknown: 'The key is not registered.',
  kind_differs: 'The key is registered for another kind.',
  value_invalid: 'The value does not match the schema of its key.',
  detector_failed: 'The detectors did not answer, or answered about another text.',
  secret: 'It holds a key or a token.',
  password: 'It holds a password, a code or an answer to a security question.',
  card: 'It holds the number of a card.',
  account: 'It holds the number of an account.',
  identity_number: 'It holds the number of a document.',
  special_category: 'It tells of health, belief, politics, sexuality, money, union, biometrics or crime.',
  contact: 'It tells where a person lives or is reached.',
  instruction: 'It would steer the agent when it is read back.',
  hidden_text: 'It holds characters that nobody sees.',
  protected_key: 'The key decides what the agent is or may.',
  anomaly: 'It is too long, or repeats itself.',
  instruction_in_parts: 'Together with what is stored it would steer the agent.',
  scope_not_allowed: 'The key is not kept in this scope.',
  personal_in_shared_scope: 'Something personal would stand where others read it.',
  group_into_personal: 'What a group has said does not become what one of them is.',
  source_not_allowed: 'The key is not taken from this source, or nothing is.',
  evidence_missing: 'The source that is cited does not exist.',
  quote_not_found: 'The cited message does not say this.',
  not_said_by_subject: 'Somebody else has said it.',
  result_not_contracted: 'The tool has no contract.',
  result_differs: 'The cited result does not hold this value.',
  authority_differs: 'The authority says something else.',
  lineage_broken: 'A memory that it was drawn from is gone, or is of somebody else.',
  draws_on_itself: 'It would take the place of a memory that it is drawn from.',
  expired: 'It ends before it begins.',
  expiry_unreadable: 'The end is no date.',
  passing: 'It was said for now.',
  said_in_group: 'It was said where others listen.',
  conflict: 'A more reliable source has said something else.',
  impact_high: 'The key has a high impact.',
  key_asks: 'The key asks a person.',
  candidate_asks: 'Whoever proposed it wants a person asked.',
  new: 'Nothing was known.',
  repeated: 'It is known already: sources are joined.',
  supersedes: 'It replaces what was known.',
  late: 'It was true before what is known now, and joins its past.',
} as const

export type Reason = keyof typeof REASONS

/** Why what was judged to be saved or asked about is refused by the store after all. */
export const REFUSALS = {
  no_consent: 'Its subject has withdrawn the consent to its purpose, or to all.',
  declined: 'Its person has said no since it was said.',
  forgotten: 'It, or what it comes from, was forgotten since it was said.',
  corrected: 'Its person has corrected it, or it went out of use, since it was said.',
  moved: 'A memory that it was drawn from is gone, or another version by now.',
  no_member: 'Whoever writes is no member of the group or project.',
  full: 'The quota is used up, and nothing may go for it.',
} as const

export type Refusal = keyof typeof REFUSALS

/** The classes of the detectors are reasons by their own names. */
export const reasonOf = (found: FindingClass): Reason => found
