/**
 * The one catalogue of durable events, `noun_verbed`. The same row is the stream, the timeline, the audit of the run
 * and the outbox. Bodies hold ids, kinds and counts only: content stays in messages and effects, where it can be deleted.
 */
export const EVENTS = {
  run_queued: { visibility: 'user', body: 'message' },
  step_planned: { visibility: 'user', body: 'step, kind, message, calls[{position, tool}], memory?' },
  calls_settled: { visibility: 'user', body: 'step, calls[{position, outcome, code?}]' },
  calls_waiting: { visibility: 'user', body: 'step, calls[{position, tool}]' },
  confirmation_requested: { visibility: 'user', body: 'step, confirmations[{id, position, tool}]' },
  confirmation_decided: { visibility: 'user', body: 'confirmation, outcome' },
  confirmation_closed: { visibility: 'user', body: 'confirmations[{id, outcome}]' },
  effect_started: { visibility: 'user', body: 'step, position, tool, compensates?' },
  effect_unknown: { visibility: 'user', body: 'step, position, tool' },
  effect_resolved: { visibility: 'operator', body: 'step, position, outcome' },
  run_parked: { visibility: 'user', body: 'reason' },
  attempt_lost: { visibility: 'operator', body: 'step, attempts' },
  cancel_requested: { visibility: 'user', body: 'cause' },
  run_ended: { visibility: 'user', body: 'status, reason, message?, done[{step, position, tool}], memory?' },
} as const satisfies Record<string, { readonly visibility: 'user' | 'operator'; readonly body: string }>

export type EventType = keyof typeof EVENTS
