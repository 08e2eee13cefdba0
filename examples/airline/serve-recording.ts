/**
 * The recorded model as its own process.
 *
 *   node --import tsx examples/airline/serve-recording.ts [--transcripts FILE] [--port N]
 *
 * Prints `{"port":N}` when it listens, stops on SIGTERM, and tells at `GET /requests` what it was asked.
 */
import { parseArgs } from 'node:util'
import { endWithParent } from './child.ts'
import { readConversations } from './data.ts'
import { startRecording } from './recording.ts'

const { values: options } = parseArgs({
  options: { transcripts: { type: 'string' }, port: { type: 'string', default: '0' } },
})
const recording = await startRecording({
  transcripts: readConversations(options.transcripts),
  port: Number(options.port),
})
console.log(JSON.stringify({ port: Number(new URL(recording.url).port) }))
endWithParent()
process.once('SIGTERM', () => {
  void recording.stop().then(() => process.exit(0))
})
