/** Where the recorded airline lies, and its files as values. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Conversation, conversationsOf } from './conversations.ts'
import type { Task } from './judge.ts'
import type { Base } from './rules/world.ts'

/** The folder of test data beside the repository; `PLIMSOLL_DATA` names another. */
const DATA = process.env.PLIMSOLL_DATA ?? fileURLToPath(new URL('../../../shared/data', import.meta.url))
export const AIRLINE_DATA = join(DATA, 'airline')

export function hasAirlineData(folder = AIRLINE_DATA): boolean {
  return existsSync(join(folder, 'flights.json'))
}

export function readBase(folder = AIRLINE_DATA): Base {
  const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as never
  return { flights: read('flights.json'), reservations: read('reservations.json'), users: read('users.json') }
}

export function readConversations(file = join(AIRLINE_DATA, 'transcripts.jsonl')): readonly Conversation[] {
  return conversationsOf(readFileSync(file, 'utf8'))
}

export function readTasks(file = join(AIRLINE_DATA, 'tasks.json')): readonly Task[] {
  return (JSON.parse(readFileSync(file, 'utf8')) as { tasks: readonly Task[] }).tasks
}

/** A tool as the recorded model was offered it. */
export type OfferedDefinition = {
  readonly name: string
  readonly description: string
  readonly parameters: { readonly [key: string]: never }
}

export function readDefinitions(file = join(AIRLINE_DATA, 'tools.json')): readonly OfferedDefinition[] {
  const offered = JSON.parse(readFileSync(file, 'utf8')) as readonly { readonly function: OfferedDefinition }[]
  return offered.map((tool) => tool.function)
}
