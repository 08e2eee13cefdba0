/**
 * The composition root: the one file that knows every part. Nothing is decided here.
 */
import { EXPORTS, QUOTA, type RuntimeOptions, warn, warnOfTool } from './runtime-options.ts'
import type { Db } from './db/port.ts'
import { storeReady } from './db/ready.ts'
import { keyedDb, openKeyring, WHOLE_TENANT } from './db/keyring.ts'
import { type ContentKeys, plainSealer } from './db/seal.ts'
import { rewrapAll } from './db/storekeys.ts'
import { type ConfirmationStore, confirmationStore } from './gate/confirmation.store.ts'
import type { ConfirmationView } from './gate/confirmation.ts'
import { type EffectStore, effectStore } from './journal/effect.store.ts'
import { endpointStore } from './journal/endpoint.store.ts'
import { type Endpoints, endpointsOf } from './journal/endpoints.shell.ts'
import { outboxStore } from './journal/outbox.store.ts'
import { startRelay } from './journal/relay.shell.ts'
import { type Retention, retentionOf, startSweeping } from './journal/retention.shell.ts'
import { restoreWriter, startLogging } from './journal/restorelog.shell.ts'
import { restoreStore } from './journal/restorelog.store.ts'
import { BLANK, BLANK_PLAN } from './journal/retention.ts'
import { retentionStore } from './journal/retention.store.ts'
import { type Tenants, tenantsOf } from './journal/tenants.shell.ts'
import { tenantStore } from './journal/tenants.store.ts'
import { sinksOf } from './journal/sink.ts'
import { openBulkheads } from './kernel/bulkhead.shell.ts'
import type { Clock } from './kernel/clock.ts'
import { noFaults } from './kernel/faultpoint.ts'
import { Fault, type FaultCode } from './kernel/fault.ts'
import type { Ids, RunId, SessionId } from './kernel/ids.ts'
import type { Random } from './kernel/random.ts'
import type { Actor } from './kernel/scope.ts'
import { systemClock, systemIds, systemRandom } from './kernel/system.shell.ts'
import { actorFrom, scopeOf, systemOf } from './request/actor.ts'
import { type CredentialStore, credentialStore, type NewKey } from './request/credential.store.ts'
import { type Caller, type Door, type MadeKey, makeKey, openDoor } from './request/door.shell.ts'
import { type Once, once, type OnceRequest, type Performed } from './request/idempotency.shell.ts'
import { idempotencyStore } from './request/idempotency.store.ts'
import type { Centre } from './memory/centre.shell.ts'
import { together } from './memory/key.ts'
import { scan } from './memory/detect/scan.ts'
import { extractStore } from './memory/extract.store.ts'
import { memoryOf } from './memory/memory.shell.ts'
import type { Procedures } from './memory/procedures.shell.ts'
import { attended } from './run/attend.shell.ts'
import { type Absence, type Agent, withTool } from './run/agent.ts'
import { backgroundOf, errandAgentsOf } from './run/background.shell.ts'
import { type ErrandCount, errandStore } from './run/errand.store.ts'
import { cancelRun, type DecideRequest, decideConfirmation } from './run/decide.shell.ts'
import { type ContextView, explainContext } from './run/explain.shell.ts'
import { openFactors } from './run/factors.shell.ts'
import { firstGiven, proposing, recollect, stillRemembered } from './run/recollect.shell.ts'
import { rememberTool } from './run/remember-tool.shell.ts'
import { type Reads, readsOf } from './run/reads.shell.ts'
import { download } from './run/artifacts.shell.ts'
import type { ToolServices } from './run/services.shell.ts'
import type { CancelCause } from './run/reasons.ts'
import { type EffectPlace, type Resolution, resolveEffect } from './run/resolve.shell.ts'
import { type RunStore, runStore } from './run/run.store.ts'
import { type SummaryCount, summaryStore } from './context/summary.store.ts'
import { tokensOf } from './context/tokens.ts'
import type { Run } from './run/state.ts'
import { type SubmitRequest, type SubmitResult, submitMessage } from './run/submit.shell.ts'
import { closeConversation, openConversation } from './run/talk.shell.ts'
import { tellSignal } from './run/tell.shell.ts'
import { viewStore } from './run/view.store.ts'
import { startWorker, type Worker, type WorkerOptions } from './run/worker.shell.ts'
import { sessionStore } from './session/session.store.ts'
import { type Deltas, deltas } from './stream/deltas.shell.ts'
import { type EventStore, eventStore } from './stream/event.store.ts'
import { type EventItem, eventsAfter, follow, type FollowRequest, type StreamItem } from './stream/follow.shell.ts'
import { type Hub, hub } from './stream/hub.ts'
import { artifactStore, type ArtifactView } from './tool/result/artifact.store.ts'
import type { ByteRange } from './tool/result/objects.ts'
import { removeObject } from './tool/result/objects.shell.ts'
import { folders, sweepFolders } from './tool/sandbox/sandbox.shell.ts'
import { terminated } from './tool/sandbox/sandbox.store.ts'
import { repeated } from './tool/repeated.shell.ts'
import { sweepObjects } from './tool/result/sweep.shell.ts'
import { type Egress, openEgress } from './tool/egress/egress.shell.ts'
import { rateStore } from './tool/rate.store.ts'

