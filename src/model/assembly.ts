/**
 * The parts of one attempt become one answer, or none.
 *
 * B3  success needs a clean end, whole data and something to show; nothing is repaired, glued or guessed
 * K3  usage that was not reported is unknown, never 0
 * Q1  what a stream may make us hold is bounded; the attempt closes the stream as soon as `damage` is set
 */
import { isDamagedText, type Json } from '../kernel/json.ts'
import { completeness } from './completeness.ts'
import type { BadAnswer, FinishReason, ModelAnswer, ModelCall, ModelPart, Usage } from './port.ts'

export const ANSWER_LIMITS = {
  /** A long chapter; a model's largest output of 128 000 tokens is about half of it. */
  textBytes: 1_048_576,
  reasoningBytes: 1_048_576,
  /** One call; the size at which a value belongs into an artifact. */
  argumentBytes: 262_144,
  /** All calls together: they are written in one statement. */
  allArgumentBytes: 2_097_152,
  calls: 128,
} as const

/** No model reads or writes a thousand million tokens in one request: such a count is a fault of the reporter. */
const ABSURD_TOKENS = 1_000_000_000

interface OpenCall {
  readonly key: string
  readonly call: ModelCall
  readonly bytes: number
}

/** What has arrived. `damage`, once set, says why the attempt has failed. */
export interface Assembly {
  readonly text: string
  readonly textBytes: number
  readonly reasoning: readonly Json[]
  readonly reasoningBytes: number
  readonly calls: readonly OpenCall[]
  readonly argumentBytes: number
  readonly usage: Usage
  readonly model: string | null
  readonly finish: FinishReason | null
  readonly damage: string | null
}

export const openAnswer = (): Assembly => ({
  text: '',
  textBytes: 0,
  reasoning: [],
  reasoningBytes: 0,
  calls: [],
  argumentBytes: 0,
  usage: {},
  model: null,
  finish: null,
  damage: null,
})

export function absorb(state: Assembly, part: ModelPart): Assembly {
  if (part.kind === 'usage') return { ...state, usage: mergeUsage(state.usage, part.usage) }
  if (part.kind === 'response') return part.model === undefined ? state : { ...state, model: part.model }
  if (state.damage !== null) return state
  if (part.kind === 'damaged') return { ...state, damage: part.detail }
  if (part.kind === 'finish') {
    return state.finish === null || state.finish === part.reason
      ? { ...state, finish: part.reason }
      : { ...state, damage: 'two different ends of one stream' }
  }
  if ('delta' in part && part.delta === '') return state
  if (state.finish !== null) return { ...state, damage: 'output after the end' }
  return withinLimits(append(state, part))
}

type OutputPart = Exclude<ModelPart, { kind: 'usage' | 'response' | 'damaged' | 'finish' }>

function append(state: Assembly, part: OutputPart): Assembly {
  switch (part.kind) {
    case 'text':
      return { ...state, text: state.text + part.delta, textBytes: state.textBytes + utf8Bytes(part.delta) }
    case 'reasoning':
      return { ...state, reasoningBytes: state.reasoningBytes + utf8Bytes(part.delta) }
    case 'reasoning_state': {
      const bytes = utf8Bytes(JSON.stringify(part.value))
      return { ...state, reasoning: [...state.reasoning, part.value], reasoningBytes: state.reasoningBytes + bytes }
    }
    case 'call_open':
      return state.calls.some((open) => open.key === part.key)
        ? { ...state, damage: 'a call was opened twice' }
        : putCall(state, part.key, { id: part.id, name: part.name, arguments: '' })
    case 'call_delta': {
      const open = state.calls.find((candidate) => candidate.key === part.key)
      if (open === undefined) return { ...state, damage: 'arguments of a call that was never opened' }
      const call = { ...open.call, arguments: open.call.arguments + part.delta }
      return putCall(state, part.key, call, open.bytes + utf8Bytes(part.delta))
    }
    case 'call':
      return putCall(state, part.key, part.call)
    default:
      part satisfies never
      return { ...state, damage: 'a part of an unknown kind' }
  }
}

function putCall(state: Assembly, key: string, call: ModelCall, known?: number): Assembly {
  const bytes = known ?? utf8Bytes(call.id) + utf8Bytes(call.name) + utf8Bytes(call.arguments)
  const at = state.calls.findIndex((open) => open.key === key)
  const before = state.calls[at]?.bytes ?? 0
  const calls = at < 0 ? [...state.calls, { key, call, bytes }] : state.calls.with(at, { key, call, bytes })
  return { ...state, calls, argumentBytes: state.argumentBytes - before + bytes }
}

