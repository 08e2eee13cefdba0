/**
 * The restricted log of this machine: where the program failed in a way that it has no word for. Frames and kinds only,
 * since a message may hold a value; readable by its owner alone.
 */
import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/** Causes behind causes; longer chains repeat themselves. */
const MOST_CAUSES = 5

/** The kind, the code and the frames of an error and of its causes, without their words. */
export function frames(error: unknown, left = MOST_CAUSES): readonly string[] {
  if (!(error instanceof Error) || left === 0) return []
  const code = 'code' in error && /^\w{1,40}$/.test(String(error.code)) ? ` ${String(error.code)}` : ''
  const stack = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return [`${error.name}${code}`, ...stack, ...frames(error.cause, left - 1)]
}

/** Null when it cannot be written: a failure is told all the same. */
export function keepFrames(file: string, error: unknown): string | null {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    appendFileSync(file, `${new Date().toISOString()}\n${frames(error).join('\n')}\n`, { mode: 0o600 })
    return file
  } catch {
    return null
  }
}
