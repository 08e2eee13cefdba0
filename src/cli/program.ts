/** The commands, their words and their help. What each does is loaded when it is asked for. */
import { join } from 'node:path'
import { Command, CommanderError, Option } from 'commander'
import { EXIT, Fault } from '../kernel/fault.ts'
import type { DecideOptions } from './approvals.ts'
import type { GetOptions } from './artifacts.ts'
import type { Reach } from './client.ts'
import type { ResolveOptions } from './effects.ts'
import type { CreateOptions } from './keys.ts'
import type { McpListOptions } from './mcp.ts'
import { memoryWords } from './memory-words.ts'
import { procedureWords } from './procedure-words.ts'
import type { MigrateOptions } from './migrations.ts'
import { keepFrames } from './errorlog.ts'
import { failure, isUsage, type Output, output, usage } from './output.ts'
import type { ContextOptions, ListOptions } from './runs.ts'
import type { RunRetentionOptions, SetRetentionOptions } from './retention.ts'
import type { TellOptions } from './signals.ts'
import type { DestroyOptions, StorePlace } from './sealing.ts'
import type { StartOptions } from './start.ts'
import type { CreateWebhookOptions, ReplayOptions } from './webhooks.ts'
import { visible } from './visible.ts'
import { DATA, gathered, leaf, limited, number, place, said, server } from './words.ts'

const PORT = 7117
const HOST = '127.0.0.1'

/** Runs one command line. Returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const isJson = args.includes('--json')
  const out = output(isJson)
  let exit: number = EXIT.ok
  const program = commands(out, (code) => (exit = code))
  try {
    const [word, ...rest] = args
    await program.parseAsync(word === '--version' || word === '-V' ? ['version', ...rest] : [...args], { from: 'user' })
    return exit
  } catch (error) {
    return told(error, wordsOf(program, args), out)
  }
}

/** The words that name a command, as far as there is one: `plimsoll runs show`. */
function wordsOf(command: Command, [word, ...rest]: readonly string[]): string {
  const found = command.commands.find((c) => c.name() === word)
  return found ? `${command.name()} ${wordsOf(found, rest)}` : command.name()
}

function told(error: unknown, words: string, out: Output): number {
  if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok
  const { line, exit, code } = refusal(error, words)
  out.note(line)
  // a fault of ours without a cause has said all there is
  const isKnown = Fault.is(error) && error.cause === undefined
  const kept =
    code === 'internal' && !isKnown ? keepFrames(join(said('PLIMSOLL_HOME') ?? DATA, 'error.log'), error) : null
  if (kept !== null) out.note(`plimsoll: Where it failed is in ${kept}, without any values.`)
  out.result({ error: { code, exit, message: line } })
  return exit
}

function refusal(error: unknown, words: string): ReturnType<typeof failure> {
  const isWords = error instanceof CommanderError || isUsage(error)
  if (!isWords) return failure(error)
  const said = error.message === '(outputHelp)' ? 'A command is missing' : error.message
  const cause = visible(said.replace(/^error: /, '').replace(/\s*\n\s*/g, ' '))
  const sentence = cause.charAt(0).toUpperCase() + cause.slice(1) + (/[.!?)]$/.test(cause) ? '' : '.')
  const next = (isUsage(error) ? error.next : null) ?? `See \`${words} --help\`.`
  return { line: `plimsoll: ${sentence} ${next} [usage]`, exit: EXIT.usage, code: 'usage' }
}

type Exits = (code: number) => void

function commands(out: Output, exits: Exits): Command {
  const program = new Command('plimsoll')
    .description('A governed agent runtime with memory, on PostgreSQL.')
    .exitOverride()
    .configureOutput({ writeErr: () => {}, writeOut: (text) => void process.stdout.write(text) })
  processes(program, out, exits)
  stores(program, out, exits)
  runs(program, out)
  approvals(program, out)
  effects(program, out)
  artifacts(program, out)
  memoryWords(program, out)
  procedureWords(program, out)
  signals(program, out)
  keys(program, out)
  webhooks(program, out)
  retention(program, out)
  server(leaf(program, 'summaries', 'what became of summaries, by model and prompt')).action(async (given: Reach) =>
    (await import('./summaries.ts')).showSummaries(given, out),
  )
  server(leaf(program, 'errands', 'what became of summaries and extractions, by agent and outcome')).action(
    async (given: Reach) => (await import('./errands.ts')).showErrands(given, out),
  )
  sealing(program, out)
  mcp(program, out, exits)
  leaf(program, 'version', 'the version of this program').action(async () =>
    (await import('./version.ts')).version(out),
  )
  return program
}

