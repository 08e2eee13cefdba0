/** `plimsoll procedures`: what becomes a rule, over the operator plane. */
import { readFile } from 'node:fs/promises'
import { agree, type Agreeing } from './agree.ts'
import { type Body, field, reach, type Reach } from './client.ts'
import { type Output, table, usage } from './output.ts'
import { visible } from './visible.ts'

const AT = '/ops/v1/procedures'
const at = (id: string, verb = ''): string => `${AT}/${encodeURIComponent(id)}${verb && `/${verb}`}`

export interface ListProceduresOptions extends Reach {
  readonly limit: number
  readonly name?: string
}

export async function listProcedures(options: ListProceduresOptions, out: Output): Promise<void> {
  const query = new URLSearchParams({ limit: String(options.limit), ...(options.name && { name: options.name }) })
  const found = await (await reach(options, 'operator')).get(`${AT}?${query.toString()}`)
  const items = found['items'] as readonly Body[]
  const rows = items.map((p) => [p['id'], p['name'], p['version'], p['status'], evaluated(p), p['proposed_by']])
  const head = ['procedure', 'name', 'version', 'status', 'evaluation', 'proposed by']
  out.show(...(items.length > 0 ? table(head, rows) : ['Nothing was proposed.']))
  out.result({ items, more: found['next_cursor'] !== null })
}

export async function showProcedure(id: string, options: Reach, out: Output): Promise<void> {
  const found = await (await reach(options, 'operator')).get(at(id))
  tell(found, out)
  out.result(found)
}

export interface ProposeOptions extends Reach {
  readonly from: readonly string[]
  readonly text?: string
  readonly file?: string
  readonly reason: string
}

/** A text of a file is taken as it is, so that the hash is that of the file's text. */
export async function proposeProcedure(name: string, options: ProposeOptions, out: Output): Promise<void> {
  const { from: sources, text, file, reason } = options
  if ((text === undefined) === (file === undefined)) throw usage('The text is missing.', 'Give --text or --file.')
  const body = { name, text: text ?? (await read(file ?? '')), sources, reason }
  const made = await (await reach(options, 'operator')).post(AT, { body })
  tell(made, out)
  out.result(made)
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch {
    throw usage('The file cannot be read.', 'Name a file of text.')
  }
}

export async function evaluateProcedure(id: string, evaluation: string, options: Reach, out: Output): Promise<void> {
  const done = await (await reach(options, 'operator')).post(at(id, 'evaluate'), { body: { evaluation } })
  out.show(`${visible(field(done, 'name'))} v${visible(field(done, 'version'))}: ${evaluated(done)}.`)
  out.result(done)
}

export interface ApproveOptions extends Reach, Agreeing {
  readonly reason: string
  /** The hash that somebody has seen, when it was elsewhere. */
  readonly hash?: string
}

export async function approveProcedure(id: string, options: ApproveOptions, out: Output): Promise<void> {
  const operator = await reach(options, 'operator')
  const seen = await operator.get(at(id))
  for (const line of told(seen)) out.note(line)
  await agree('approve', options, { look: 'Look at it', stays: 'The procedure is no rule.' })
  const body = { hash: options.hash ?? seen['hash'], reason: options.reason }
  const done = await operator.post(at(id, 'approve'), { body })
  out.show(
    `${visible(field(done, 'name'))} v${visible(field(done, 'version'))} is a rule of runs that are made from now on.`,
  )
  out.result(done)
}

export async function endProcedure(
  verb: 'decline' | 'retire',
  id: string,
  options: Reach & { readonly reason: string },
  out: Output,
): Promise<void> {
  const { reason } = options
  const done = await (await reach(options, 'operator')).post(at(id, verb), { body: { reason } })
  out.show(`${visible(field(done, 'name'))} v${visible(field(done, 'version'))}: ${visible(field(done, 'status'))}.`)
  out.result(done)
}

function evaluated(p: Body): string {
  const found = p['evaluation'] as Body | null
  if (found === null) return 'none'
  return `${visible(field(found, 'name'))} ${found['passed'] === true ? 'passed' : 'failed'}, ${String(found['score'])}`
}

const told = (p: Body): readonly string[] => [
  `${visible(field(p, 'name'))} v${visible(field(p, 'version'))}, ${visible(field(p, 'status'))}, evaluation: ${evaluated(p)}`,
  `hash ${visible(p['hash'] === null ? 'none' : field(p, 'hash'))}`,
  ...(p['text'] === null
    ? ['Its text was forgotten.']
    : field(p, 'text')
        .split('\n')
        .map((line) => `  ${visible(line)}`)),
]

const tell = (p: Body, out: Output): void => out.show(visible(field(p, 'id')), ...told(p))
