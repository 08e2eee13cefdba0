import { main } from './program.ts'

const exit = await main(process.argv.slice(2))
// a socket that is kept alive must not keep a finished command; what was written goes out first
process.stdout.write('', () => process.stderr.write('', () => process.exit(exit)))
