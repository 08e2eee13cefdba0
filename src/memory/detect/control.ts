/** What is no memory whatever it says: keys that decide what an agent is, texts of an odd size, and texts that repeat. */
import type { Finding } from './finding.ts'

/** A memory is a fact or a preference; the longest honest one of the chats that were measured has 1 400 characters. */
export const MOST_CHARACTERS = 8_192

/** Groups of keys that are the agent's own. */
const OWN_GROUP =
  /^(?:identity|security|system|permissions?|privileges?|guardrails?|safety|auth|authorization|access_control|acl|roles?|policy|policies|root|admin|sys|trust|governance|sandbox|llm|model_config|governor|firewall)$/
const AGENT_GROUP = /^(?:agent|assistant|bot|runtime|core|config|ai|model)$/
const OWN_WORD =
  /^(?:roles?|permissions?|privileges?|capabilit(?:y|ies)|trust(?:_?level)?|clearance|goals?|objectives?|instructions?|directives?|system_?prompt|prompt|persona|identity|name|polic(?:y|ies)|rules?|guardrails?|safety(?:_?\w{1,16})?|access_?level|is_?admin|admin|superuser|allowed_?tools|tools?|tool_?access|scopes?|authority|authorization|owner|constraints?|restrictions?|core_?values|mission|mode)$/
/** Words that are the agent's wherever they stand. */
const ANYWHERE =
  /(?:^|[._])(?:permissions?|privileges?|trust_?level|clearance|is_?admin|superuser|system_?prompt|access_?level|guardrails?|safety_?(?:mode|level|filter\w{0,2}|check\w{0,2})|capabilit(?:y|ies))$/
const NOTES = /^(?:notes?|user|prefs?|preferences|docs?|meetings?|project|calendar|task|todo)$/

/** A key that would change what the agent is or may. Operators set such things in a release, not in memory. */
export function protectedKey(key: string): boolean {
  const words = key
    .toLowerCase()
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .split(/[./:]/)
  const [group = '', ...rest] = words
  if (OWN_GROUP.test(group) && rest.length > 0) return true
  if (AGENT_GROUP.test(group) && rest.some((word) => OWN_WORD.test(word))) return true
  return !NOTES.test(group) && ANYWHERE.test(words.join('.'))
}

/** Size and repetition; only the first matters. */
export function anomalies(text: string): Finding[] {
  const found = (rule: string): Finding[] => [{ class: 'anomaly', verdict: 'reject', span: [0, text.length], rule }]
  if (text.length > MOST_CHARACTERS) return found('anomaly.too_long')
  if (/([^\s=_*#.-])\1{63}/u.test(text)) return found('anomaly.one_character')
  return text.length >= 200 && repeats(text) ? found('anomaly.repeated') : []
}

/** Of windows of twelve characters, prose repeats one in twenty; a text that is said five times repeats four in five. */
const WINDOW = 12
const REPEATED = 0.7

function repeats(text: string): boolean {
  const seen = new Set<string>()
  const windows = text.length - WINDOW + 1
  for (let i = 0; i < windows; i++) seen.add(text.slice(i, i + WINDOW))
  return 1 - seen.size / windows > REPEATED
}
