/** The door `plimsoll/keys`: who wraps the keys of tenants, and what is kept for a backup that is put back. */
export { addToKeyFile, type KeyFile, openKeyFile } from './db/keyfile.ts'
export type { KeyProvider, WrappedKey } from './db/keyprovider.ts'
export { keyFileOf } from './db/storekeys.ts'
export { restoreFolder } from './journal/restorelog.shell.ts'
export type { RestoreLog } from './journal/restorelog.ts'
