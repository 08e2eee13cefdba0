/** Which recorded tool results the model was shown again, by value, in the requests that it was sent. */
import type { Conversation } from './conversations.ts'
import type { Place } from './history.ts'
import type { Seen } from './recording.ts'

export type Results = {
  /** Results that stood as recorded in a later request. */
  readonly equal: number
  /** Places where a request held another result. */
  readonly different: number
  /** Where a request held anything else than was recorded, as `conversation position role`. */
  readonly strays: readonly string[]
  /** Results that no request showed: of the call that ended its run, or of runs that never came so far. */
  readonly unseen: readonly Place[]
}

export function resultsOf(conversations: readonly Conversation[], requests: readonly Seen[]): Results {
  const reached = new Map<string, number>()
  const different = new Set<string>()
  const strays = new Set<string>()
  for (const { kind, conversation, position, role } of requests) {
    // a request that differs still shows its common beginning
    reached.set(conversation, Math.max(position, reached.get(conversation) ?? 0))
    if (kind === 'differs') strays.add(`${conversation} ${position} ${role ?? 'nothing to answer'}`)
    if (kind === 'differs' && role === 'tool') different.add(`${conversation} ${position}`)
  }
  const results = conversations.flatMap(({ id, messages }) =>
    messages.flatMap((message, position) => (message.role === 'tool' ? [{ conversation: id, position }] : [])),
  )
  const unseen = results.filter(({ conversation, position }) => position >= (reached.get(conversation) ?? 0))
  return { equal: results.length - unseen.length, different: different.size, strays: [...strays], unseen }
}
