/** A certificate as a gesture: one more payment method of the user. */
import { type Answer, answered, refused } from './answer.ts'
import { numberText } from './python.ts'
import { methodOf, userOf, type World, withUser } from './world.ts'

const IDS = ['certificate_3221322', 'certificate_3221323', 'certificate_3221324']

export function sendCertificate(
  world: World,
  { user_id, amount }: { readonly user_id: string; readonly amount: number },
): Answer {
  const user = userOf(world, user_id)
  if (!user) return refused(world, 'Error: user not found')
  const id = IDS.find((candidate) => !methodOf(user, candidate))
  if (!id) return refused(world, 'Error: no certificate is left for this user')
  const payment_methods = { ...user.payment_methods, [id]: { source: 'certificate' as const, amount, id } }
  const sentence = `Certificate ${id} added to user ${user_id} with amount ${numberText(amount)}.`
  return answered(withUser(world, user_id, { ...user, payment_methods }), sentence)
}
