/** What a call is given from outside, and how a tool comes by it: nothing that its contract does not declare. */
import { Fault } from '../kernel/fault.ts'
import type { AnsweredEffect, Contract, ToolContext } from './contract.ts'
import type { Keeper } from './result/result.shell.ts'
import type { Folder } from './sandbox/sandbox.ts'
import { NO_SCRUB, type Scrub } from './result/scrub.ts'

export interface CallServices {
  /** By capability: those that the contract declares, fetched for this call. */
  readonly secrets: ReadonlyMap<string, string>
  /** Takes them out of whatever comes back. */
  readonly scrub: Scrub
  /** Null: there is no object store. */
  readonly keeper: Keeper | null
  /** Null: there are no folders here. */
  readonly folder: (() => Promise<Folder>) | null
  /** The effect that this call undoes (J7). */
  readonly answers: AnsweredEffect | null
  /** Told of whatever the call throws that its contract does not declare; null: nobody wants to know. */
  readonly report: ((thrown: unknown) => void) | null
}

export const NO_SERVICES: CallServices = Object.freeze({
  secrets: new Map(),
  scrub: NO_SCRUB,
  keeper: null,
  folder: null,
  answers: null,
  report: null,
})

type Declared = Pick<Contract, 'name' | 'credentials' | 'folder'>

export const contextWith = (
  contract: Declared,
  facts: Omit<ToolContext, 'credential' | 'folder' | 'answers'>,
  services: CallServices,
): ToolContext => ({
  ...facts,
  answers: services.answers,
  credential(capability) {
    const value = contract.credentials.includes(capability) ? services.secrets.get(capability) : undefined
    if (value !== undefined) return value
    throw undeclared(contract.name, `\`credentials: ['${capability}']\``)
  },
  folder() {
    if (!contract.folder) throw undeclared(contract.name, '`folder: true`')
    if (!services.folder) throw new Fault('folder_unavailable')
    return services.folder()
  },
})

const undeclared = (tool: string, line: string): Fault =>
  new Fault('invalid_definition', `The contract of ${tool} does not say ${line}.`)
