/** The operations of memory, for `/openapi.json`. */
import { memoryBodies as bodies, memoryQueries } from './memory-schemas.ts'
import { get, type Operation, post } from './operation.ts'
import { bodies as common, queries } from './schemas.ts'

export const MEMORY_OPERATIONS: readonly Operation[] = [
  get('/v1/memories', 'memories', 'What is remembered of you and your groups, newest first', memoryQueries.memories),
  post('/v1/memories', 'memory_written', 'Have something remembered, in your own words', {
    body: bodies.remember,
    status: 201,
    once: true,
  }),
  get('/v1/memories/{id}', 'memory', 'One memory: value, scope, purpose, and until when'),
  {
    method: 'patch',
    path: '/v1/memories/{id}',
    answer: 'memory_written',
    summary: 'Correct a value',
    body: bodies.correction,
    ifMatch: 'required',
    once: true,
  },
  {
    method: 'delete',
    path: '/v1/memories/{id}',
    answer: 'deletion',
    summary: 'Forget it: hidden at once, and gone everywhere as the receipt says',
    status: 202,
  },
  get('/v1/memories/{id}/why', 'memory_why', 'Where it comes from, and which runs were given it'),
  get('/v1/memories/{id}/versions', 'memory_versions', 'What it was before, oldest first'),
  get('/v1/runs/{id}/memories', 'run_memories', 'What a run was given or not, and why'),
  get('/v1/memory-candidates', 'memory_candidates', 'What waits for your word, oldest first', queries.page),
  get('/v1/memory-candidates/{id}', 'memory_candidate', 'Exactly what will be remembered'),
  post('/v1/memory-candidates/{id}/accept', 'memory_written', 'Have exactly that remembered which `hash` covers', {
    body: bodies.acceptance,
    ifMatch: 'required',
    once: true,
  }),
  post('/v1/memory-candidates/{id}/decline', 'memory_declined', 'Do not have it remembered', {
    body: common.nothing,
    ifMatch: 'required',
    once: true,
  }),
  post('/v1/memory-facts', 'memory_written', 'Have what an authority says remembered, with `memory.authority`', {
    body: bodies.fact,
    status: 201,
  }),
  post('/v1/memory-facts/changed', 'facts_changed', 'A fact is another now: what repeats it is out of use at once', {
    body: bodies.factChanged,
  }),
  get('/v1/consents', 'consents', 'What you have said about purposes'),
  {
    method: 'put',
    path: '/v1/consents',
    answer: 'consent_set',
    summary: 'Grant or withdraw: what a withdrawn consent covers is used no more and forgotten',
    body: bodies.consent,
  },
  post('/v1/exports', 'export', 'Everything that is remembered of you, with its sources', { body: common.nothing }),
  post('/v1/deletions', 'deletion', 'Forget a memory, a message, a conversation, an artifact, or everything', {
    body: bodies.deletion,
    status: 202,
  }),
  get('/v1/deletions', 'deletions', 'What you had forgotten, newest first', queries.page),
  get('/v1/deletions/{id}', 'deletion', 'How far it is, copy by copy'),
  get('/v1/places/{place}/members', 'members', 'Who belongs to a group or a project, with `members.manage`'),
  { method: 'put', path: '/v1/places/{place}/members/{user}', summary: 'Join', status: 204 },
  {
    method: 'delete',
    path: '/v1/places/{place}/members/{user}',
    summary: 'Leave, from the next request on',
    status: 204,
  },
]
