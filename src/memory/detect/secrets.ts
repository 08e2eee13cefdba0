/** Keys and tokens by their shape, by an address that carries them, and by what looks random beside a word for a key (E5). */
import type { Rule } from './finding.ts'
import { entropy, isIdentifier } from './random-looking.ts'

const secret = (name: string, pattern: RegExp, test?: Rule['test']): Rule => ({
  name: `secret.${name}`,
  class: 'secret',
  pattern,
  ...(test && { test }),
})

/** Prefixes of vendors, with the least that follows them. A prefix alone, or in prose, is none. */
const SHAPES: readonly (readonly [string, RegExp])[] = [
  ['github', /\bgh[oprsu]_[A-Za-z0-9]{30,255}/g],
  ['github', /\bgithub_pat_[A-Za-z0-9_]{22,255}/g],
  ['gitlab', /\bgl(?:pat|dt|rt|oas|cbt|ptt|ft|imt|agent|soat|ffct)-[A-Za-z0-9_-]{16,128}/g],
  ['slack', /\bxox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,250}/g],
  ['slack', /\bxapp-\d-[A-Za-z0-9-]{16,200}/g],
  ['slack', /hooks\.slack\.com\/(?:services|workflows|triggers)\/[A-Za-z0-9+/]{16,120}/g],
  ['stripe', /\b(?:sk|rk|pk)[_-](?:live|test|prod)[_-][A-Za-z0-9]{10,200}/g],
  ['stripe', /\bwhsec_[A-Za-z0-9+/=]{20,100}/g],
  ['aws', /\b(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA|AGPA|ANPA)[A-Z0-9]{16}\b/g],
  ['google', /\bAIza[A-Za-z0-9_-]{30,60}/g],
  ['google', /\bGOCSPX-[A-Za-z0-9_-]{20,60}/g],
  ['google', /\bya29\.[A-Za-z0-9_-]{20,400}/g],
  ['npm', /\bnpm_[A-Za-z0-9]{30,100}/g],
  ['pypi', /\bpypi-[A-Za-z0-9_-]{30,300}/g],
  ['sendgrid', /\bSG\.[A-Za-z0-9_-]{12,40}\.[A-Za-z0-9_-]{20,80}/g],
  ['hugging_face', /\b(?:hf|api_org)_[A-Za-z0-9]{24,80}/g],
  ['model_provider', /\bsk-(?:ant|proj|or|svcacct|admin|live|lf)-[A-Za-z0-9_-]{16,250}/g],
  [
    'model_provider',
    /\b(?:gsk|xai|pplx|r8|nvapi|fw|csk|tgp_v1|jina|voyage|pa|dp\.pt|lsv2_(?:pt|sk))[_-][A-Za-z0-9_-]{24,200}/g,
  ],
  ['twilio', /\b(?:SK|AC)[0-9a-f]{32}\b/g],
  ['telegram', /\b\d{8,10}:[A-Za-z0-9_-]{33,40}(?![A-Za-z0-9_-])/g],
  ['discord', /\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}/g],
  ['discord', /discord(?:app)?\.com\/api\/webhooks\/\d{10,25}\/[A-Za-z0-9_-]{30,100}/g],
  [
    'webhook',
    /(?:webhook\.office\.com\/webhookb2|qyapi\.weixin\.qq\.com\/cgi-bin\/webhook\/send\?key=|oapi\.dingtalk\.com\/robot\/send\?access_token=|open\.feishu\.cn\/open-apis\/bot\/v2\/hook)[/]?[A-Za-z0-9@/_=-]{20,200}/g,
  ],
  ['azure', /\bAccountKey=[A-Za-z0-9+/]{40,100}={0,2}/g],
  ['azure', /\bSharedAccess(?:Key|Signature)=[A-Za-z0-9+/%&=]{20,200}/g],
  ['azure', /[?&]sig=[A-Za-z0-9%+/]{30,120}/g],
  ['azure', /\b[A-Za-z0-9_~.]{3}8Q~[A-Za-z0-9_~.-]{31,40}/g],
  ['digitalocean', /\bdo[opr]_v1_[a-f0-9]{40,80}/g],
  ['shopify', /\bshp(?:at|ca|pa|ss|tka)_[A-Za-z0-9]{24,80}/g],
  ['square', /\b(?:sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20,60}|EAAA[A-Za-z0-9_-]{50,80})/g],
  ['alibaba', /\bLTAI[A-Za-z0-9]{12,26}\b/g],
  ['tencent', /\bAKID[A-Za-z0-9]{28,40}\b/g],
  ['databricks', /\bdapi[a-f0-9]{30,40}(?:-\d)?\b/g],
  ['vault', /\b(?:hv[sbr]\.[A-Za-z0-9_-]{20,300}|[sb]\.[A-Za-z0-9]{24}\b)/g],
  ['docker', /\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,80}/g],
  ['linear', /\blin_(?:api|oauth)_[A-Za-z0-9]{30,80}/g],
  ['notion', /\b(?:ntn_[A-Za-z0-9]{36,60}|secret_[A-Za-z0-9]{40,50})\b/g],
  ['figma', /\bfig[dour]_[A-Za-z0-9_-]{30,80}/g],
  ['grafana', /\bgl(?:sa|c)_[A-Za-z0-9_=]{24,300}/g],
  ['new_relic', /\bNR(?:AK|II|JS|RA|SP)-[A-Za-z0-9_-]{20,60}/g],
  ['mailgun', /\bkey-[a-f0-9]{32}\b/g],
  ['mailchimp', /\b[a-f0-9]{32}-us\d{1,2}\b/g],
  ['brevo', /\bxkeysib-[a-f0-9]{60,70}-[A-Za-z0-9]{10,20}/g],
  ['sentry', /\bsntry[su]_[A-Za-z0-9+/=_-]{30,300}/g],
  ['postman', /\bPMAK-[a-f0-9]{20,30}-[a-f0-9]{30,40}/g],
  ['facebook', /\bEAA[A-Z][A-Za-z0-9]{60,300}/g],
  ['airtable', /\bpat[A-Za-z0-9]{14}\.[a-f0-9]{60,70}/g],
  ['planetscale', /\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{30,80}/g],
  ['supabase', /\bsb(?:p|_secret)_[A-Za-z0-9_-]{30,80}/g],
  ['netlify', /\bnfp_[A-Za-z0-9]{30,50}/g],
  ['flyio', /\bFlyV1 fm\d_[A-Za-z0-9+/=,_-]{40,800}/g],
  ['terraform', /\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,80}/g],
  ['atlassian', /\bATATT3[A-Za-z0-9_=-]{40,250}/g],
  ['age', /\bAGE-SECRET-KEY-1[A-Z0-9]{50,70}/g],
  ['wallet', /\b[xyzt]prv[A-Za-z0-9]{80,120}/g],
  ['jwt', /\beyJ[A-Za-z0-9_-]{10,4096}\.eyJ[A-Za-z0-9_-]{6,8192}(?:\.[A-Za-z0-9_-]{0,2048})?/g],
  ['private_key', /-{3,8} {0,2}BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)? {0,2}-{3,8}/g],
  ['private_key', /PuTTY-User-Key-File-\d/g],
]

