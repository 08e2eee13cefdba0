/** What docs/design/sealing.md says of each column. */
import { readFileSync } from 'node:fs'

const PAGE = readFileSync(new URL('../../docs/design/sealing.md', import.meta.url), 'utf8')

const namesIn = (text: string | undefined): readonly string[] =>
  [...(text ?? '').matchAll(/`(\w+)`/g)].map((found) => found[1] as string)

interface Listed {
  readonly table: string
  readonly sealed: readonly string[]
  readonly veiled: readonly string[]
  readonly keyed: readonly string[]
  readonly plain: readonly string[]
}

/** The rows of the page. */
export const listed: readonly Listed[] = (PAGE.split('## Columns')[1]?.split('\n## ')[0] ?? '')
  .split('\n')
  .filter((line) => /^\| `/.test(line))
  .map((line) => {
    const [, table, sealed, veiled, keyed, plain] = line.split('|')
    return {
      table: namesIn(table)[0] ?? '',
      sealed: namesIn(sealed),
      veiled: namesIn(veiled),
      keyed: namesIn(keyed),
      plain: namesIn(plain),
    }
  })
/** Plain in every table. */
export const everywhere = namesIn(PAGE.split('In every table plain:')[1]?.split('.')[0])
