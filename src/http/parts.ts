/** Pictures, documents and sounds of a request: base64 is read strictly, what they are is decided below. */
import type { z } from 'zod'
import type { SubmitRequest } from '../run/submit.shell.ts'
import { invalid } from './request.ts'
import type { bodies } from './schemas.ts'

type Given = NonNullable<z.output<typeof bodies.message>['parts']>

/** @throws Fault `invalid_request` for what is no base64 */
export const partsOf = (given: Given | undefined): Pick<SubmitRequest, 'parts'> =>
  given === undefined ? {} : { parts: given.map(partOf) }

function partOf(part: Given[number], at: number): NonNullable<SubmitRequest['parts']>[number] {
  const { type, media_type: mediaType } = part
  if (!('data' in part)) return { type, mediaType, artifact: part.artifact as `art_${string}` }
  const data = Buffer.from(part.data, 'base64')
  // Node reads past what does not belong there
  if (data.toString('base64') !== part.data) throw invalid(`/parts/${at}/data`, 'is not base64')
  return { type, mediaType, data }
}
