/**
 * The rules of the house that a linter can see, apart from the typed ones. A later `no-restricted-syntax` replaces an
 * earlier one, so every class of file gets one whole list, built here.
 */

export const SLICES = [
  'request',
  'session',
  'run',
  'context',
  'model',
  'gate',
  'tool',
  'journal',
  'stream',
  'memory',
  'delegate',
]

/** Each evidence type and the one file that may mint it by a cast. */
export const MINTS = {
  Actor: 'src/request/actor.ts',
  Scope: 'src/request/actor.ts',
  Lease: 'src/journal/lease.store.ts',
  Reservation: 'src/run/budget.ts',
  Confirmation: 'src/gate/confirmation.store.ts',
  Permit: 'src/gate/decide.ts',
}

const PURE = `src/{kernel,${SLICES.join(',')}}/**/*.ts`
const NOT_PURE = ['**/*.store.ts', '**/*.shell.ts', '**/*.test.ts', '**/*.sql.ts']

/** The one pure file that stops a computation. */
const BOUNDED = 'src/tool/schema/bounded.ts'

/** Of node:crypto a pure file takes only what gives the same bytes each time. */
const HASHING = ['createHash', 'createHmac', 'hash', 'timingSafeEqual']

const pure = (selector, what) => ({
  selector,
  message: `${what} does not belong in a pure file: move it to a .shell.ts.`,
})

const PURITY = [
  pure('AwaitExpression', 'await'),
  pure('ForOfStatement[await=true]', 'for await'),
  pure(':function[async=true]', 'async'),
  pure('NewExpression[callee.name="Date"][arguments.length=0]', 'The clock'),
  pure('CallExpression[callee.name="Date"]', 'The clock'),
  pure('MemberExpression[object.name="Date"][property.name="now"]', 'The clock'),
  pure('MemberExpression[object.name="Math"][property.name="random"]', 'Randomness'),
  pure('NewExpression[callee.name="Promise"]', 'A promise'),
  pure('MemberExpression[object.name="Promise"]', 'A promise'),
]

const PURE_GLOBALS = [
  'process',
  'console',
  'fetch',
  'performance',
  'crypto',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
].map((name) => ({ name, message: `${name} does not belong in a pure file: move it to a .shell.ts.` }))

const SQL_TEXT =
  '/^\\s*(select\\s[\\s\\S]*\\sfrom\\s|select\\s+\\w+\\(|insert\\s+into\\s|update\\s+\\S+\\s+set\\s|delete\\s+from\\s|with\\s+\\w+\\s+as\\s*\\(|(create|alter|drop)\\s+(table|role|policy|index|schema|function)\\s|set\\s+(local\\s+)?role\\s)/i'
const SQL_PLACE = [`Literal[value=${SQL_TEXT}]`, `TemplateElement[value.raw=${SQL_TEXT}]`].map((selector) => ({
  selector,
  message: 'SQL stands in a .sql file beside its .store.ts, in migrations/ or in src/db/.',
}))

/** Casts and type predicates that would make one of `names` out of thin air. */
function minting(names) {
  const list = names.join('|')
  const places = [
    'TSAsExpression > TSTypeReference.typeAnnotation',
    'TSAsExpression > .typeAnnotation TSTypeReference',
    'TSTypeAssertion > TSTypeReference.typeAnnotation',
    'TSTypePredicate TSTypeReference',
  ]
  const message = `Evidence (${names.join(', ')}) is minted in one file only; pass on the value that you were given.`
  return places.flatMap((place) => [
    { selector: `${place}[typeName.name=/^(${list})$/]`, message },
    { selector: `${place}[typeName.right.name=/^(${list})$/]`, message },
  ])
}

const NEVER = {
  selector: 'TSAsExpression > TSNeverKeyword',
  message: '`as never` fits every type, evidence included: name the type.',
}

/** The whole list for a class of files that may mint `minted`. */
function syntax({ pureFile, sqlPlace, minted = [] }) {
  const others = Object.keys(MINTS).filter((name) => !minted.includes(name))
  return ['error', NEVER, ...minting(others), ...(pureFile ? PURITY : []), ...(sqlPlace ? [] : SQL_PLACE)]
}

const mintingFiles = [...new Set(Object.values(MINTS))].map((file) => ({
  files: [file],
  rules: {
    'no-restricted-syntax': syntax({
      pureFile: !file.endsWith('.store.ts'),
      sqlPlace: file.endsWith('.store.ts'),
      minted: Object.keys(MINTS).filter((name) => MINTS[name] === file),
    }),
  },
}))

export const house = [
  { files: ['src/**/*.ts'], rules: { 'no-restricted-syntax': syntax({ pureFile: false, sqlPlace: false }) } },
  {
    files: ['src/**/*.store.ts', 'src/db/**/*.ts'],
    rules: { 'no-restricted-syntax': syntax({ pureFile: false, sqlPlace: true }) },
  },
  {
    files: [PURE],
    ignores: NOT_PURE,
    rules: {
      'no-restricted-syntax': syntax({ pureFile: true, sqlPlace: false }),
      'no-restricted-globals': ['error', ...PURE_GLOBALS],
      'no-restricted-imports': [
        'error',
        {
          paths: [
            ...['node:crypto', 'crypto'].map((name) => ({
              name,
              allowImportNames: HASHING,
              message: 'Of node:crypto a pure file takes only hashing.',
            })),
            ...['node:vm', 'vm'].map((name) => ({
              name,
              message: `What takes too long is stopped by ${BOUNDED}.`,
            })),
          ],
        },
      ],
    },
  },
  { files: [BOUNDED], rules: { 'no-restricted-imports': 'off' } },
  ...mintingFiles,
  {
    files: ['**/*.ts'],
    rules: {
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'max-depth': ['error', 3],
      'max-params': ['warn', 4],
      'max-lines-per-function': ['warn', { max: 60, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: ['**/*.test.ts', 'test/**/*.ts'],
    rules: {
      'no-restricted-syntax': 'off',
      'max-lines': ['error', { max: 500, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': 'off',
    },
  },
]
