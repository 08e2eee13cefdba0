/**
 * `npm run recall -- --dataset FILE [--json] [--db URL]`: how well memories are found, by labelled questions.
 *
 * FILE is `{ docs: [{ id, scope, speaker?, at?, order?, text }], queries: [{ id, scope, text, category?, relevant: [id] }] }`;
 * `--memorybank DIR` reads MemoryBank's Chinese part instead. A scope of the file is a subject, its documents are that
 * subject's memories, in their order one conversation. They are written and asked for by the shipped statements, on an
 * embedded store or in a tenant of its own at `--db`. Exit 2 without a file to read.
 */
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { openStore } from '../db/open.ts'
import { EXIT } from '../kernel/fault.ts'
import { type RecallData, readDataset, readMemoryBank } from './recall-data.ts'
import { measure, type Measured } from './recall-measure.ts'

const USAGE =
  'usage: npm run recall -- --dataset FILE [--json] [--db URL]   FILE is JSON: { docs: [{ id, scope, speaker?, at?, order?, text }], ' +
  'queries: [{ id, scope, text, category?, relevant: [id] }] }   or --memorybank DIR'

export async function recallCommand(argv: readonly string[], print: (line: string) => void): Promise<number> {
  const options = { dataset: string(), memorybank: string(), db: string(), json: { type: 'boolean' } } as const
  const { values } = parseArgs({ args: [...argv], options, strict: false })
  const data = dataOf(values)
  if (data === null) {
    print(USAGE)
    return EXIT.usage
  }
  const db = await openStore(typeof values.db === 'string' ? values.db : 'memory')
  try {
    const measured = await measure(db, data)
    for (const line of table(measured)) print(line)
    if (values.json === true) print(JSON.stringify(measured))
    return EXIT.ok
  } finally {
    await db.close()
  }
}

function string() {
  return { type: 'string' } as const
}

function dataOf(values: { readonly dataset?: unknown; readonly memorybank?: unknown }): RecallData | null {
  if (typeof values.dataset === 'string') return readDataset(values.dataset)
  return typeof values.memorybank === 'string' ? readMemoryBank(values.memorybank) : null
}

function table({ byCategory, ...all }: Measured): readonly string[] {
  const rows = [['all', all] as const, ...Object.entries(byCategory)]
  const share = (value: number) => value.toFixed(3).padStart(7)
  return [
    'category              queries     r5    r10    mrr  all10',
    ...rows.map(
      ([name, m]) =>
        name.slice(0, 20).padEnd(22) +
        String(m.queries).padStart(7) +
        [m.r5, m.r10, m.mrr, m.allGold10].map(share).join(''),
    ),
    `${all.docs} documents; ${all.p50ms.toFixed(1)} ms a question, ${all.p95ms.toFixed(1)} ms at p95`,
    `above the floor: ${share(all.goldAboveFloor).trim()} of the gold; nothing for ${share(all.emptyElsewhere).trim()} of the questions asked of another subject`,
  ]
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = await recallCommand(process.argv.slice(2), console.log)
}
