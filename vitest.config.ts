import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  // as tsconfig.json says: an example imports the package by its name
  resolve: {
    alias: [
      { find: /^plimsoll$/, replacement: fileURLToPath(new URL('src/index.ts', import.meta.url)) },
      { find: /^plimsoll\/testing$/, replacement: fileURLToPath(new URL('src/testing/index.ts', import.meta.url)) },
    ],
  },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts', 'tools/**/*.test.ts'],
    globalSetup: ['test/setup/postgres.ts'],
    // an embedded store takes up to 700 MB and a whole core while it starts, which takes 4 to 9 s
    maxWorkers: 2,
    // no module of ours keeps anything that a test could see, and to import them again for each file is half of its time
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
