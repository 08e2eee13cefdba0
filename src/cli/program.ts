/** The commands, their words and their help. What each does is loaded when it is asked for. */
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { EXIT } from '../kernel/fault.ts'
import { failure, isUsage, type Output, output } from './output.ts'
import { jsonLine } from './visible.ts'

const DATA = '.plimsoll'
const PORT = 7117
const HOST = '127.0.0.1'

function port(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new InvalidArgumentError('A port is a number from 0 to 65535.')
}

/** Runs one command line. Returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const isJson = args.includes('--json')
  const out = output(isJson)
  let exit: number = EXIT.ok
  const program = commands(out, (code) => (exit = code))
  try {
    await program.parseAsync([...args], { from: 'user' })
    return exit
  } catch (error) {
    return told(error, out)
  }
}

function told(error: unknown, out: Output): number {
  if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok
  const { line, exit, code } = refusal(error)
  out.note(line)
  if (out.isJson) process.stdout.write(`${jsonLine({ error: { code, exit } })}\n`)
  return exit
}

function refusal(error: unknown): ReturnType<typeof failure> {
  const isWords = error instanceof CommanderError || isUsage(error)
  if (!isWords) return failure(error)
  const cause = error.message.replace(/^error: /, '').replace(/\s*\n\s*/g, ' ')
  const sentence = cause.charAt(0).toUpperCase() + cause.slice(1) + (/[.!?)]$/.test(cause) ? '' : '.')
  const next = isUsage(error) ? error.next : 'See `plimsoll --help`.'
  return { line: `plimsoll: ${sentence} ${next} [usage]`, exit: EXIT.usage, code: 'usage' }
}

function commands(out: Output, exits: (code: number) => void): Command {
  const program = new Command('plimsoll')
    .description('A governed agent runtime with memory, on PostgreSQL.')
    .exitOverride()
    .configureOutput({ writeErr: () => {}, writeOut: (text) => void process.stdout.write(text) })
  const start = program
    .command('start')
    .description('server, worker and store in one process; without a file a support agent whose model needs no key')
    .argument('[file]', 'module whose default export is an agent or a list of agents')
    .option('--port <n>', 'port of the API; 0 takes a free one', port, port(process.env.PLIMSOLL_PORT ?? String(PORT)))
    .option('--host <name>', 'address to listen on', HOST)
    .action(async (file: string | undefined, options) => exits(await (await import('./start.ts')).start({ file, ...options }, out)))
  place(start)
  json(start)
  return program
}

/** Flag, then environment, then default. */
const place = (command: Command): Command =>
  command
    .option('--db <url>', 'PostgreSQL; default: DATABASE_URL, else the embedded store', process.env.DATABASE_URL)
    .option('--data <folder>', 'folder of the embedded store and of the keys', process.env.PLIMSOLL_HOME ?? DATA)

const json = (command: Command): Command => command.option('--json', 'one JSON object as the last line of standard output')