/** A scheme, a name, a password and a host. `user@host` alone has no password. */
const ADDRESS = /\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s:/@'"<>]{0,100}:([^\s/@'"<>]{2,200})@[^\s'"<>]{1,100}/gi
/** What stands for a password in examples. */
const PLACEHOLDER =
  /^(?:[*x.•…]{2,40}|<[^>]{1,40}>|\$?\{{1,2}[^}]{1,40}\}{1,2}|\$[A-Z_]{2,40}|%[A-Z_]{2,40}%|\[[^\]]{1,40}\]|your[_-]?\w{1,30}|redacted|hidden|masked|removed|placeholder|changeme_here)$/i

export const isPlaceholder = (value: string): boolean => PLACEHOLDER.test(value)

/** Words beside which something random is a key. */
const KEY_WORD =
  '(?:api|app|access|secret|private|signing|encryption|master|consumer|client|service|auth|account|storage|webhook|deploy|license|aws|azure|gcp|openai|stripe|github|slack|token|secret|credential|passphrase|hmac|totp|otp|2fa|mfa|key|seed|session|cookie|refresh)'
const NEAR = new RegExp(
  `(?:${KEY_WORD}[ _-]?(?:secret|key|token|id|password|pat|credential|seed|string|value)?s?|密钥|秘钥|密鑰|令牌|憑证|凭证|凭据|トークン|鍵|schlüssel|clave|clé)[^A-Za-z0-9+/]{0,8}(?:is|was|are|=|:|to|是|为|value|secret)?[^A-Za-z0-9+/]{0,8}([A-Za-z0-9+/_.~=-]{16,512})`,
  'gi',
)
const looksRandom = (value: string): boolean =>
  !isIdentifier(value) &&
  !isPlaceholder(value) &&
  value.length >= 16 &&
  entropy(value) >= 3 &&
  /\d/.test(value) &&
  /[A-Za-z]/.test(value)

export const SECRETS: readonly Rule[] = [
  ...SHAPES.map(([name, pattern]) => secret(name, pattern)),
  secret('address', ADDRESS, (m) => !isPlaceholder(m[1] ?? '')),
  secret('header', /\b(?:bearer|basic|digest|token|apikey)[ :=]{1,3}([A-Za-z0-9_.~+/=-]{16,4096})/gi, (m) =>
    looksRandom(m[1] ?? ''),
  ),
  secret(
    'header',
    /\b(?:authorization|x-api-key|x-auth-token|proxy-authorization|set-cookie|cookie)["']? {0,3}[:=] {0,3}["']?(?:(?:bearer|basic|token|digest) )?([A-Za-z0-9_.~+/=;-]{8,4096})/gi,
    (m) => /\d/.test(m[1] ?? '') && !isPlaceholder(m[1] ?? ''),
  ),
  secret('beside_a_word', NEAR, (m) => looksRandom(m[1] ?? '')),
  // -u user:password, and what a shell is told
  secret(
    'assigned',
    /\b[A-Z][A-Z0-9_]{0,40}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PWD|CREDENTIALS?)\b["']? {0,2}[=:] {0,2}["']?([^\s"'$<{]{6,200})/g,
    (m) => !isPlaceholder(m[1] ?? '') && (/\d/.test(m[1] ?? '') || (m[1] ?? '').length >= 12),
  ),
  secret(
    'command_line',
    /(?<![\w-])(?:curl\b.{0,80} -u|--user|--password|-p(?=[^\s-]{0,60}\d)|sshpass -p|--token|--api-key)[ =]?['"]?([^\s'"]{4,100}:[^\s'"]{4,100}|(?=[^\s'"]{0,100}\d)[^\s'":]{6,100})/g,
    (m) => !isPlaceholder(m[1] ?? ''),
  ),
]
