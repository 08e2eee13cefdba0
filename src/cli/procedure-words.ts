/** The words of `plimsoll procedures`; what they do is loaded when one of them is used. */
import type { Command } from 'commander'
import type { Reach } from './client.ts'
import type { Output } from './output.ts'
import type { ApproveOptions, ListProceduresOptions, ProposeOptions } from './procedures.ts'
import { gathered, leaf, limited, server } from './words.ts'

export function procedureWords(program: Command, out: Output): void {
  const group = program.command('procedures').description('what becomes a rule of agents, and what was one')
  const load = () => import('./procedures.ts')
  const because = (words: string, what: string): Command =>
    server(leaf(group, words, what)).requiredOption('--reason <text>', 'for the audit')
  limited(server(leaf(group, 'list', 'every version, newest first')))
    .option('--name <name>', 'those of one procedure')
    .action(async (given: ListProceduresOptions) => (await load()).listProcedures(given, out))
  server(leaf(group, 'show <procedure>', 'one version: its text and its hash')).action(
    async (id: string, given: Reach) => (await load()).showProcedure(id, given, out),
  )
  because('propose <name>', 'another version of a procedure, made from experience')
    .option('--text <text>', 'what it says')
    .option('--file <file>', 'a file that says it')
    .option('--from <memory>', 'an experience that it comes from; repeat for more', gathered, [])
    .action(async (name: string, given: ProposeOptions) => (await load()).proposeProcedure(name, given, out))
  server(leaf(group, 'evaluate <procedure> <evaluation>', 'tries it, once, as the program has registered')).action(
    async (id: string, evaluation: string, given: Reach) =>
      (await load()).evaluateProcedure(id, evaluation, given, out),
  )
  because('approve <procedure>', 'makes a rule of exactly the text that is shown')
    .option('--hash <hash>', 'of the text that was read elsewhere')
    .option('-y, --yes', 'do not ask')
    .action(async (id: string, given: ApproveOptions) => (await load()).approveProcedure(id, given, out))
  for (const [verb, what] of [
    ['decline', 'it becomes no rule'],
    ['retire', 'it is no rule of runs that are made from now on'],
  ] as const)
    because(`${verb} <procedure>`, what).action(async (id: string, given: Reach & { reason: string }) =>
      (await load()).endProcedure(verb, id, given, out),
    )
}
