/**
 * `memory.remember`: how a model proposes to remember something. It names a key, the value and the words of the user that
 * say it; where these words stand, whose they are and whether they count the application finds out itself (E4).
 */
import { z } from 'zod'
import type { Json } from '../kernel/json.ts'
import type { MemoryKeys } from '../memory/key.ts'
import type { MemoryScope } from '../memory/entry.ts'
import type { Outcome } from '../memory/remember.shell.ts'
import type { Contract, ToolContext } from '../tool/contract.ts'
import { tool } from '../tool/define.ts'

export interface Proposed {
  readonly key: string
  readonly value: Json
  readonly quote: string
  readonly scope?: MemoryScope | undefined
  readonly lasting?: boolean | undefined
  readonly expires_in_days?: number | undefined
}

/** Judges and writes; the same for every repetition of one call. */
export type Proposing = (proposed: Proposed, cx: ToolContext) => Promise<Outcome>

const LONGEST_QUOTE = 2_000

/** Words of the user are the only evidence that a model can name. */
const isProposable = ({ sources }: MemoryKeys['keys'][number]): boolean => sources.includes('message')

/** Null when no key may be proposed by a model. */
export function rememberTool(keys: MemoryKeys, propose: Proposing): Contract | null {
  const [first, ...rest] = keys.keys.filter(isProposable).map((key) => key.name)
  if (first === undefined) return null
  const lines = keys.keys
    .filter(isProposable)
    .map((key) => `- ${key.name} (${key.kind}): ${JSON.stringify(key.schema)}`)
  return tool('memory.remember@1', {
    description: [
      'Proposes to remember something that the user has said about themselves, for later conversations. The application',
      'decides whether it is saved, asked about or refused: say only what it answers. Never propose secrets. Keys:',
      ...lines,
    ].join('\n'),
    input: z.strictObject({
      key: z.enum([first, ...rest]),
      value: z.json(),
      quote: z
        .string()
        .min(1)
        .max(LONGEST_QUOTE)
        .describe('The words of the user that say it, exactly as they were written'),
      scope: z.enum(['user', 'conversation', 'group', 'project']).optional(),
      lasting: z.boolean().optional().describe('False when it was meant for now alone'),
      expires_in_days: z.number().positive().max(3_650).optional(),
    }),
    effect: 'write',
    approval: 'auto',
    // a repetition finds its own value there, and adds nothing
    unknown: 'key',
    permission: 'memory.remember',
    commit: async (proposed, cx) => said(await propose(proposed as Proposed, cx)),
  })
}

/** For the model: what became of it, and never the value. */
function said(outcome: Outcome): Json {
  if (outcome.outcome === 'saved') return { saved: true, change: outcome.change }
  if (outcome.outcome === 'asked') return { saved: false, asked: true, reasons: [...outcome.reasons] }
  if (outcome.outcome === 'session') return { saved: false, only_this_conversation: true }
  const wrong = (outcome.errors ?? []).map(({ path, message }) => `${path} ${message}`)
  return { saved: false, refused: true, reasons: [...outcome.reasons], ...(wrong.length > 0 && { wrong }) }
}
