/**
 * B4: the closed list of ends. Each reason belongs to one final status; the sentence is for people and is printed into
 * docs/design/run-table.md by a test.
 */
export type FinalStatus = 'succeeded' | 'failed' | 'canceled'

const end = (status: FinalStatus, sentence: string): { readonly status: FinalStatus; readonly sentence: string } => ({
  status,
  sentence,
})

export const END_REASONS = {
  completed: end('succeeded', 'The model finished with a valid answer.'),
  handed_over: end('succeeded', 'A tool, or the agent while its model was away, handed the conversation to a person.'),
  insufficient_context: end('succeeded', 'The agent says that it does not know enough.'),
  step_limit: end('failed', 'The budget of model calls is used up.'),
  tool_call_limit: end('failed', 'The budget of tool calls is used up.'),
  token_limit: end('failed', 'The budget of tokens does not cover another model call.'),
  cost_limit: end('failed', 'The budget of money does not cover another model call.'),
  deadline: end('failed', 'The time of the run is over.'),
  repeated_action: end('failed', 'The model repeated the same call.'),
  repeated_error: end('failed', 'The same call failed in the same way again.'),
  context_overflow: end('failed', 'Rules and question do not fit the window of the model.'),
  empty_final: end('failed', 'The model ended without an answer.'),
  invalid_final: end('failed', 'The answer does not match the declared schema.'),
  truncated: end('failed', 'The answer was cut for length.'),
  content_filtered: end('failed', 'The provider filtered the answer.'),
  hook_failed: end('failed', 'A hook of the agent failed, took too long, or refused the answer.'),
  protocol_error: end('failed', 'The stream of the model was damaged.'),
  model_unavailable: end('failed', 'The model could not be reached or refused the request.'),
  memory_unavailable: end('failed', 'Memory could not be read, and the agent does not answer without it.'),
  attempts_exhausted: end('failed', 'The run was taken over too often without progress.'),
  confirmation_rejected: end('failed', 'The user rejected the action.'),
  confirmation_expired: end('failed', 'Nobody decided in time.'),
  unknown_effect: end('failed', 'It is not known whether an action happened.'),
  stopped_by_tool: end('failed', 'An error of a tool is declared to end the run.'),
  release_unavailable: end('failed', 'This program does not know the agent or its release.'),
  user_canceled: end('canceled', 'The user stopped the run.'),
  superseded: end('canceled', 'A newer message replaced the run.'),
  disconnected: end('canceled', 'The client went away and the agent stops then.'),
  operator_canceled: end('canceled', 'An operator stopped the run.'),
  parent_ended: end('canceled', 'The run that asked for it ended.'),
} as const

export type EndReason = keyof typeof END_REASONS

export type CancelCause = 'user' | 'superseded' | 'disconnect' | 'operator' | 'parent'

/** K2: each cause of a cancellation has its own end. */
export const END_OF_CANCEL: Readonly<Record<CancelCause, EndReason>> = {
  user: 'user_canceled',
  superseded: 'superseded',
  disconnect: 'disconnected',
  operator: 'operator_canceled',
  parent: 'parent_ended',
}
