import { usage } from './output.ts'

/** The value of an option that is JSON. `example` shows how it is written. */
export function jsonOption(option: string, text: string, example: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw usage(`${option} is not JSON.`, `Write it as in ${option} '${example}'.`)
  }
}
