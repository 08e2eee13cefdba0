import fc from 'fast-check'
import { expect, it } from 'vitest'
import { neutral } from './recollect.shell.ts'

const piece = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '<',
    '>',
    '</memory>',
    '\n',
    '\r\n',
    '\u2028',
    '\u0000',
    '\u200b',
    '```',
    '[INST]',
    '[/INST]',
    '[system]',
    '[User]',
    '  ',
  ),
)

it('F4 of no text that is remembered anything is left that ends its line, its block or its role', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = neutral(pieces.join(''))
      expect(text).not.toMatch(/[<>\p{Cc}\p{Zl}\p{Zp}]|`{3}|\[\/?(?:INST|SYS|system|assistant|user)\]| {2}/iu)
    }),
    { numRuns: 2_000 },
  )
})
