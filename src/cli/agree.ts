import { createInterface } from 'node:readline/promises'
import { usage } from './output.ts'

export interface Agreeing {
  /** Nobody is asked. */
  readonly yes?: boolean
  /** Whether somebody can be. */
  readonly input: boolean
}

/** Asks the person at the terminal, and fails without a yes. `look`: what to do before `--yes`; `stays`: what is so after a no. */
export async function agree(
  verb: string,
  options: Agreeing,
  { look, stays }: { readonly look: string; readonly stays: string },
): Promise<void> {
  if (options.yes) return
  if (!options.input || !process.stdin.isTTY)
    throw usage(`Nobody can be asked here whether to ${verb}.`, `${look}, then add --yes.`)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${verb}? [y/N] `)
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw usage('Nothing was decided.', stays)
}
