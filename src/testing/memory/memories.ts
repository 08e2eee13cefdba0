/** This store remembers and summarises nothing: whoever goes around in the background finds nothing to do. */
import { residueSummaries } from '../../context/summary.sql.ts'
import { dueDeletions } from '../../memory/forget.sql.ts'
import { walls } from '../../memory/keeping.sql.ts'
import { on, type Verbs } from './verb.ts'

export function addMemories(verbs: Verbs): void {
  on(verbs, residueSummaries, () => [])
  on(verbs, dueDeletions, () => [])
  on(verbs, walls, () => [])
}
