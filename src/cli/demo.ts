/** `plimsoll demo`: a tour that attacks itself, over real HTTP, with a server that is really killed. */
import { EXIT } from '../kernel/fault.ts'
import { type Act, ACTS, type Scene, type Seen } from './demo-acts.ts'
import { openStage } from './demo-stage.ts'
import { failure, type Output } from './output.ts'

export async function demo(out: Output): Promise<number> {
  out.show(
    'A support agent with a refund tool, a scripted model and a provider that keeps its own file. No key, no account.',
    '',
  )
  const stage = await openStage()
  const firstSeconds = process.uptime()
  const checks: (Seen & { readonly name: string })[] = []
  const tell = (name: string, seen: Seen): void => {
    checks.push({ name, ...seen })
    out.show(`${seen.holds ? 'holds ' : 'BROKEN'}  ${name}`, `        ${seen.proof}`)
  }
  try {
    const scene: Scene = { stage, ann: await stage.user('ann'), bob: await stage.user('bob'), props: new Map() }
    for (const act of ACTS) tell(act.name, await played(act, scene))
    const keys = stage.charges().map((r) => r.key)
    const isOnce = new Set(keys).size === keys.length && keys.length === 3
    tell('At the end the provider has three charges, for the three that were approved', {
      holds: isOnce,
      proof: `${keys.length} lines, ${new Set(keys).size} keys`,
    })
  } finally {
    const how = await stage.close()
    tell('The server stops politely', { holds: how === 0, proof: `exit ${how}` })
  }
  return told(checks, firstSeconds, out)
}

const played = (act: Act, scene: Scene): Promise<Seen> =>
  act.play(scene).catch((error: unknown) => ({ holds: false, proof: failure(error).line }))

function told(checks: readonly (Seen & { readonly name: string })[], started: number, out: Output): number {
  const failed = checks.filter((c) => !c.holds).length
  const round = (seconds: number): number => Math.round(seconds * 10) / 10
  const seconds = round(process.uptime())
  out.show(
    '',
    failed === 0
      ? `All ${checks.length} hold, after ${seconds} s (the server took ${round(started)} s).`
      : `${failed} of ${checks.length} are broken.`,
    'Yours:        npx plimsoll start my-agent.js',
    "Your model:   model: openAICompatible({ baseUrl: 'https://…/v1', model: '…', apiKey: process.env.MODEL_KEY })",
    'PostgreSQL:   npx plimsoll migrate --db postgresql://… && npx plimsoll start my-agent.js --db postgresql://…',
  )
  out.result({ passed: checks.length - failed, failed, seconds, startSeconds: round(started), checks })
  return failed === 0 ? EXIT.ok : EXIT.failure
}
