import { describe, expect, it } from 'vitest'
import { nextOf } from './share.ts'

describe('the next free place', () => {
  const busy = { held: 5, turn: 1 }
  const small = { held: 2, turn: 9 }
  const none = { held: 0, turn: 12 }

  it('N4 is for who has the fewest, however long a busier tenant waits, and among equals for whose turn was longest ago', () => {
    expect(nextOf([busy, small], 3, 16)).toBe(small)
    expect(nextOf([busy, small, none], 3, 16)).toBe(none)
    expect(nextOf([busy, { held: 5, turn: 0 }], 3, 16)).toEqual({ held: 5, turn: 0 })
  })

  it('N4 is for nobody who has one already when it is the last of many, and for anybody when there are few', () => {
    expect(nextOf([busy, small], 1, 16)).toBeNull()
    expect(nextOf([busy, none], 1, 16)).toBe(none)
    expect(nextOf([small], 1, 3)).toBe(small)
    expect(nextOf([small, none], 0, 3)).toBeNull()
  })
})
