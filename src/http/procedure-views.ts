/** Procedures as JSON. */
import type { Procedure, ProcedureFacts } from '../memory/procedure.ts'
import { time } from './views.ts'

/** Everything but the text. */
export const facts = (p: ProcedureFacts) => ({
  id: p.id,
  name: p.name,
  version: p.version,
  hash: p.hash === '' ? null : p.hash,
  status: p.status,
  sources: p.sources.map(({ memory, version }) => ({ memory_id: memory, version })),
  evaluation: p.evaluation && { ...p.evaluation, at: time(p.evaluation.at) },
  proposed_by: p.proposedBy,
  proposed_at: time(p.createdAt),
  approved_by: p.approvedBy,
  approved_at: time(p.approvedAt),
  ended_at: time(p.endedAt),
  forgotten_at: time(p.forgottenAt),
})

export const procedure = (p: Procedure) => ({ ...facts(p), text: p.text })
