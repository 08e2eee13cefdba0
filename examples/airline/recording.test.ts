import { createParser } from 'eventsource-parser'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Served, serveChild } from './child.ts'
import type { Conversation, RecordedMessage } from './conversations.ts'
import { conversationsOf } from './conversations.ts'
import { AIRLINE_DATA, hasAirlineData, readConversations } from './data.ts'
import { indexHistories, type WireMessage } from './history.ts'
import { type Recording, startRecording } from './recording.ts'
import { resultsOf } from './results.ts'

const call = (id: string, name: string, args: string) => ({ id, function: { name, arguments: args } })
const SCRIPT: readonly RecordedMessage[] = [
  { role: 'user', content: 'Grüße 👋, look it up' },
  { role: 'assistant', content: 'One moment 🛫', tool_calls: [call('c1', 'find', '{"a":1,"b":[1.0,"ü"]}')] },
  { role: 'tool', tool_call_id: 'c1', name: 'find', content: '{"price": 150.0, "seats": 2}' },
  { role: 'assistant', content: `It costs 150 — ${'ä🛬'.repeat(300)}` },
  { role: 'user', content: 'Thanks' },
]
const script = (id: string, messages = SCRIPT) =>
  conversationsOf(JSON.stringify({ id, task: 0, trial: 0, reward: 0, messages }))
const until = (end: number, messages = SCRIPT): WireMessage[] => [
  { role: 'system', content: 'x' },
  ...messages.slice(0, end),
]

/** A plain reader of the stream: text, calls by index, finish reason, usage. */
async function read(response: Response) {
  const seen = {
    text: '',
    calls: [] as { id: string; name: string; args: string }[],
    finish: '',
    usage: 0,
    done: false,
  }
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data === '[DONE]') {
        seen.done = true
        return
      }
      const { choices, usage } = JSON.parse(data) as {
        choices: { delta: { content?: string; tool_calls?: Delta[] }; finish_reason: string | null }[]
        usage?: { total_tokens: number }
      }
      seen.usage += usage?.total_tokens ?? 0
      for (const { delta, finish_reason } of choices) {
        seen.text += delta.content ?? ''
        seen.finish = finish_reason ?? seen.finish
        for (const part of delta.tool_calls ?? []) {
          seen.calls[part.index] ??= { id: part.id ?? '', name: part.function.name ?? '', args: '' }
          const open = seen.calls[part.index]
          if (open) open.args += part.function.arguments
        }
      }
    },
  })
  const decoder = new TextDecoder()
  if (!response.body) throw new Error('no body')
  for await (const piece of response.body) parser.feed(decoder.decode(piece as Uint8Array, { stream: true }))
  return seen
}
type Delta = { index: number; id?: string; function: { name?: string; arguments: string } }

