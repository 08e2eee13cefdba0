import { expect, inject, it } from 'vitest'
import { openGround } from './ground.ts'
import { runCrashCase } from '../../src/eval/crash-case.ts'
it.skipIf(!inject('postgres'))('J5 debug', async () => {
  const g = await openGround()
  console.log(await runCrashCase(g, { mode: 'keyed', victims: [] }))
  console.log(await g.database.admin("select tool, status, outcome, error_code, encode(substr(result,2),'escape') r, encode(substr(arguments,2),'escape') a from plimsoll.effect"))
  await g.close()
})