export { HEARTBEAT_MS, LEASE_MS } from './run/worker.shell.ts'

export type { RuntimeOptions }

export interface Runtime {
  readonly db: Db
  readonly agents: ReadonlyMap<string, Agent>
  readonly hub: Hub
  /** The way out: addresses of the public internet alone. */
  readonly egress: Egress
  readonly sealer: ContentKeys
  readonly clock: Clock
  readonly ids: Ids
  readonly random: Random
  readonly runs: RunStore
  readonly effects: EffectStore
  readonly confirmations: ConfirmationStore
  readonly credentials: CredentialStore
  readonly events: EventStore
  readonly deltas: Deltas
  /** Webhooks of a tenant, for its operators. */
  readonly endpoints: Endpoints
  /** How long what finished runs have left is kept. */
  readonly retention: Retention
  /** What a caller may look at. */
  readonly reads: Reads
  /** What people do with what is remembered of them. */
  readonly memory: Centre
  /** What operators make rules of, from what was experienced. */
  readonly procedures: Procedures
  /** How long backups are kept, and with them what was forgotten; null when nobody has said. */
  readonly backupDays: number | null
  /** Who is there; `secret` signs tokens and cursors, and is the same in all processes of one installation. */
  door(secret: string): Door
  createKey(key: NewKey): Promise<MadeKey>
  /** Does a request with an idempotency key once. */
  once(
    caller: Caller,
    request: Omit<OnceRequest, 'caller'>,
    perform: (claim: { readonly taken: boolean }) => Promise<Performed>,
    stored?: readonly FaultCode[],
  ): Promise<Once>
  /** Follows a run that the caller may read; see `reads.run`. */
  follow(actor: Actor, request: FollowRequest): AsyncGenerator<StreamItem>
  /** Durable events of a run that the caller may read, with the answers they committed. */
  eventsAfter(
    actor: Actor,
    run: RunId,
    page: { readonly after: number; readonly limit: number },
  ): Promise<readonly EventItem[]>
  /** Null when the store answers and its schema is ours. */
  ready(): Promise<'unreachable' | 'schema' | null>
  openConversation(actor: Actor, agent: string): Promise<SessionId>
  closeConversation(actor: Actor, session: SessionId, version: number | null): Promise<number>
  submit(actor: Actor, request: SubmitRequest): Promise<SubmitResult>
  decide(actor: Actor, request: DecideRequest): Promise<ConfirmationView>
  cancel(actor: Actor, run: RunId, cause: CancelCause, version: number | null): Promise<Run>
  /**
   * Tells the runs that wait for a signal, now or later; see `later`. The same body may be told again.
   * @throws Fault `permission_denied` without the permission `signals.tell` · `already_signaled` for another body
   */
  signal(actor: Actor, signal: string, body: unknown): Promise<void>
  /** Effects of which nobody knows whether they happened. @throws Fault `permission_denied` for all but operators. */
  unknownEffects(actor: Actor, limit: number): ReturnType<EffectStore['unknown']>
  /** Says what became of one, and why that is known; the audit row is written with it. */
  resolve(actor: Actor, at: EffectPlace, said: Resolution): Promise<Run>
  /** The bytes of an artifact that `reads.artifact` has shown, as fast as they are taken; an audit row says so. */
  download(actor: Actor, artifact: ArtifactView, range: ByteRange): Promise<AsyncIterable<Uint8Array>>
  /** Removes objects and folders that nobody needs any more. Workers do so every hour. */
  sweep(): Promise<{ readonly objects: number; readonly folders: number }>
  /** Keys and ends of whole tenants, and what is told to a backup that was put back. */
  readonly tenants: Tenants
  /** Why the context of a step of a run is as it is; `step` null: the last. See `explainContext`. */
  context(actor: Actor, run: RunId, step: number | null): Promise<ContextView>
  /** What became of the summaries of a tenant, by model and prompt. @throws Fault `permission_denied` for all but operators */
  summaries(actor: Actor): Promise<readonly SummaryCount[]>
  /** What became of the errands of a tenant, by agent, kind and outcome. @throws Fault `permission_denied` for all but operators */
  errands(actor: Actor): Promise<readonly ErrandCount[]>
  /** Starts a worker in this process. */
  work(options?: Omit<WorkerOptions, 'db' | 'driving' | 'beside'>): Promise<Worker>
}

