/** People with memories, over HTTP: an agent that proposes what it is told, and what to ask a server about it. */
import { expect } from 'vitest'
import { z } from 'zod'
import { answers } from '../../src/http/answers.ts'
import { memory } from '../../src/memory/key.ts'
import type { ModelRequest } from '../../src/model/port.ts'
import type { ScriptedAnswer } from '../../src/testing/script.ts'
import { scripted } from '../../src/testing/scripted.ts'
import { agentOf, type Answer, type Body, ended, type Person } from './plane.ts'
import { unique } from './seed.ts'

export const memoryKeys = memory({
  answer_language: { kind: 'preference', value: z.enum(['en', 'zh-CN']) },
  food: { kind: 'preference', value: z.string(), purpose: 'To suggest dishes.' },
  nickname: { kind: 'fact', value: z.string(), confirm: 'ask' },
  habit: { kind: 'fact', value: z.string(), scopes: ['group'], sensitivity: 'none' },
})

/** Proposes what the user says: `nickname: Kit`. */
function attentive(request: ModelRequest): ScriptedAnswer {
  const last = request.messages.at(-1)
  const [key, value = ''] = last?.role === 'user' ? last.text.split(': ') : []
  const name = request.tools[0]?.name
  if (name === undefined || !['food', 'nickname'].includes(key ?? '')) return { text: 'Noted.' }
  return { calls: [{ name, arguments: { key: key!, value, quote: value } }] }
}

export const attentiveAgent = agentOf('attentive', { model: scripted(attentive), memory: memoryKeys })

/** A word that stands nowhere else. */
export const word = (): string => `Papageientaucher${unique('w').replace('_', '')}`

export const problem = ({ status, body }: Answer) => ({ status, code: body.code })

export const remember = (who: Person, key: string, value: unknown, more: object = {}): Promise<Answer> =>
  who.post('/v1/memories', { body: { key, value, ...more } })

/** Says it, and waits until the run has ended. */
export async function tell(who: Person, text: string): Promise<Body> {
  const { body } = await who.post('/v1/runs', { body: { agent: 'attentive', text } })
  await ended(who, body.id)
  return body
}

/** A candidate that waits for the word of a person. */
export async function asked(
  who: Person,
  value = word(),
): Promise<{ path: string; seen: Body; yes: Body; value: string }> {
  await tell(who, `nickname: ${value}`)
  const seen = (await who.get('/v1/memory-candidates')).body.items[0]
  const path = `/v1/memory-candidates/${seen.id}`
  return { path, seen, yes: { version: seen.version, body: { hash: seen.hash } }, value }
}

/** The answer is as `/openapi.json` describes it. */
export function holds(name: keyof typeof answers, { body }: Answer): void {
  expect({ name, issues: answers[name].safeParse(body).error?.issues }).toEqual({ name, issues: undefined })
}
