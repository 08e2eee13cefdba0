import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts', 'tools/**/*.test.ts'],
    globalSetup: ['test/setup/postgres.ts'],
    // an embedded store takes up to 700 MB and a whole core while it starts, which takes 4 to 9 s
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
