/** The agent of the airline, the same in the process that serves it and in those that drive its runs. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openAICompatible } from '../../src/model/openai.shell.ts'
import { agent, type Agent } from '../../src/run/agent.ts'
import { airlineTools, type Breaker } from './contracts.ts'
import { readDefinitions } from './data.ts'
import { vendorAt } from './vendor.ts'

export type AirlineSetup = {
  /** Folder of `tools.json` and `policy.md`. */
  readonly data: string
  /** URL of the airline. */
  readonly provider: string
  /** Base URL of the recorded model; ends in `/v1`. */
  readonly recording: string
  readonly breaker: Breaker
  /** Conversations that begin as another one does: only the name tells the recorded model which one is meant. */
  readonly sharing: readonly string[]
}

const NAME = 'airline'
/** The longest recorded run has 26 calls; nothing here is to end for its budget. */
const BUDGET = { steps: 60, toolCalls: 60, tokens: 5_000_000, costCents: 10_000, seconds: 900 }
/** Workers are killed on purpose, and a run may be hit by several of them without getting on. */
const ATTEMPTS = 20
const MODEL = {
  model: 'recorded',
  contextTokens: 128_000,
  maxOutputTokens: 4_096,
  price: { inputCentsPerMillion: 250, outputCentsPerMillion: 1_000 },
}

export function airlineAgents(setup: AirlineSetup): readonly Agent[] {
  const tools = airlineTools(vendorAt(setup.provider), readDefinitions(join(setup.data, 'tools.json')), setup.breaker)
  const policy = join(setup.data, 'policy.md')
  const instructions = existsSync(policy) ? readFileSync(policy, 'utf8') : ''
  const named = (name: string, headers: { readonly [name: string]: string }) => {
    const model = openAICompatible({ ...MODEL, baseUrl: setup.recording, headers })
    return agent(name, { model, instructions, tools, budget: BUDGET, attempts: ATTEMPTS })
  }
  return [
    named(NAME, {}),
    ...setup.sharing.map((conversation) => named(agentOf(setup, conversation), { 'x-conversation': conversation })),
  ]
}

export function agentOf({ sharing }: Pick<AirlineSetup, 'sharing'>, conversation: string): string {
  const at = sharing.indexOf(conversation)
  return at < 0 ? NAME : `${NAME}-${at + 1}`
}
