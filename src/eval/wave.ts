/** Cases that wait for one another, so that one restart strikes all of them where they are held. */

/** Runs all, and `act` once, when each of them has asked for it or has ended. */
export async function wave<T>(
  cases: readonly T[],
  act: () => Promise<void>,
  run: (one: T, act: () => Promise<void>) => Promise<void>,
): Promise<void> {
  let missing = cases.length
  let begin: () => void = () => {}
  const all = new Promise<void>((resolve) => {
    begin = resolve
  })
  const done = all.then(act)
  const arrive = (): void => {
    missing -= 1
    if (missing === 0) begin()
  }
  await Promise.all(
    cases.map(async (one) => {
      let hasArrived = false
      const once = (): void => {
        if (!hasArrived) arrive()
        hasArrived = true
      }
      try {
        await run(one, () => {
          once()
          return done
        })
      } finally {
        once()
      }
    }),
  )
  await done
}