/** Past a limit the answer has failed, and what it holds is let go. */
function withinLimits(state: Assembly): Assembly {
  const over = (what: string): Assembly => ({
    ...state,
    calls: [],
    argumentBytes: 0,
    damage: `${what} beyond the limit`,
  })
  if (state.damage !== null) return state
  if (state.textBytes > ANSWER_LIMITS.textBytes) return over('text')
  if (state.reasoningBytes > ANSWER_LIMITS.reasoningBytes) return { ...over('reasoning'), reasoning: [] }
  if (state.calls.length > ANSWER_LIMITS.calls) return over('number of calls')
  if (state.argumentBytes > ANSWER_LIMITS.allArgumentBytes) return over('arguments of all calls')
  if (state.calls.some((open) => open.bytes > ANSWER_LIMITS.argumentBytes)) return over('arguments of a call')
  return state
}

/** BR-041: some providers repeat the same count in every event, so the last value of a field wins; nothing is added up. */
function mergeUsage(known: Usage, reported: Usage): Usage {
  const counts = Object.entries({ ...known, ...reported }).filter(([, value]) => isCount(value))
  const isSuspect = known.suspect === true || !Object.values(reported).every(isCount)
  return { ...(Object.fromEntries(counts) as Usage), ...(isSuspect ? { suspect: true } : {}) }
}

const isCount = (value: unknown): boolean =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= ABSURD_TOKENS

/**
 * The stream is over. `aborted`: it was closed from our side or broke, so that its text is a partial at most.
 * Calls count whenever they are whole and the end was clean, be it labelled `tool_calls` or `stop`: gateways rewrite
 * the label (BR-028), so the data decides.
 */
export function close(state: Assembly, how: { readonly aborted: boolean }): ModelAnswer {
  const { text, usage, model } = state
  const bad = (reason: BadAnswer, detail: string): ModelAnswer => ({ kind: 'bad', reason, detail, text, usage, model })
  if (state.damage !== null) return bad('protocol_error', state.damage)
  if (how.aborted) return bad('truncated', 'the stream was closed before its end')
  if (state.finish === null) return bad('protocol_error', 'the stream ended without saying so')
  if (state.finish === 'length') return bad('truncated', 'the provider cut the output at its length')
  if (state.finish === 'content_filter') return bad('content_filtered', 'the provider filtered the output')
  if (state.finish !== 'stop' && state.finish !== 'tool_calls') return bad('protocol_error', 'no clean end')

  const calls = state.calls.map((open) => open.call)
  const reasoning = state.reasoning.length > 0 ? state.reasoning : null
  if (calls.length > 0) {
    const flaw = flawOfCalls(calls)
    return flaw === null ? { kind: 'calls', calls, text, reasoning, usage, model } : bad('protocol_error', flaw)
  }
  if (state.finish === 'tool_calls') return bad('protocol_error', 'the end promises calls and there are none')
  return isBlank(text) ? bad('empty_final', 'nothing to show') : { kind: 'final', text, reasoning, usage, model }
}

/** Invalid but whole arguments are no flaw of the stream: the gate answers the model (BR-033). */
function flawOfCalls(calls: readonly ModelCall[]): string | null {
  if (calls.some((call) => call.id === '' || call.name === '')) return 'a call without id or name'
  if (calls.some(({ id, name }: { id: unknown; name: unknown }) => typeof id !== 'string' || typeof name !== 'string'))
    return 'a call whose id or name is no text'
  if (calls.some((call) => isDamagedText(call.id))) return 'a call whose id cannot be stored'
  if (new Set(calls.map((call) => call.id)).size < calls.length) return 'two calls with one id'
  if (calls.some((call) => completeness(call.arguments) === 'truncated')) return 'arguments cut off'
  return null
}

/** True when no character would leave ink: white space, controls, joiners and the blank letters of Hangul and Braille. */
const isBlank = (text: string): boolean => !/[^\p{Z}\p{C}\s\u115f\u1160\u2800\u3164\uffa0]/u.test(text)

function utf8Bytes(text: string): number {
  let bytes = text.length
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    // A surrogate counts two of its pair's four bytes.
    if (unit >= 0x80) bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2
  }
  return bytes
}
