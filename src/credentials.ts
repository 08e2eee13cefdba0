/** The door `plimsoll/credentials`: secrets of tenants for tools, and accounts that end users connect themselves. */
export type { Credentials } from './tool/credential/credentials.ts'
export type { OAuthProvider } from './tool/credential/oauth.ts'
export { memoryTokens, oauthAccounts, type TokenStore } from './tool/credential/oauth.shell.ts'
