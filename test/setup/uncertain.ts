/** An agent whose provider breaks off in the middle, and can neither be asked nor told the same thing twice. */
import type { Agent } from '../../src/run/agent.ts'
import type { scripted } from '../../src/testing/scripted.ts'
import { tool } from '../../src/tool/define.ts'
import { agentOf } from './plane.ts'

/** `sent`: what the provider was told, in order. */
export function uncertainAgent(sent: string[], model: typeof scripted): Agent {
  const post = tool('letters.post@1', {
    description: 'Posts a letter.',
    input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'], additionalProperties: false },
    effect: 'write',
    approval: 'auto',
    unknown: 'manual',
    commit(_, cx) {
      sent.push(cx.effectKey)
      throw new Error('socket hang up')
    },
  })
  const script = model((request, turn) => {
    if (turn > 0) return { text: request.messages.at(-1)?.role === 'tool' ? 'That is settled.' : 'Nothing to do.' }
    return { calls: [{ name: request.tools[0]?.name ?? '', arguments: { to: 'ann' } }] }
  })
  return agentOf('uncertain', { model: script, tools: [post] })
}
