/**
 * The text of a `.sql` file: blocks that begin with `-- name: lowerCamel`, with `:parameters`, and with column aliases
 * that end in `?` (may be null) or `!` (never null).
 */

export interface Parameter {
  readonly name: string
  /** Written `:name?`: the caller may pass null. */
  readonly nullable: boolean
}

export interface Block {
  readonly name: string
  /** The line of the file on which the text begins, counted from 1. */
  readonly line: number
  /** Comment lines right below the name. */
  readonly doc: readonly string[]
  /** With `$1` for parameters, without comments and without the suffixes of aliases. */
  readonly text: string
  readonly parameters: readonly Parameter[]
  readonly nullability: ReadonlyMap<string, '?' | '!'>
}

const HEADER = /^--\s*name:\s*(\S+)\s*$/
const NAME = /^[a-z][A-Za-z0-9]*$/

/** Comments, strings and quoted names are passed over, so that a colon in them is no parameter. */
const TOKEN =
  /(?<comment>--[^\n]*|\/\*[\s\S]*?\*\/)|'(?:[^']|'')*'|\$(?<tag>[A-Za-z_]*)\$[\s\S]*?\$\k<tag>\$|"(?<quoted>(?:[^"]|"")*?)(?<suffix>[?!]?)"|::|:(?<parameter>[A-Za-z_]\w*)(?<optional>\??)/g

interface Token {
  readonly comment?: string
  readonly quoted?: string
  readonly suffix?: string
  readonly parameter?: string
  readonly optional?: string
}

/** Throws with the line when a block has no name, a bad name or a name that was used before. */
export function blocks(source: string): readonly Block[] {
  const found: Block[] = []
  let name = ''
  let start = 0
  let body: string[] = []
  const close = () => {
    if (name !== '') found.push(block(name, start, body))
    else if (body.some((line) => line.trim() !== '' && !line.startsWith('--'))) {
      throw new Error('line 1: text before the first `-- name:`')
    }
  }
  for (const [index, line] of source.split('\n').entries()) {
    const header = HEADER.exec(line)
    if (!header) {
      body.push(line)
      continue
    }
    close()
    name = header[1] ?? ''
    if (!NAME.test(name)) throw new Error(`line ${index + 1}: the name \`${name}\` is not lowerCamel`)
    if (found.some((other) => other.name === name)) throw new Error(`line ${index + 1}: \`${name}\` is named twice`)
    start = index + 2
    body = []
  }
  close()
  return found
}

function block(name: string, line: number, body: readonly string[]): Block {
  const end = body.findIndex((text) => !text.startsWith('--'))
  const doc = body.slice(0, Math.max(end, 0)).map((text) => text.replace(/^--\s?/, ''))
  const parameters = new Map<string, boolean>()
  const nullability = new Map<string, '?' | '!'>()
  const text = body
    .join('\n')
    .replace(TOKEN, (...match: readonly unknown[]) => {
      const { comment, quoted, suffix, parameter, optional } = match.at(-1) as Token
      if (comment !== undefined) return ''
      if (parameter !== undefined) {
        parameters.set(parameter, (parameters.get(parameter) ?? false) || optional === '?')
        return `$${[...parameters.keys()].indexOf(parameter) + 1}`
      }
      if (quoted === undefined || (suffix !== '?' && suffix !== '!')) return String(match[0])
      nullability.set(quoted, suffix)
      return `"${quoted}"`
    })
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{2,}/g, '\n')
    .trim()
    .replace(/;$/, '')
  return {
    name,
    line,
    doc,
    text,
    parameters: [...parameters].map(([key, nullable]) => ({ name: key, nullable })),
    nullability,
  }
}