const port = number(0, 65_535)
const FILE = 'module whose default export is an agent or a list of agents'

function processes(program: Command, out: Output, exits: Exits): void {
  const start = leaf(
    program,
    'start',
    'server, worker and store in one process; without a file a support agent whose model needs no key',
  )
  place(start)
    .argument('[file]', FILE)
    .option('--port <n>', `port of the API; 0 takes a free one; default: PLIMSOLL_PORT, else ${PORT}`, port)
    .option('--host <name>', 'address to listen on', HOST)
    .action(async (file: string | undefined, given: StartOptions) => {
      const chosen = given.port ?? port(said('PLIMSOLL_PORT') ?? String(PORT))
      exits(await (await import('./start.ts')).start({ ...given, file, port: chosen }, out))
    })
  place(leaf(program, 'worker', 'a worker without a server, on PostgreSQL beside others'))
    .argument('[file]', FILE)
    .action(async (file: string | undefined, given: StartOptions) => {
      // the embedded store belongs to one process, which would be this one
      if (given.db === undefined)
        throw usage('A worker needs PostgreSQL.', 'Give --db or DATABASE_URL; `plimsoll start` works alone.')
      exits(await (await import('./start.ts')).work({ ...given, file }, out))
    })
  leaf(program, 'demo', 'a tour of two minutes that attacks itself, without a key or an account').action(async () =>
    exits(await (await import('./demo.ts')).demo(out)),
  )
}

function stores(program: Command, out: Output, exits: Exits): void {
  place(leaf(program, 'migrate', 'brings the schema of a store up to this program'))
    .option('--check', 'changes nothing, and fails when something is missing')
    .action(async (given: MigrateOptions) => (await import('./migrations.ts')).migrateStore(given, out))
  place(leaf(program, 'doctor', 'what a person would look at first')).action(async (given: MigrateOptions) =>
    exits(await (await import('./doctor.ts')).doctor(given, out)),
  )
}

function runs(program: Command, out: Output): void {
  const group = program.command('runs').description('what is under way')
  const status = new Option('--status <status>').choices([
    'queued',
    'running',
    'waiting_confirmation',
    'succeeded',
    'failed',
    'canceled',
  ])
  limited(server(leaf(group, 'list', 'newest first')))
    .addOption(status)
    .action(async (given: ListOptions) => (await import('./runs.ts')).listRuns(given, out))
  server(leaf(group, 'show <run>', 'state, budget and effects of a run')).action(async (id: string, given: Reach) =>
    (await import('./runs.ts')).showRun(id, given, out),
  )
  server(leaf(group, 'context <run>', 'what a step sent to its model, and what it left out'))
    .option('--step <number>', 'which one, from 1; default: the last', number(1, 99_999))
    .action(async (id: string, given: ContextOptions) => (await import('./runs.ts')).showContext(id, given, out))
  server(leaf(group, 'cancel <run>', 'stops before the next action; what was done stays done')).action(
    async (id: string, given: Reach) => (await import('./runs.ts')).cancelRun(id, given, out),
  )
}

function approvals(program: Command, out: Output): void {
  const group = program.command('approvals').description('what waits for a person')
  limited(server(leaf(group, 'list', 'open approvals, oldest first'))).action(
    async (given: Reach & { limit: number }) => (await import('./approvals.ts')).listApprovals(given, out),
  )
  server(leaf(group, 'show <approval>', 'exactly what will be sent')).action(async (id: string, given: Reach) =>
    (await import('./approvals.ts')).showApproval(id, given, out),
  )
  for (const verb of ['approve', 'reject'] as const)
    server(leaf(group, `${verb} <approval>`, `${verb}s as the end user who may, by a token that the service key mints`))
      .option('--as <user>', 'the end user; default: the first who may decide')
      .option('--reason <text>', 'for the audit')
      .option('--hash <params_hash>', 'the hash that was seen elsewhere; anything else is refused')
      .option('-y, --yes', 'do not ask')
      .action(async (id: string, given: DecideOptions) => (await import('./approvals.ts')).decide(id, verb, given, out))
}

