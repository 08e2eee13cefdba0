/** The promises that `npm run crash` puts to the test, by their numbers in docs/design/recovery.md. */

interface Promised {
  readonly says: string
  /** What is done to it. */
  readonly how: string
}
const promised = (says: string, how: string): Promised => ({ says, how })

export const INVARIANTS = {
  1: promised(
    'exactly one external effect, where the provider has a key or can be asked',
    'killed at every place, with one worker and with two',
  ),
  2: promised(
    'at most one and never a silent one, where it has neither',
    'killed around the effect of a provider that nobody can ask',
  ),
  3: promised(
    'nothing is lost: every run comes to its end or asks a person, and its money is settled',
    'every run of every case',
  ),
  4: promised(
    'one writer per version: one chain, each event, message and result once',
    'every run, and eight workers that race',
  ),
  5: promised('who slept longer than its lease writes nothing', 'stopped for longer than the lease at every place'),
  6: promised('only the clock of the database counts for a lease', 'wall clocks an hour off, frozen and stepping back'),
  7: promised(
    'a restart of the database loses nothing that was acknowledged',
    'pg_ctl restart -m immediate at every place and under load',
  ),
  8: promised(
    'a commit whose reply was lost is found, and not made twice',
    'the connection cut between commit and reply',
  ),
  9: promised(
    'a refused serialization is repeated without calling anybody again',
    '40001 and 40P01 at each change of a run',
  ),
  10: promised(
    'a confirmation is used once, and the winner of a race is what happens',
    'fifty approvals over two server processes; against cancel, expiry and a newer message',
  ),
  11: promised(
    'a confirmation is good for its own bytes, person, tool, release and time only',
    'each binding changed in the request and in the row',
  ),
  12: promised(
    'a spent confirmation answers what was recorded, and never acts',
    'repeated at a new process after a kill',
  ),
  13: promised(
    'what was shown is what runs, and a resource that moved on asks anew',
    'ugly texts to the provider, and a change between plan and word',
  ),
  14: promised(
    'nothing starts after a cancel, and what had started is told',
    'canceled at every place, also before a kill',
  ),
  15: promised(
    'a client is never sent anything older than the newest it was told of',
    'a process killed while it speaks, reconnections to another, a stop, a newer message',
  ),
  16: promised('spent and reserved stay below the limit at every commit', 'every entry of every ledger'),
  17: promised(
    'every model ends within its budget, with the right reason',
    'planners that repeat, alternate, flood, and do anything',
  ),
  22: promised(
    'the outbox delivers at least once by id, in the order of the run',
    'a relay killed around its message, two beside each other, a message that always fails',
  ),
  24: promised(
    'who cannot be asked has not said yes: no effect',
    'authoriser, policy, store of confirmations, effects and money down or answering nonsense',
  ),
  25: promised('no value in a log, an event or an error', 'a canary in every argument, result and message'),
  26: promised(
    'one retry layer, which obeys Retry-After and its budget',
    'each failure of a model over HTTP, and of a read',
  ),
  27: promised('a polite stop goes off duty first, loses no run, and counts as no attempt', 'SIGTERM at every place'),
  32: promised(
    'one process per embedded store, and every acknowledged row survives a kill',
    'twenty kills of one folder',
  ),
} as const satisfies Record<number, Promised>

export type Invariant = keyof typeof INVARIANTS
