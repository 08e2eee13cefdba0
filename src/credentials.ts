/** The door `plimsoll/credentials`: secrets of tenants for tools, and accounts that end users connect themselves. */
export type { Credentials } from './tool/credentials.ts'
export type { OAuthProvider } from './tool/oauth.ts'
export { memoryTokens, oauthAccounts, type TokenStore } from './tool/oauth.shell.ts'
