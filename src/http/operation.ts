/** One operation of the app plane, for its description. */
import type { z } from 'zod'
import type { answers } from './answers.ts'

/** As it is described, from the schemas that requests are checked with. */
export interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  readonly path: string
  readonly summary: string
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  readonly status?: number
  readonly answer?: keyof typeof answers
  /** `required`: the request is refused without it. */
  readonly ifMatch?: 'required' | 'optional'
  readonly once?: true
  /** The answer is bytes: the whole, or the range that was asked for. */
  readonly bytes?: true
}

export const get = (path: string, answer: keyof typeof answers, summary: string, query?: z.ZodObject): Operation => ({
  method: 'get',
  path,
  answer,
  summary,
  ...(query && { query }),
})
export const post = (
  path: string,
  answer: keyof typeof answers,
  summary: string,
  rest: Omit<Operation, 'method' | 'path' | 'answer' | 'summary'>,
): Operation => ({ method: 'post', path, answer, summary, ...rest })
