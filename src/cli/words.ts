/** What the words of all commands have in common. */
import { type Command, InvalidArgumentError } from 'commander'

export const DATA = '.plimsoll'

/** Options are checked by commander; their types are written where they are used. */
export const leaf = (parent: Command, words: string, description: string): Command =>
  parent
    .command(words)
    .description(description)
    .option('--json', 'one JSON object as the last line of standard output')
    .option('--no-input', 'never ask, fail instead')

/** Flag, then environment, then default. An empty variable is none. */
export const said = (variable: string): string | undefined => process.env[variable] || undefined

const folder = (command: Command): Command =>
  command.option('--data <folder>', 'folder of the embedded store and of the keys', said('PLIMSOLL_HOME') ?? DATA)

export const place = (command: Command): Command =>
  folder(
    command.option(
      '--db <url>',
      'PostgreSQL; default: DATABASE_URL, else the embedded store',
      filled,
      said('DATABASE_URL'),
    ),
  )

export const server = (command: Command): Command =>
  folder(
    command.option(
      '--url <url>',
      'the server; default: PLIMSOLL_URL, else the one that runs on the folder',
      said('PLIMSOLL_URL'),
    ),
  )

export const limited = (command: Command): Command =>
  command.option('--limit <n>', 'how many at most, up to 100', number(1, 100), 20)

export const number =
  (least: number, most: number) =>
  (text: string): number => {
    if (/^\d{1,5}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text)
    throw new InvalidArgumentError(`It is a number from ${least} to ${most}.`)
  }

/** An option that may be given several times. */
export const gathered = (one: string, all: readonly string[]): readonly string[] => [...all, one]

function filled(text: string): string {
  if (text !== '') return text
  throw new InvalidArgumentError('It is empty.')
}
