/** The arrows of the house. Tests stand outside: they may look at everything. */
const SLICES = 'request|session|run|context|model|gate|tool|journal|stream|memory|delegate'
const IN_SLICE = `^src/(${SLICES})/`
const TEST = '\\.test\\.ts$'
const WORLD = '\\.(store|shell|sql)\\.ts$'
/** How a definition is judged: its schemas, and what is said of its faults. See docs/decisions/2026-12-01-definitions-are-shared.md. */
const DEFINITIONS = '^src/tool/(schema/(standard|schema)|problem)\\.ts$'
const PURE = { path: `^src/(kernel|${SLICES})/`, pathNot: [WORLD, TEST] }

/** Packages that compute and do nothing else, see docs/decisions/2026-11-30-packages-of-pure-files.md. */
const PURE_PACKAGES = 'node_modules/(zod|ajv|ajv-formats|tokenx|yaml|ipaddr\\.js)/|^(node:)?(crypto|vm)$'

/** Matches runtime imports only. */
const atRunTime = { dependencyTypesNot: ['type-only'] }
const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to })

module.exports = {
  forbidden: [
    forbid('no-cycles', 'Nothing imports itself, not even through types.', {}, { circular: true }),
    forbid('resolvable', 'An import must exist.', {}, { couldNotResolve: true }),
    forbid(
      'kernel-is-bottom',
      'The kernel imports nothing of ours.',
      { path: '^src/kernel/', pathNot: TEST },
      { path: '^src/', pathNot: '^src/kernel/' },
    ),
    forbid('pure-stays-pure', 'A pure file does not import the world.', PURE, {
      path: [WORLD, '^src/db/'],
      ...atRunTime,
    }),
    forbid('pure-packages', 'A pure file uses only packages that compute.', PURE, {
      dependencyTypes: ['core', 'npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-no-pkg', 'npm-unknown'],
      pathNot: PURE_PACKAGES,
      ...atRunTime,
    }),
    forbid(
      'drivers-only-in-db',
      'Only src/db knows a driver.',
      { path: '^src/', pathNot: ['^src/db/', TEST] },
      { path: 'node_modules/(@types/pg|pg|pg-[a-z]+|ioredis|@electric-sql)/' },
    ),
    forbid(
      'slices-meet-in-run',
      'A slice takes types and definitions from another slice; only src/run and src/runtime.ts call several.',
      { path: `^src/(?!run/)(${SLICES})/`, pathNot: TEST },
      { path: IN_SLICE, pathNot: ['^src/$1/', DEFINITIONS], ...atRunTime },
    ),
    forbid(
      'edge-is-above',
      'Kernel, store and slices do not know who calls them.',
      { path: `^src/(kernel|db|${SLICES})/`, pathNot: TEST },
      { path: '^src/(http|cli|console|eval|runtime\\.ts|index\\.ts)' },
    ),
    forbid(
      'http-to-runtime',
      'The HTTP planes talk to the runtime only.',
      { path: '^(src/http|src/console|console)/', pathNot: TEST },
      { path: '^src/', pathNot: ['^src/(http|kernel|console)/', '^src/runtime\\.ts$'], ...atRunTime },
    ),
    forbid(
      'cli-to-runtime',
      'Commands talk to the runtime, and start the other edges.',
      { path: '^src/cli/', pathNot: TEST },
      {
        path: '^src/',
        pathNot: [
          '^src/(cli|kernel|http|eval|testing)/',
          '^src/(runtime|index|keys|mcp|objects|credentials|sinks)\\.ts$',
        ],
        ...atRunTime,
      },
    ),
    forbid(
      'testing-stays-out',
      'The product does not run on test parts.',
      { path: '^src/', pathNot: ['^src/(testing|cli|eval)/', TEST] },
      { path: '^src/testing/' },
    ),
    forbid(
      'src-stands-alone',
      'What is shipped imports nothing that is not.',
      { path: '^src/', pathNot: TEST },
      { path: '^(test|tools|bench|examples|console)/' },
    ),
    forbid(
      'no-dev-packages',
      'What is shipped runs without dev dependencies.',
      { path: '^src/', pathNot: TEST },
      { dependencyTypes: ['npm-dev'], pathNot: 'node_modules/@types/', ...atRunTime },
    ),
  ],
  options: {
    tsPreCompilationDeps: 'specify',
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/' },
  },
}
