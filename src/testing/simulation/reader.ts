/**
 * Somebody who watches a run over a stream that breaks and is taken up again, on whichever server answers. He must see every
 * event once and in order, and no byte of an attempt that is older than the newest he was told of.
 */
import type { RunId } from '../../kernel/ids.ts'
import { Fault } from '../../kernel/fault.ts'
import type { StreamItem } from '../../stream/follow.shell.ts'
import { ABSENCE_MS } from './agents.ts'
import { ANN, type Known } from './people.ts'
import { CALM } from './scenario.ts'
import type { Server, World } from './world.ts'

export interface Reader {
  /** The run that is watched, once there is one, and the last event that came. */
  readonly seen: () => {
    readonly run: RunId | null
    readonly after: number
    readonly isOver: boolean
    readonly isThere: boolean
  }
}

/** A worker looks every two seconds for runs that nobody follows. */
const NOTICED_MS = 4_000

interface Watching {
  run: RunId | null
  after: number
  isOver: boolean
  /** The last step whose message is there. */
  planned: number
}

export function readerOf(world: World, known: Known): Reader {
  const { sched, chance, scenario, tables } = world
  const process = sched.process('reader')
  let isLeft = false
  const vanishes = scenario.vanishes && scenario.agent === 'minding'
  const watching: Watching = { run: null, after: 0, isOver: false, planned: 0 }
  const look = (): void => {
    watching.run ??= known.runs[0] ?? null
    if (watching.isOver) return
    const server = world.servers.length > 0 ? chance.pick(world.servers) : null
    if (!watching.run || !server) return void sched.after(process, 200, look, 'looks')
    const line = connect(world, watching, { run: watching.run, server })
    const mind = (): void => {
      if (watching.isOver) return
      if (vanishes && chance.yes(0.4)) return leave(line)
      const isCut = world.isStormy && chance.yes(0.15)
      if (isCut) line.hangUp()
      if (isCut || line.isBroken() || !server.process.isAlive) return look()
      sched.after(process, 500, mind, 'minds')
    }
    mind()
  }
  /** For good: the run goes on alone for as long as its agent allows. */
  function leave(line: Line): void {
    const run = tables.run.get(`acme/${watching.run ?? ''}`)
    line.hangUp()
    watching.isOver = true
    isLeft = true
    if (scenario.weather !== CALM || scenario.flips) return
    known.isGone = true
    const check = (): void => {
      if (run?.followed_until != null && run.cancel_cause === null && run.end_reason === null)
        world.broken('K2 nobody works for who has left', run.id)
    }
    sched.after(process, ABSENCE_MS + NOTICED_MS, check, 'would be noticed')
  }
  sched.spawn(process, 'begins', look)
  return { seen: () => ({ ...watching, isThere: !isLeft }) }
}

interface Line {
  hangUp(): void
  isBroken(): boolean
}

function connect(world: World, watching: Watching, { run, server }: { run: RunId; server: Server }): Line {
  const leaving = new AbortController()
  const judge = judgeLine(world, watching)
  let isBroken = false
  let isLeft = false
  const listen = async (): Promise<void> => {
    const request = { run, after: watching.after, operator: true, signal: leaving.signal }
    try {
      for await (const item of server.runtime.follow(ANN, request)) if (!isLeft) judge(item)
      if (!isLeft) watching.isOver = true
    } catch (error) {
      if (!Fault.is(error)) world.broken('no program error', `a stream threw ${String(error)}`)
      isBroken = true
    }
  }
  world.sched.spawn(server.process, 'stream', () => void listen())
  return {
    hangUp() {
      isLeft = true
      world.sched.spawn(server.process, 'hung up', () => leaving.abort())
    },
    isBroken: () => isBroken,
  }
}

/** One connection: what comes over it, in order. */
function judgeLine(world: World, watching: Watching): (item: StreamItem) => void {
  let attempt = 0
  let step = 0
  let text = ''
  return (item) => {
    if (item.kind === 'event') {
      if (item.seq !== watching.after + 1) world.broken('22 no gap in a stream', `${item.seq} after ${watching.after}`)
      watching.after = item.seq
      if (item.type === 'step_planned') watching.planned = Number(item.body['step'])
      return
    }
    if (item.after !== watching.after) world.broken('22 a place is the last event', `${item.after}`)
    if (item.step <= watching.planned) world.broken('15 no byte of a step that is over', `${item.step}`)
    if (item.kind === 'attempt_opened') {
      if (item.step < step || (item.step === step && item.attempt <= attempt))
        world.broken('15 no older attempt', `${item.attempt} after ${attempt}`)
      step = item.step
      attempt = item.attempt
      text = ''
      return
    }
    if (item.attempt !== attempt || item.step !== step) world.broken('15 no byte of another attempt', `${item.attempt}`)
    if (item.offset !== text.length) world.broken('15 no byte is lost or doubled', `${item.offset} of ${text.length}`)
    text += item.text
    const number = /^#(\d+)#/.exec(text)?.[1]
    if (number && !world.said.get(Number(number))?.startsWith(text))
      world.broken('15 no byte of another attempt', `${attempt}`)
  }
}
