/** What the routes of procedures take. Form alone: what a procedure may be is said where it is proposed. */
import { z } from 'zod'
import type { MemoryId } from '../memory/entry.ts'
import { memoryQueries } from './memory-schemas.ts'

const reason = z.string().min(1).max(1_000)
const memoryId = z
  .string()
  .regex(/^mem_[0-9a-hjkmnp-tv-z]{26}$/, 'is not an id of a memory')
  .transform((id) => id as MemoryId)
const name = z.string().min(1).max(63)

export const bodies = {
  proposal: z.strictObject({ name, text: z.string(), sources: z.array(memoryId).max(100), reason }),
  evaluation: z.strictObject({ evaluation: z.string().min(1).max(128) }),
  /** `hash` is that of the procedure as it was read. */
  approval: z.strictObject({ hash: z.string().min(1).max(128), reason }),
  end: z.strictObject({ reason }),
}

export const procedureQueries = {
  list: z.strictObject({ ...memoryQueries.page.shape, name: name.optional() }),
}