describe('the recorded model over HTTP', () => {
  let recording: Recording
  const ask = (messages: readonly WireMessage[], more: object = {}, headers: Record<string, string> = {}) =>
    fetch(`${recording.url}/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({
        model: 'gpt-4o',
        messages,
        stream: true,
        stream_options: { include_usage: true },
        ...more,
      }),
    })
  beforeAll(async () => {
    const [a, b] = [
      SCRIPT.with(3, { role: 'assistant', content: 'A' }),
      SCRIPT.with(3, { role: 'assistant', content: 'B' }),
    ]
    const opening = { role: 'user', content: 'same opening' } as const
    recording = await startRecording({
      transcripts: [...script('one'), ...script('a', [opening, ...a]), ...script('b', [opening, ...b])],
    })
  })
  afterAll(() => recording.stop())

  it('O1 text beside a call, its arguments and the usage arrive whole from small pieces', async () => {
    const seen = await read(await ask(until(1)))
    expect(seen).toMatchObject({ text: 'One moment 🛫', finish: 'tool_calls', done: true })
    expect(seen.calls).toEqual([{ id: 'c1', name: 'find', args: '{"a":1,"b":[1.0,"ü"]}' }])
    expect(seen.usage).toBeGreaterThan(0)
    const final = await read(await ask(until(3)))
    expect(final).toMatchObject({ text: SCRIPT[3]?.content, calls: [], finish: 'stop', done: true })
    expect((await read(await ask(until(3), { stream_options: null }))).usage).toBe(0)
  })

  it('O1 values count and spelling does not: key order, 150.0, other call ids, text parts, a quoted sentence', async () => {
    const respelled: WireMessage[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Grüße 👋, ' },
          { type: 'text', text: 'look it up' },
        ],
      },
      { role: 'assistant', content: 'One moment 🛫', tool_calls: [call('other', 'find', '{ "b":[1,"ü"], "a":1 }')] },
      { role: 'tool', tool_call_id: 'other', content: '{"seats":2,"price":150}' },
    ]
    expect((await ask(respelled)).status).toBe(200)
    const sentences = [SCRIPT[0], { role: 'assistant', content: null, tool_calls: [call('c', 'say', '{}')] }] as const
    const plain = { role: 'tool', tool_call_id: 'c', name: 'say', content: 'Transfer successful' } as const
    const index = indexHistories(
      script('s', [...(sentences as unknown as RecordedMessage[]), plain, { role: 'assistant', content: 'ok' }]),
    )
    const quoted = { ...plain, content: '"Transfer successful"' }
    expect(index.find([...(sentences as unknown as WireMessage[]), quoted]).kind).toBe('answer')
  })

  it.each<[string, (messages: WireMessage[]) => WireMessage[], string | null]>([
    [
      'another result',
      (m) => m.with(3, { role: 'tool', tool_call_id: 'c1', content: '{"price":151,"seats":2}' }),
      'tool',
    ],
    ['a result of no call', (m) => m.with(3, { ...SCRIPT[2], tool_call_id: 'c9' } as WireMessage), 'tool'],
    ['another user message', (m) => m.with(1, { role: 'user', content: 'hi' }), 'user'],
    ['a lost message', (m) => m.toSpliced(2, 1), 'tool'],
    ['a message twice', (m) => [...m, SCRIPT[2] as WireMessage], 'tool'],
    ['a call without its result', (m) => m.slice(0, 3), null],
  ])('O1 a history with %s is no recorded history: 409, not to be repeated', async (_, change, role) => {
    const reply = await ask(change(until(3)))
    expect(reply.status).toBe(409)
    expect(reply.headers.get('x-should-retry')).toBe('false')
    expect(await reply.json()).toMatchObject({ error: { code: 'history_differs' } })
    expect(recording.requests.at(-1)).toMatchObject({ kind: 'differs', role })
  })

  it('O1 where the recording stops the answer is 410, not an invented message', async () => {
    const reply = await ask(until(5))
    expect(reply.status).toBe(410)
    expect(await reply.json()).toMatchObject({ error: { code: 'recording_ended' } })
  })

  it('O1 equal histories with different answers need the name of the conversation', async () => {
    const shared = [{ role: 'user', content: 'same opening' }, ...SCRIPT.slice(0, 3)] as WireMessage[]
    expect(await (await ask(shared)).json()).toMatchObject({ error: { code: 'history_ambiguous' } })
    expect((await read(await ask(shared, {}, { 'X-Conversation': 'a' }))).text).toBe('A')
    expect((await read(await ask(shared, { user: 'b' }))).text).toBe('B')
    expect([recording.index.shared, recording.index.ambiguous]).toEqual([2, 1])
  })

  it('O1 the openai client reads the same, streamed and whole, and repeats no refusal', async () => {
    const client = new OpenAI({ baseURL: recording.url, apiKey: 'none' })
    const messages = until(1) as OpenAI.ChatCompletionMessageParam[]
    const whole = await client.chat.completions.create({ model: 'm', messages })
    expect(whole.choices[0]?.message).toMatchObject({ content: 'One moment 🛫', tool_calls: [{ id: 'c1' }] })
    const streamed = await client.chat.completions.stream({ model: 'm', messages }).finalMessage()
    expect(streamed.tool_calls?.[0]).toMatchObject({ id: 'c1', function: { arguments: '{"a":1,"b":[1.0,"ü"]}' } })
    const before = recording.requests.length
    const refused = client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
    await expect(refused).rejects.toMatchObject({ status: 409, code: 'history_differs' })
    expect(recording.requests.length).toBe(before + 1)
  })

  it('B6 what is not a chat request is refused', async () => {
    expect((await fetch(`${recording.url}/models`)).status).toBe(404)
    const broken = await fetch(`${recording.url}/chat/completions`, { method: 'POST', body: '{' })
    expect(broken.status).toBe(400)
  })
})

const present = hasAirlineData()
if (!present) console.log(`skipped: no recorded airline in ${AIRLINE_DATA}`)

describe.skipIf(!present)('the recorded conversations as a model', () => {
  let served: Served
  let conversations: readonly Conversation[]
  beforeAll(async () => {
    conversations = readConversations()
    served = await serveChild('./serve-recording.ts', [])
  })
  afterAll(() => served.stop())

  it('O1 no two recordings answer an equal history differently', () => {
    const index = indexHistories(conversations)
    expect([index.shared, index.ambiguous]).toEqual([2, 0])
  })

  it('O1 every recorded answer is found by its history, in a process of its own', async () => {
    let answers = 0
    for (const { id, messages } of conversations.slice(0, 12)) {
      for (const [at, message] of messages.entries()) {
        if (message.role !== 'assistant') continue
        const body = JSON.stringify({ messages: messages.slice(0, at), stream: true })
        const seen = await read(await fetch(`${served.url}/v1/chat/completions`, { method: 'POST', body }))
        expect([id, at, seen.text]).toEqual([id, at, message.content ?? ''])
        expect(seen.calls.map((one) => one.args)).toEqual(
          (message.tool_calls ?? []).map((one) => one.function.arguments),
        )
        answers++
      }
    }
    const requests = (await (await fetch(`${served.url}/requests`)).json()) as Recording['requests']
    expect(requests.filter((one) => one.kind === 'answer')).toHaveLength(answers)
  })

  it('O5 every result but those of the hand-overs stands in a later request', () => {
    const index = indexHistories(conversations)
    const requests = conversations.flatMap(({ id, messages }) =>
      [...messages.keys(), messages.length]
        .filter((at) => messages[at - 1]?.role === 'tool' && messages[at - 1] !== undefined)
        .filter((at) => !handedOver(messages[at - 1]))
        .map((at) => index.find(messages.slice(0, at), id)),
    )
    expect(requests.every(({ kind }) => kind === 'answer' || kind === 'ended')).toBe(true)
    const seen = requests.map((match) => ({ role: null, conversation: '', position: 0, ...match }))
    const results = resultsOf(conversations, seen)
    expect([results.equal, results.different, results.unseen.length]).toEqual([603, 0, 18])
  })
})

function handedOver(message: RecordedMessage | undefined): boolean {
  return message?.role === 'tool' && message.name === 'transfer_to_human_agents'
}
