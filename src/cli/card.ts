/** The approval card in a terminal: made of what the server stored, never of what a model said. */
import type { Body } from './client.ts'
import { visible } from './visible.ts'

const WIDTH = 78

/** `now` in milliseconds since the epoch. */
export function card(c: Body, now: number): string[] {
  const text = (name: string): string => visible(String(c[name]))
  const params = c['params'] as Body
  const left = Math.max(0, Math.round((Date.parse(String(c['expires_at'])) - now) / 60_000))
  const hash = text('params_hash')
  const rule = (title: string): string => `─ ${title} `.padEnd(WIDTH, '─')
  const states = changes(c['before'], c['after'])
  return [
    rule(
      c['status'] === 'pending'
        ? `waits for ${visible(confirmersOf(c).join(', '))}, ${left} minutes left`
        : text('status'),
    ),
    text('summary'),
    ...undone(c['compensates']),
    rule('exactly this will be sent'),
    ...Object.entries(params).map(([name, value]) => `  ${visible(name).padEnd(14)}${visible(JSON.stringify(value))}`),
    ...(states.length > 0 ? [rule('what changes'), ...states] : []),
    ...(Number(c['other_plans']) > 0 ? [`Other open plans on this resource: ${Number(c['other_plans'])}.`] : []),
    ...(c['repeats'] === null ? [] : ['An equal action was done, or may have been, in this conversation before.']),
    rule(''),
    `tool ${text('tool')}@${text('tool_version')}, run ${text('run_id')}, fingerprint ${hash.slice(0, 4)}·${hash.slice(4, 8)}, single use`,
  ]
}

export const confirmersOf = (c: Body): readonly string[] => (c['confirmers'] as readonly unknown[]).map(String)

/** Which action this one undoes, as it was sent. */
function undone(effect: unknown): string[] {
  if (!isObject(effect)) return []
  const name = `${String(effect['tool'])}@${String(effect['tool_version'])}`
  return [`undoes ${visible(name)} ${visible(JSON.stringify(effect['params']))}`]
}

function changes(before: unknown, after: unknown): string[] {
  if (!isObject(before) || !isObject(after)) return []
  return Object.keys(after).map(
    (name) =>
      `  ${visible(name).padEnd(14)}${visible(JSON.stringify(before[name] ?? null))}  →  ${visible(JSON.stringify(after[name]))}`,
  )
}

const isObject = (value: unknown): value is Body => typeof value === 'object' && value !== null && !Array.isArray(value)
