/** The words of `plimsoll memory`. */
import { type Command, Option } from 'commander'
import type { Agreeing } from './agree.ts'
import type { Reach } from './client.ts'
import type { ForgetOptions } from './forgetting.ts'
import type { AnswerOptions, As, ListMemoriesOptions, RememberOptions } from './memory.ts'
import type { Output } from './output.ts'
import type { SharedAnswer, ShareOptions } from './steward.ts'
import { leaf, limited, number, server } from './words.ts'

const AS = 'the end user whose memory it is, by a token that the service key mints'
const YES = 'do not ask'
const load = () => import('./memory.ts')
const other = () => import('./forgetting.ts')
const steward = () => import('./steward.ts')

type Limited = { readonly limit: number }
type Because = Reach & { readonly reason: string }

export function memoryWords(program: Command, out: Output): void {
  const group = program.command('memory').description('what is remembered, of whom, why, and until when')
  const user = (words: string, what: string): Command =>
    server(leaf(group, words, what)).requiredOption('--as <user>', AS)

  limited(user('list', 'newest first'))
    .addOption(new Option('--kind <kind>').choices(['preference', 'fact', 'task', 'experience']))
    .option('--key <key>', 'a registered key')
    .addOption(new Option('--scope <scope>').choices(['user', 'conversation', 'group', 'project', 'tenant']))
    .action(async (given: ListMemoriesOptions) => (await load()).listMemories(given, out))
  user('show <memory>', 'value, purpose, scope, and until when').action(async (id: string, given: As) =>
    (await load()).showMemory(id, given, out),
  )
  user('why <memory>', 'where it comes from, and which runs were given it').action(async (id: string, given: As) =>
    (await load()).whyMemory(id, given, out),
  )
  user('versions <memory>', 'what it was before').action(async (id: string, given: As) =>
    (await load()).memoryVersions(id, given, out),
  )
  user('remember <key> <value>', 'a value for a registered key; JSON, or else the words as they are')
    .option('--scope <scope>', 'default: the first that the key names')
    .option('--place <name>', 'which group or project')
    .option('--conversation <id>', 'which conversation')
    .option('--until <time>', 'RFC 3339, or a date')
    .action(async (key: string, value: string, given: RememberOptions) =>
      (await load()).rememberMemory(key, value, given, out),
    )
  user('correct <memory> <value>', 'another value; JSON, or else the words as they are')
    .option('--seen <version>', 'the version that was seen; default: the current one', number(1, 99_999))
    .action(async (id: string, value: string, given: As & { seen?: number }) =>
      (await load()).correctMemory(id, value, given, out),
    )
  limited(user('candidates', 'what waits for a word, oldest first')).action(async (given: As & Limited) =>
    (await load()).listCandidates(given, out),
  )
  user('accept <candidate>', 'has exactly that remembered')
    .option('--hash <hash>', 'what was seen elsewhere; anything else is refused')
    .option('-y, --yes', YES)
    .action(async (id: string, given: AnswerOptions) => (await load()).answerCandidate(id, 'accept', given, out))
  user('decline <candidate>', 'does not have it remembered')
    .option('-y, --yes', YES)
    .action(async (id: string, given: AnswerOptions) => (await load()).answerCandidate(id, 'decline', given, out))
  user('export', 'everything of the user, one memory with its sources a line').action(async (given: As) =>
    (await load()).exportMemories(given, out),
  )
  forgetting(group, user, out)
  operating(group, out)
}

function forgetting(group: Command, user: (words: string, what: string) => Command, out: Output): void {
  user('forget [memory]', 'hidden at once, then gone from every copy; prints the receipt')
    .option('--message <id>', 'what came of a message')
    .option('--conversation <id>', 'a conversation and what came of it')
    .option('--artifact <id>', 'what a call has returned')
    .option('--everything', 'everything of the user')
    .option('-y, --yes', YES)
    .action(async (id: string | undefined, given: ForgetOptions) => (await other()).forgetMemory(id, given, out))
  user('consent [purpose] [state]', 'what was said about purposes; or `granted` or `withdrawn`, `*` for every purpose')
    .option('-y, --yes', YES)
    .action(async (purpose: string | undefined, state: string | undefined, given: As & Agreeing) =>
      (await other()).consent(purpose, state, given, out),
    )
  const whose = (words: string, what: string): Command =>
    server(leaf(group, words, what)).option('--as <user>', `${AS}; default: everybody's, as an operator`)
  limited(whose('deletions', 'what was to be forgotten, newest first')).action(
    async (given: Reach & Limited & { as?: string }) => (await other()).listDeletions(given, out),
  )
  whose('deletion <deletion>', 'how far it is, copy by copy').action(
    async (id: string, given: Reach & { as?: string }) => (await other()).showDeletion(id, given, out),
  )
}

function operating(group: Command, out: Output): void {
  const because = (words: string, what: string): Command =>
    server(leaf(group, words, what)).requiredOption('--reason <text>', 'for the audit')
  limited(
    server(leaf(group, 'facts <subject>', 'what is remembered of somebody, without values, as an operator')),
  ).action(async (subject: string, given: Reach & Limited) => (await other()).memoryFacts(subject, given, out))
  because('reveal <memory>', 'one value, as an operator').action(async (id: string, given: Because) =>
    (await other()).reveal(id, given, out),
  )
  because('forget-subject <subject>', 'everything of somebody who has asked for it, as an operator')
    .option('-y, --yes', YES)
    .action(async (subject: string, given: Because & Agreeing) => (await other()).forgetSubject(subject, given, out))
  server(leaf(group, 'reconcile', 'takes away what is left of what was forgotten, as an operator')).action(
    async (given: Reach) => (await other()).reconcile(given, out),
  )
  because('share <key> <value>', 'what everybody of a place may know, as an operator')
    .addOption(new Option('--scope <scope>', 'of whom').choices(['group', 'project', 'tenant']).default('tenant'))
    .option('--place <name>', 'which group or project')
    .action(async (key: string, value: string, given: ShareOptions) =>
      (await steward()).shareMemory(key, value, given, out),
    )
  limited(
    server(
      leaf(group, 'shared-candidates', 'what everybody of a place may know, if an operator says so; without values'),
    ),
  ).action(async (given: Reach & Limited) => (await steward()).sharedCandidates(given, out))
  for (const verb of ['accept', 'decline'] as const)
    because(`shared-${verb} <candidate>`, 'shows it to an operator, who answers for the place')
      .option('-y, --yes', YES)
      .action(async (id: string, given: SharedAnswer) => (await steward()).answerShared(id, verb, given, out))
  server(
    leaf(group, 'fact <subject> <key> <ref>', 'what an authority says of somebody, asked for by the server'),
  ).action(async (subject: string, key: string, ref: string, given: Reach) =>
    (await steward()).rememberFact(subject, key, ref, given, out),
  )
  server(leaf(group, 'changed <authority> <ref>', 'the authority says something else now')).action(
    async (authority: string, ref: string, given: Reach) => (await steward()).factChanged(authority, ref, given, out),
  )
  const members = group.command('members').description('who belongs to `group:…` or `project:…`')
  server(leaf(members, 'list <place>', 'who belongs there')).action(async (place: string, given: Reach) =>
    (await other()).listMembers(place, given, out),
  )
  for (const verb of ['join', 'leave'] as const)
    server(leaf(members, `${verb} <place> <user>`, verb === 'join' ? 'belongs there' : 'no more, from now on')).action(
      async (place: string, name: string, given: Reach) => (await other()).setMember(verb, place, name, given, out),
    )
}
