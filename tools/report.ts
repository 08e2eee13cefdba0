import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** True when `url` is the file that node was asked to run. */
export const isMain = (url: string): boolean => realpathSync(process.argv[1] ?? '') === fileURLToPath(url)

/** Runs one tool: prints its complaint, or that it is done, and sets the exit code. */
export async function report(name: string, work: () => Promise<string | null> | string | null): Promise<void> {
  try {
    const complaint = await work()
    if (complaint !== null) process.exitCode = 1
    console.log(`${name}: ${complaint ?? 'ok'}`)
  } catch (error) {
    process.exitCode = 1
    console.error(`${name}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
