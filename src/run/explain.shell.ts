/** The context of a step, for whoever may see the run (C7). Nothing of it is stored: it is decided again from the rows. */
import { explain, type Explanation } from '../context/explain.ts'
import type { ContentKeys } from '../db/seal.ts'
import { Fault } from '../kernel/fault.ts'
import type { RunId } from '../kernel/ids.ts'
import type { Actor } from '../kernel/scope.ts'
import type { Use } from '../memory/memory.store.ts'
import type { Agent } from './agent.ts'
import type { Reads } from './reads.shell.ts'
import type { RunStore } from './run.store.ts'
import { readSnapshot } from './snapshot.ts'
import { isFinal } from './state.ts'

interface Parts {
  readonly runs: RunStore
  readonly reads: Reads
  readonly agents: ReadonlyMap<string, Agent>
  readonly sealer: ContentKeys
  /** What the run was given of memory and what not, best first. */
  readonly uses: (actor: Actor, run: RunId) => Promise<readonly Use[]>
}

export interface ContextView extends Explanation {
  readonly run: RunId
  readonly step: number
  /** The release that it was decided with, and whether it is the one that the run was made with. */
  readonly release: string
  readonly isOwnRelease: boolean
}

/**
 * `step` null: the last one. A run that is under way has one more, the call to come.
 * @throws Fault `not_found` · `conflict` for an agent that this program does not know · `invalid_request` for a
 * step that there is not
 */
export async function explainContext(parts: Parts, actor: Actor, id: RunId, step: number | null): Promise<ContextView> {
  const { agent: name } = await parts.reads.run(actor, id)
  const agent = parts.agents.get(name)
  if (!agent) throw new Fault('conflict', 'This program does not know the agent of the run.')
  const key = { tenant: actor.tenant, environment: actor.environment, run: id }
  const rows = await parts.runs.load(key)
  if (!rows) throw new Fault('not_found')
  const { run } = readSnapshot(rows, key, agent, parts.sealer)
  const last = Math.max(1, run.step + (isFinal(run.status) ? 0 : 1))
  const asked = step ?? Math.max(1, run.step)
  if (asked < 1 || asked > last) {
    const message = `The run has the steps 1 to ${last}.`
    throw new Fault('invalid_request', message, { errors: [{ path: '/step', message }] })
  }
  const { release } = agent
  const known = { run: id, step: asked, release, isOwnRelease: release === run.release }
  // what was recalled is not decided again: it was noted when it was given
  const uses = agent.memory ? await parts.uses(actor, id) : []
  const remembered = uses.flatMap((use) => (use.reason === 'placed' ? [{ id: use.memory, version: use.version }] : []))
  return { ...known, ...explain(run.context, id, asked), remembered }
}
