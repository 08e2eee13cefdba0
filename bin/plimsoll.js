#!/usr/bin/env node
// A clone runs its sources, an installed package what was built of them: `npx plimsoll` works in both.
import { existsSync } from 'node:fs'

const sources = new URL('../src/cli/main.ts', import.meta.url)
if (existsSync(sources)) {
  const { register } = await import('tsx/esm/api')
  register()
  await import(sources.href)
} else {
  await import('../dist/cli/main.js')
}
