/** Runs the hooks of an agent around one call of its model. */
import type { Clock } from '../kernel/clock.ts'
import { freezeJson, type Json } from '../kernel/json.ts'
import type { ActParts, Work } from './acting.ts'
import { HOOK_MS, type Hooks, type HookView, type Narrowed, narrowed } from './hooks.ts'
import type { Run } from './state.ts'

/** What the hooks before a call have left; null when one of them failed (C9). */
export function hooksBefore(
  { agent, clock }: Pick<ActParts, 'agent' | 'clock'>,
  { run, actor }: Work,
): Narrowed | null {
  const names = agent.tools.offered(actor).map((c) => c.name)
  const { hooks } = agent
  let left: Narrowed | null = { tools: names, added: [] }
  if (!hooks) return left
  const said = saidIn(run)
  const pass = (call: (view: HookView) => unknown): void => {
    if (left === null) return
    const view = viewOf(run, said, left.tools)
    const done = timed(clock, () => call(view))
    left = done.ok ? narrowed(left, done.value, agent.context.count) : null
  }
  if (hooks.beforeContext) pass(hooks.beforeContext)
  const { afterTool } = hooks
  if (afterTool) for (const result of lastResults(run)) pass((view) => afterTool(Object.freeze({ ...view, result })))
  if (hooks.beforeModel) pass(hooks.beforeModel)
  return left
}

/** Whether the hook lets the answer be the last one. */
export function hookAllows({ agent, clock }: Pick<ActParts, 'agent' | 'clock'>, run: Run, text: string): boolean {
  const hook: Hooks['beforeFinal'] = agent.hooks?.beforeFinal
  if (!hook) return true
  const view = viewOf(run, saidIn(run), [])
  const done = timed(clock, () => hook(Object.freeze({ ...view, text })))
  return done.ok && done.value === undefined
}

const saidIn = (run: Run): HookView['messages'] =>
  freezeJson(
    structuredClone(run.context.transcript.map((m) => m.body)) as unknown as Json,
  ) as unknown as HookView['messages']

const viewOf = (run: Run, messages: HookView['messages'], tools: readonly string[]): HookView =>
  Object.freeze({
    run: run.key.run,
    session: run.session,
    agent: run.agent,
    user: run.user,
    subject: run.subject,
    step: run.step + 1,
    messages,
    tools: Object.freeze([...tools]),
  })

/** The results of the step that has just ended. */
function lastResults(run: Run): readonly { readonly name: string; readonly text: string }[] {
  const bodies = run.context.transcript.map((m) => m.body)
  const asked = bodies.findLastIndex((b) => b.role !== 'tool')
  return bodies
    .slice(asked + 1)
    .flatMap((b) => (b.role === 'tool' ? [Object.freeze({ name: b.name, text: b.text })] : []))
}

/** What took too long counts as failed: it may not be waited for again. */
function timed(
  clock: Clock,
  call: () => unknown,
): { readonly ok: true; readonly value: unknown } | { readonly ok: false } {
  const began = clock.monotonic()
  try {
    const value = call()
    // it is refused for coming later; how it comes must not end the process
    if (value instanceof Promise) value.catch(() => {})
    return clock.monotonic() - began > HOOK_MS ? { ok: false } : { ok: true, value }
  } catch {
    // its words may hold values, and nobody could mend them here
    return { ok: false }
  }
}
