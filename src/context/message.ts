/** Messages as they are stored, and as a context is assembled from them. */
import type { Json } from '../kernel/json.ts'
import type { MediaFacts } from '../kernel/media.ts'
import type { ModelCall } from '../model/port.ts'

/**
 * A picture, document or sound of a message: a reference. `place` counts from 1 in its message, `tokens` is what it costs at
 * most; its bytes are in the object store.
 */
export type MediaPart = MediaFacts & {
  readonly place: number
  readonly artifact: string
  readonly tokens: number
}

export type MessageBody =
  | { readonly role: 'user'; readonly text: string; readonly parts?: readonly MediaPart[] }
  | {
      readonly role: 'assistant'
      readonly text: string
      readonly calls: readonly ModelCall[]
      readonly reasoning: Json | null
    }
  | {
      readonly role: 'tool'
      readonly callId: string
      readonly name: string
      readonly text: string
      readonly parts?: readonly MediaPart[]
    }

/** A message of the transcript. `run` and `seq` are its place, and `run.seq` its name. */
export interface TranscriptMessage {
  readonly run: string
  readonly seq: number
  /** The step of its run that it belongs to; 0 for the message that opened it. */
  readonly step: number
  readonly body: MessageBody
  readonly tokens: number
  /** Cut off: shown to people and never continued, so the model does not get it (K3). */
  readonly partial: boolean
}

export const nameOf = ({ run, seq }: Pick<TranscriptMessage, 'run' | 'seq'>): string => `${run}.${seq}`