function effects(program: Command, out: Output): void {
  const group = program.command('effects').description('actions of which nobody knows whether they happened')
  server(leaf(group, 'list', 'oldest first'))
    .option('--unknown', 'those whose outcome is unknown: the default, and so far the only list')
    .action(async (given: Reach) => (await import('./effects.ts')).listUnknown(given, out))
  server(leaf(group, 'resolve <effect>', 'says what became of <run>/<step>/<position>, as an operator'))
    .addOption(
      new Option(
        '--outcome <outcome>',
        'what the provider shows; or send it again under its key, or end the run without knowing',
      )
        .choices(['happened', 'did-not-happen', 'retry', 'leave'])
        .makeOptionMandatory(),
    )
    .requiredOption('--reason <text>', 'how you know; it stands in the audit')
    .option('--result <json>', 'with `happened`: what the model reads as the result')
    .action(async (effect: string, given: ResolveOptions) =>
      (await import('./effects.ts')).resolveEffect(effect, given, out),
    )
}

function artifacts(program: Command, out: Output): void {
  const group = program.command('artifacts').description('what calls returned and nobody reads whole')
  server(leaf(group, 'list <run>', 'in the order of the calls')).action(async (run: string, given: Reach) =>
    (await import('./artifacts.ts')).listArtifacts(run, given, out),
  )
  server(leaf(group, 'get <artifact>', 'downloads it, and holds it against its hash'))
    .option('-o, --output <file>', 'where to; default: its own name in this folder. Nothing is overwritten')
    .action(async (id: string, given: GetOptions) => (await import('./artifacts.ts')).getArtifact(id, given, out))
}

/** An option that is repeated. */
const list = (one: string, all: readonly string[]): readonly string[] => [...all, one]

function mcp(program: Command, out: Output, exits: Exits): void {
  const group = program.command('mcp').description('tools of Model Context Protocol servers')
  leaf(group, 'list [command...]', 'what a server offers; `-- <command> [arguments]` starts one')
    .option('--url <url>', 'ask a server over HTTP')
    .option('--header <name:value>', 'with --url; repeat for more', list, [])
    .option('--env <name=value>', 'all that the command sees of an environment; repeat for more', list, [])
    .option('--cwd <folder>', 'where the command runs; default: an empty folder of its own')
    .option('--approved <file>', 'compare with what was approved: exit 1 when something is new, changed or gone')
    .action(async (command: readonly string[], given: McpListOptions) =>
      exits(await (await import('./mcp.ts')).listTools(command, given, out)),
    )
}

function signals(program: Command, out: Output): void {
  const group = program.command('signals').description('what runs wait for outside')
  server(leaf(group, 'tell <signal>', 'tells every run that waits for it, now or later'))
    .option('--body <json>', 'what the tool is given; default: null')
    .action(async (signal: string, given: TellOptions) => (await import('./signals.ts')).tellSignal(signal, given, out))
}

function keys(program: Command, out: Output): void {
  const group = program.command('keys').description('API keys of the app plane and of operators')
  server(leaf(group, 'create', 'a key, shown once'))
    .addOption(new Option('--kind <kind>', 'what it is for').choices(['service', 'operator']).default('service'))
    .requiredOption('--user <name>', 'as whom it acts')
    .option('--permission <name>', 'a permission that it holds; repeat for more; `*` for all', gathered, [])
    .option('--db <url>', 'write it into this PostgreSQL instead of asking a server')
    .option('--tenant <name>', 'with --db', 'default')
    .option('--environment <name>', 'with --db', 'dev')
    .action(async (given: CreateOptions) => (await import('./keys.ts')).createKey(given, out))
  server(leaf(group, 'revoke <key>', 'ends a key and every token that it minted')).action(
    async (id: string, given: Reach) => (await import('./keys.ts')).revokeKey(id, given, out),
  )
}

/** Commands on the store itself, behind `--db` or the folder. */
function sealing(program: Command, out: Output): void {
  const load = () => import('./sealing.ts')
  const named = (command: Command): Command =>
    place(command).option('--definition <file>', 'whose `keys` wrap the keys of tenants, instead of a key file')
  const keys = program.commands.find((command) => command.name() === 'keys') as Command
  named(leaf(keys, 'rotate-data <tenant>', 'the next key that seals the content of a tenant')).action(
    async (tenant: string, given: StorePlace) => (await load()).rotateData(tenant, given, out),
  )
  named(leaf(keys, 'rotate-master', 'another key in the key file, which wraps all others')).action(
    async (given: StorePlace) => (await load()).rotateMaster(given, out),
  )
  named(leaf(keys, 'rewrap', 'wraps the keys of all tenants by the current key')).action(async (given: StorePlace) =>
    (await load()).rewrap(given, out),
  )
  named(leaf(program.command('tenants').description('whole tenants'), 'destroy <tenant>', 'its content, for ever'))
    .requiredOption('--reason <text>', 'for the audit, as it is written')
    .requiredOption('--confirm <tenant>', 'the name once more')
    .action(async (tenant: string, given: DestroyOptions) => (await load()).destroyTenant(tenant, given, out))
  const backups = program.command('restore').description('a backup that was put back')
  for (const [verb, what] of [
    ['check', 'whether the database is older than its restore log'],
    ['apply', 'tells it what was deleted, spent, revoked or destroyed since'],
  ] as const)
    place(leaf(backups, verb, what)).action(async (given: StorePlace) => (await load()).restore(verb, given, out))
}