export function createRuntime(options: RuntimeOptions): Runtime {
  const clock = options.clock ?? systemClock
  const ids = options.ids ?? systemIds
  const random = options.random ?? systemRandom
  const { keys, refusePlain = false, embedder = null } = options
  const ring = keys ? openKeyring({ db: options.db, keys, clock, random, refusePlain }) : null
  const sealer = ring ?? plainSealer
  const db = ring ? keyedDb(options.db, ring) : options.db
  const bulkheads = openBulkheads(clock)
  const factors = openFactors()
  const wake = () => {
    for (const worker of workers) worker.wake()
  }
  let complain: (error: unknown) => void = warn
  const egress = openEgress({ clock, local: options.developmentOrigins ?? [] })
  const runs = runStore(db, sealer)
  const effects = effectStore(db, sealer)
  const rates = rateStore(db)
  const confirmations = confirmationStore(db, sealer)
  const workers = new Set<Worker>()
  const listeners = hub()
  const credentials = credentialStore(db)
  const idempotency = idempotencyStore(db, sealer)
  const sessions = sessionStore(db, sealer)
  const events = eventStore(db, sealer)
  const spoken = deltas({ events, hub: listeners, clock })
  const artifacts = artifactStore(db, sealer)
  const { objects } = options
  const keeping = objects ? { objects, sealer, ids, artifacts } : null
  const here = options.folders === undefined ? null : folders({ root: options.folders, kept: keeping })
  const { credentials: vault = null, onToolError = warnOfTool } = options
  const services: ToolServices = { keeping, credentials: vault, folders: here, onToolError }
  const fault = options.fault ?? noFaults
  const reads = readsOf({ sessions, views: viewStore(db, sealer), confirmations, artifacts })
  const endpoints = endpointsOf({ endpoints: endpointStore(db, sealer), egress, clock, ids, random, scopeOf })
  const messagesGone = (scope: Pick<Actor, 'tenant' | 'environment'>) => background.forget(scope, null)
  const retaining = { retention: retentionStore(db, sealer), messagesGone, ids, clock, scopeOf }
  const relaying = { outbox: outboxStore(db, sealer), egress, sinks: sinksOf(options.sinks ?? []), clock, ids, random }
  const log = options.restoreLog ?? null
  const restoring = log && { restores: restoreStore(db), log, clock, random }
  const writer = restoring && restoreWriter(restoring)
  const registered = options.agents.flatMap((a) => a.memory?.keys ?? [])
  const registry = together(registered)
  const zoneOf = options.zoneOf ?? (() => 'UTC')
  async function endRun(scope: Pick<Actor, 'tenant' | 'environment'>, run: RunId): Promise<void> {
    await cancelRun(outside, systemOf(scope), run, 'operator', null)
    for (const worker of workers) worker.cancel(run)
  }
  const asking = { authorities: options.authorities ?? {}, clock }
  const uses = (actor: Actor, run: RunId) => memory.memories.usesOfRun(scopeOf(actor), run)
  const memory = memoryOf({
    registry,
    zoneOf: (actor) => zoneOf(actor.subject),
    quota: options.quota ?? QUOTA,
    consolidators: options.consolidators ?? {},
    embedder,
    systemOf,
    asking,
    evaluators: options.evaluators ?? {},
    about: (actor, subject) => actorFrom({ ...actor, subject }),
    outdated: async (scope, memories) =>
      void (await background.forget(scope, { memories, messages: [], sessions: [] })),
    icu: process.versions.icu ?? '',
    db,
    keys: sealer,
    ids,
    clock,
    scopeOf,
    withSource: registry.keys.filter((key) => key.deletion === 'with_source').map((key) => key.name),
    blank: { arguments: BLANK, plan: BLANK_PLAN },
    tokensOf,
    close: async (scope, session) => void (await sessions.close(scopeOf(systemOf(scope)), session as SessionId, null)),
    cancel: endRun,
    subjectOf: async (actor, session) => (await reads.conversation(actor, session)).subject,
    mustSeeRun: (actor, run) => reads.run(actor, run),
    mayExport: (scope, subject) => rates.take(scope, `memory.export:${subject}`, EXPORTS),
    removeObject: (key) => removeObject(objects, key),
    others: { summaries: (scope, deletion) => background.forget(scope, deletion) },
  })
  const tenants = tenantsOf({
    tenants: tenantStore(db, WHOLE_TENANT),
    ring,
    rewrap: (of) => rewrapAll(options.db, of, keys?.id ?? ''),
    restoring,
    writer,
    clock,
    ids,
    backupDays: options.backupDays ?? null,
  })
  const recollecting = { first: firstGiven(), memory, asking, ids, embedder, clock, zoneOf, onError: warn }
  const agents: ReadonlyMap<string, Agent> = new Map(
    options.agents.map((a) => {
      const tool = a.memory && rememberTool(a.memory.keys, proposing(recollecting, a))
      return [a.name, tool ? withTool(a, tool) : a]
    }),
  )
  /** They do what conversations leave behind, and are nobody's to talk to. */
  const errandAgents = errandAgentsOf(options.agents)
  const allAgents: ReadonlyMap<string, Agent> = new Map([...agents, ...errandAgents])
  const background = backgroundOf({
    store: errandStore(db, sealer),
    summaries: summaryStore(db, sealer),
    extracting: {
      store: extractStore(db, sealer),
      remembering: memory.remembering,
      candidates: memory.candidates,
      zoneOf,
    },
    sessions,
    runs,
    agents: errandAgents,
    served: agents,
    ids,
    clock,
    random,
    fault,
    scan: (text) => scan(text).map((found) => found.class),
    blank: { arguments: BLANK, plan: BLANK_PLAN },
    cancel: endRun,
    submitted: wake,
    onError: (error) => complain(error),
  })
  const talking = { runs, sessions, ids, agents, reads }
  const outside = { runs, effects, confirmations, sealer, ids, clock, egress, agents: allAgents, services, fault }
  const replaces = options.agents.some((a) => a.onMessage === 'replace')
  const minds = options.agents.some((a) => a.absence !== null)
  const absenceOf = async (actor: Actor, run: RunId): Promise<Absence | null> =>
    agents.get((await reads.run(actor, run)).agent)?.absence ?? null
  const sweep = async () => ({
    objects: keeping ? await sweepObjects({ ...keeping, clock, onError: complain }) : 0,
    folders: here ? await sweepFolders(here, (walls, session) => terminated(db, walls, session), complain) : 0,
  })

  return {
    db,
    agents,
    hub: listeners,
    egress,
    sealer,
    clock,
    ids,
    random,
    runs,
    effects,
    confirmations,
    credentials,
    events,
    deltas: spoken,
    endpoints,
    retention: retentionOf(retaining),
    reads,
    memory: memory.centre,
    procedures: memory.procedures,
    backupDays: options.backupDays ?? null,
    door: (secret) => openDoor({ credentials, clock, random }, secret),
    createKey: (key) => makeKey({ credentials, clock, random, ids }, key),
    once: (caller, request, perform, stored) =>
      once({ idempotency, random }, scopeOf(caller.actor), { ...request, caller: caller.id }, perform, stored),
    async *follow(actor, request) {
      const followed = follow({ events, hub: listeners, deltas: spoken, clock }, scopeOf(actor), request)
      const absence = minds ? await absenceOf(actor, request.run as RunId) : null
      yield* absence === null
        ? followed
        : attended({ runs, clock }, scopeOf(actor), { run: request.run, absence }, followed)
    },
    eventsAfter: (actor, run, page) => eventsAfter(events, scopeOf(actor), { ...page, run, operator: false }),
    ready: () => storeReady(db),
    openConversation: (actor, agent) => openConversation(talking, actor, agent),
    async closeConversation(actor, session, version) {
      const closed = await closeConversation(talking, actor, session, version)
      const { tenant, environment } = actor
      // at once where nothing works any more; the sweep takes what is left
      if (here && (await terminated(db, actor, [session])).length > 0)
        await here.remove({ tenant, environment, session }).catch(() => {})
      return closed
    },
    async submit(actor, request) {
      // the first thing that is done with an actor may be to seal what it says
      await ring?.ready(actor.tenant)
      const done = await submitMessage({ ...outside, agents }, actor, request)
      wake()
      if (replaces) for (const worker of workers) worker.recheck()
      return done
    },
    async decide(actor, request) {
      const done = await decideConfirmation(outside, actor, request)
      listeners.notify(done.run)
      wake()
      return done
    },
    async cancel(actor, run, cause, version) {
      const done = await cancelRun(outside, actor, run, cause, version)
      for (const worker of workers) worker.cancel(run)
      listeners.notify(run)
      wake()
      return done
    },
    async signal(actor, signal, body) {
      await ring?.ready(actor.tenant)
      await tellSignal({ runs }, actor, signal, body)
      wake()
    },
    async unknownEffects(actor, limit) {
      if (actor.kind !== 'operator') throw new Fault('permission_denied')
      return effects.unknown(scopeOf(actor), limit)
    },
    async resolve(actor, at, said) {
      const done = await resolveEffect(outside, actor, at, said)
      listeners.notify(at.run)
      wake()
      return done
    },
    download: (actor, artifact, range) => download({ ids, artifacts, fetching: keeping }, actor, artifact, range),
    context: (actor, run, step) => explainContext({ runs, reads, agents: allAgents, sealer, uses }, actor, run, step),
    summaries: (actor) => background.report(actor),
    errands: (actor) => background.errands(actor),
    sweep,
    tenants,
    async work(how = {}) {
      if (restoring) await tenants.restore()
      const onError = (error: unknown) => (how.onError ? how.onError(error, null) : warn(error))
      complain = onError
      const worker = await startWorker({
        ...how,
        db,
        beside(id, everyMs) {
          const all = [startRelay({ ...relaying, fault, onError }, id, everyMs), startSweeping(retaining, onError)]
          all.push(memory.forgetting(everyMs, onError), memory.keeping(everyMs, onError))
          if (errandAgents.size > 0) all.push(background.start(everyMs))
          if (writer) all.push(startLogging(writer, clock, onError))
          return { stop: async () => void (await Promise.all(all.map((one) => one.stop()))) }
        },
        driving: {
          agents: allAgents,
          runs,
          effects,
          rates,
          sealer,
          clock,
          bulkheads,
          factors,
          egress,
          ids,
          random,
          fault,
          authorize: options.authorize ?? (() => true),
          services,
          recollect: (run, agent, signal) => recollect(recollecting, run, agent, signal),
          stillRemembered: stillRemembered(recollecting),
          delta: (run, attempt, part) => {
            if (part.kind === 'text') spoken.said(run, attempt, part.delta)
          },
          committed(run) {
            background.moved(run)
            spoken.committed(run)
            listeners.notify(run.key.run)
            try {
              options.observe?.(run)
            } catch {
              // the run is committed: whoever only looks on does not fail it
            }
          },
        },
      })
      workers.add(worker)
      const rest = keeping || here ? repeated(clock, sweep, onError) : () => {}
      const stop = () => {
        rest()
        return worker.stop().finally(() => workers.delete(worker))
      }
      return { ...worker, stop }
    },
  }
}