function webhooks(program: Command, out: Output): void {
  const group = program.command('webhooks').description('where events of runs go, signed')
  const load = () => import('./webhooks.ts')
  server(leaf(group, 'list', 'endpoints, and what waits for them')).action(async (given: Reach) =>
    (await load()).listWebhooks(given, out),
  )
  server(leaf(group, 'create <url>', 'an endpoint; its secret is shown once'))
    .option('--type <event>', 'a type that it hears of; repeat for more; default: all', gathered, [])
    .action(async (url: string, given: CreateWebhookOptions) => (await load()).createWebhook(url, given, out))
  server(leaf(group, 'rotate <endpoint>', 'a new secret, shown once; the old one signs too for a day')).action(
    async (id: string, given: Reach) => (await load()).rotateWebhook(id, given, out),
  )
  for (const [verb, state] of [
    ['enable', 'enabled'],
    ['disable', 'disabled'],
  ] as const)
    server(leaf(group, `${verb} <endpoint>`, state === 'enabled' ? 'goes on where it stopped' : 'sends nothing more'))
      .requiredOption('--reason <text>', 'for the audit')
      .action(async (id: string, given: Reach & { reason: string }) => (await load()).setWebhook(id, state, given, out))
  server(leaf(group, 'delete <endpoint>', 'the endpoint and what waits for it')).action(
    async (id: string, given: Reach) => (await load()).deleteWebhook(id, given, out),
  )
  server(leaf(group, 'test <endpoint>', 'sends one message now and says what came back')).action(
    async (id: string, given: Reach) => (await load()).testWebhook(id, given, out),
  )
  limited(server(leaf(group, 'deliveries <endpoint>', 'attempts, newest first'))).action(
    async (id: string, given: Reach & { limit: number }) => (await load()).listDeliveries(id, given, out),
  )
  server(leaf(group, 'replay <endpoint>', 'sends events again, under the ids that they had'))
    .option('--run <run>', 'those of one run')
    .option('--seq <n>', 'with --run: from this event on', number(1, 99_999))
    .option('--since <time>', 'those of all runs from this time on, as in 2026-11-30T12:00:00Z')
    .requiredOption('--reason <text>', 'for the audit')
    .action(async (id: string, given: ReplayOptions) => (await load()).replayWebhook(id, given, out))
}

function retention(program: Command, out: Output): void {
  const group = program.command('retention').description('how long what finished runs have left is kept')
  const load = () => import('./retention.ts')
  server(leaf(group, 'show', 'rules and legal holds')).action(async (given: Reach) =>
    (await load()).showRetention(given, out),
  )
  server(leaf(group, 'set <class>', 'days after the end of a run'))
    .requiredOption('--days <n>', 'a whole number, or `keep` for ever')
    .requiredOption('--reason <text>', 'for the audit')
    .action(async (name: string, given: SetRetentionOptions) => (await load()).setRetention(name, given, out))
  server(leaf(group, 'run', 'sweeps now what is due'))
    .option('--dry-run', 'counts and changes nothing')
    .action(async (given: RunRetentionOptions) => (await load()).runRetention(given, out))
  server(leaf(group, 'hold', 'keeps everything, or what is about one subject, until it is released'))
    .option('--subject <name>', 'whom it is about; default: everybody')
    .requiredOption('--reason <text>', 'for the audit')
    .action(async (given: Reach & { subject?: string; reason: string }) => (await load()).holdAll(given, out))
  server(leaf(group, 'release <hold>', 'ends a hold'))
    .requiredOption('--reason <text>', 'for the audit')
    .action(async (id: string, given: Reach & { reason: string }) => (await load()).releaseHold(id, given, out))
}
