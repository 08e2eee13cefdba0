/**
 * Passwords, codes and answers in prose (E5): a word for a secret, something that says "is", and a value. What only
 * speaks about passwords has no value, and is none.
 */
import type { Rule } from './finding.ts'
import { isPlaceholder } from './secrets.ts'

/** Passwords proper. Letters may be written as digits and signs. */
const PASSWORD =
  '(?:p[a@4][s5$]{2}[ _-]?(?:w[o0]rd|w[o0]rt|phrase|code|key|wd|w)?|pwd|psw|passwd|pw|kennwort|contraseña|contrasena|clave|mot de passe|motdepasse|mdp|senha|wachtwoord|hasło|haslo|пароль|sifre|şifre|parola|mat khau|mật khẩu|kata sandi|パスワード|暗証番号|비밀번호)'
/** Short codes: digits are enough. */
const CODE =
  '(?:pin(?:[ -]?(?:code|number))?|cvv2?|cvc2?|otp|passcode|(?:security|access|door|gate|alarm|entry|safe|lock|unlock|verification|recovery|backup|one[- ]time|2fa|mfa|sms|login|authenticator|garage|vault|keypad|voicemail|sim|puk)[ -](?:codes?|pins?|combination|number)|(?:lock|safe|locker|padlock) combination|combination (?:to|of|for) (?:the|my|our) (?:safe|lock|locker|padlock|vault))'
/** Longer secrets that are words: phrases and answers. */
const PHRASE =
  '(?:(?:seed|recovery|mnemonic|wallet|backup|secret|pass)[ -](?:phrase|words)|passphrase|mnemonic|secret (?:answer|word|question answer)|security answer|answer to (?:my|the) security question|safe ?word)'
const KEY =
  '(?:(?:api|access|secret|private|signing|encryption|master|license|wifi|wi-fi|wpa2?|wep|network|ssh|gpg|pgp|root|admin|staging|prod|production|database|db|account|login|test|service|client|app)[ _-]?(?:key|secret|token|pass|credentials?)s?|credentials?|secret|token|creds|api ?keys?|(?:my|our|the|your|his|her) key)'

const SAYS =
  '(?:["\'`*_)]{0,3}\\s{0,3}(?:is now|is|was|are|were|will be|=>|->|→|=|:|equals|reads|remains|stays|becomes|ist|lautet|es|est|e|eh|jest|—|–|это|は)\\s{0,3}|\\s{1,3}(?:set |changed |reset |updated )?to\\s{1,3})'
const OF = '(?:\\s{1,2}(?:for|to|of|on|at|in|fur|für|de|du|del|para|pour|pro)\\s{1,2}[^:=\\n,;.!?]{1,50}?)?'
const QUOTE = '["\'`“‘«「]{0,2}'
const VALUE = '([^\\s"\'`”’»」,;，。；、]{3,100})'

/** What follows "the password is" without being one. */
const SAYS_NOTHING = new Set(
  `a an the not no now too so very more less also only just still never always being been be about required mandatory optional needed necessary wrong incorrect invalid correct right valid
  expired expiring weak strong stronger strict safe secure unsafe insecure secret confidential private sensitive public stored saved kept hashed salted encrypted protected hidden masked shown visible
  displayed missing empty blank lost forgotten gone reset changed updated rotated set sent stolen leaked compromised exposed shared reused unique random generated long longer short shorter complex complicated simple easy hard difficult
  important enough fine ok okay good bad great terrible unknown unclear different same similar case-sensitive case hashed. in on at with without from for to of by as if when where what which who how why that this these those there here
  my your our their his her its it them then than and or but because due managed handled checked verified validated compared defined described documented available enabled disabled locked blocked
  something somewhere anything nothing everything someone usually often sometimes currently already going supposed expected limited subject ready used using called named known given asked requested rejected accepted denied allowed permitted
  written noted listed found created deleted removed rotated protected policy policies manager field reset page form hint rules rule min max length characters chars digits letters
  obligatoire falsch vergessen sicher unsicher notwendig obligatoria olvidada segura incorrecta incorrecto requerida requis oublie incorrect erforderlich abgelaufen
  не неверный устарел`.split(/\s+/),
)

const trimmed = (value: string): string => value.replaceAll(/^[("'`*_<[]{1,4}|[.!?)"'`*_\]]{1,4}$/g, '')
const mixed = (value: string): boolean =>
  (/\d/.test(value) && /[^\d.,:%/-]/.test(value)) || /[^\p{L}\p{N}.,:;'’()-]/u.test(value) || /[a-z][A-Z]/.test(value)

/** Something nobody says in prose: letters with digits or signs, a long number. */
function isOdd(given: string): boolean {
  const value = trimmed(given)
  return (
    value.length >= 4 &&
    !isPlaceholder(value) &&
    !/^https?:/i.test(value) &&
    !/^\d{1,3}(?:\+|-?char|-?digit|-?day|-?bit|st|nd|rd|th|x|%|k|min|hours?)/i.test(value) &&
    (mixed(value) || /^\d{4,12}$/.test(value))
  )
}
const isWord = (given: string): boolean => {
  const value = trimmed(given)
  const small = value.toLowerCase()
  return (
    value.length >= 4 &&
    !isPlaceholder(value) &&
    !SAYS_NOTHING.has(small) &&
    !/(?:ed|ing|able|ible|ly|ful|less|ous|ive)$/.test(small)
  )
}

/** Four words together are one, whatever they mean. */
const isPhrase = (value: string): boolean => {
  const words = value.split(/[ ,-]/)
  return words.length > 3 || isWord(words[0] ?? '')
}

const rule = (name: string, source: string, test: (value: string, match: RegExpExecArray) => boolean): Rule => ({
  name: `password.${name}`,
  class: 'password',
  pattern: new RegExp(source, 'giu'),
  test: (match) => test(match[1] ?? '', match),
})

const B = '(?<![\\p{L}\\p{N}])'
const E = '(?![\\p{L}\\p{N}])'
const NUMBER = '(?:zero|oh|one|two|three|four|five|six|seven|eight|nine)'

const ENGLISH: readonly Rule[] = [
  rule(
    'assigned',
    `${B}(?:${PASSWORD}|${KEY})s?${E}${OF}${SAYS}${QUOTE}${VALUE}`,
    (v) => isOdd(v) && !/^\d{1,3}$/.test(trimmed(v)),
  ),
  rule(
    'code',
    `${B}${CODE}${E}${OF}(?:${SAYS}|\\s{1,2}(?:is )?)${QUOTE}([#*]?\\d[\\d -]{2,11}\\d|(?=[A-Z0-9-]{0,20}\\d)[A-Za-z0-9]{3,12}(?:-[A-Za-z0-9]{3,12}){0,5})`,
    (v) => /\d{3}|\d-\d|[A-Za-z]\d|\d[A-Za-z]/.test(v) && !/^(?:19|20)\d\d-\d\d/.test(v),
  ),
  rule(
    'word',
    `${B}(?:my|our|the|his|her|their|your|mein|meine|mi|mon|ma|minha|mia|мои|мой)\\s(?:[\\p{L}\\p{N}_-]{1,24}\\s){0,4}?${PASSWORD}${E}${OF}(?:\\s(?:is|ist|es|est|e|remains|stays|was changed to|has been changed to|to|это)\\s|\\s?[:=]\\s?)${QUOTE}${VALUE}(?=["'\`”]|[.,;!?]?\\s{0,2}$|[.,;!]\\s|\\s(?:and|please|so|but|remember|for|on|in case|thanks)(?:\\s|$))`,
    isWord,
  ),
  rule(
    'quoted',
    `${B}(?:${PASSWORD}|${PHRASE}|${KEY})s?${E}${OF}${SAYS}["'\`“«「]([^"'\`”»」\\n]{3,100})["'\`”»」]`,
    (v) => isWord(v.split(' ')[0] ?? '') || isOdd(v),
  ),
  rule('bare_label', `(?:^|[\\n,;/|({]\\s{0,3})["']?(?:${PASSWORD})["']?\\s{0,2}[:=]\\s{0,2}${QUOTE}${VALUE}`, isWord),
  rule('phrase', `${B}${PHRASE}${E}${OF}${SAYS}${QUOTE}([\\p{L}]{2,20}(?:[ ,-]{1,2}[\\p{L}]{2,20}){0,23})`, isPhrase),
  rule(
    'beside',
    `${B}(?:${PASSWORD}|creds?|credentials)\\s{1,2}${QUOTE}${VALUE}`,
    (v) => isOdd(v) && !/^\d{1,4}$/.test(trimmed(v)) && /\d/.test(v) && /[A-Za-z]/.test(v),
  ),
  rule(
    'before',
    `${B}(?:use|using|enter|type|try|with|remember|save|store|keep|note|put|set|write down|log ?in with)\\s{1,2}${QUOTE}${VALUE}["'\`”]?\\s{1,2}(?:as|for|is|to log in|when)\\s(?:[\\p{L}\\p{N}_'’-]{1,24}\\s){0,5}?(?:${PASSWORD}|${CODE}|login|log in)${E}`,
    isOdd,
  ),
  rule(
    'before',
    `${B}${VALUE}\\s(?:is|as|=|was|became)\\s(?:my|our|the|his|her|their|your)\\s(?:[\\p{L}\\p{N}_-]{1,24}\\s){0,4}?(?:${PASSWORD}|${CODE}|api key|secret key|access token)${E}`,
    isOdd,
  ),
  rule(
    'pair',
    `${B}(?:log ?in|user(?:name)?|account|email|creds?|credentials|auth)\\s?(?:[:=]|is|as|with)?\\s{0,2}[\\p{L}\\p{N}._@+-]{2,60}\\s?(?:/|:|\\||,|and|with)\\s?(?:${PASSWORD})\\s?[:=]?\\s?${VALUE}`,
    (v) => isWord(v) || isOdd(v),
  ),
  rule(
    'pair',
    `${B}(?:log ?in|creds?|credentials|username\\/password|user\\/pass(?:word)?|account)\\s?(?:are|is|[:=])\\s?["']?[\\p{L}\\p{N}._@+-]{2,60}\\s?[/:|]\\s?${VALUE}`,
    isOdd,
  ),
  rule(
    'spoken',
    `${B}(?:${PASSWORD}|${CODE})${E}${OF}(?:${SAYS}|\\s)(${NUMBER}(?:[ ,-]{1,2}${NUMBER}){2,15})`,
    () => true,
  ),
]

/** Words for secrets in Chinese, simplified and traditional. */
const ZH =
  '(?:(?:支付|银行卡|取款|交易|登录|登陆|登入|开机|解锁|锁屏|门锁|wifi|WiFi|无线|邮箱|管理员|数据库|服务器)?(?:密码|密碼|口令)|密钥|秘钥|密鑰|验证码|驗證碼|动态码|安全码|确认码|校验码|恢复码|备份码|备用码|提取码|通行码|解锁码|授权码|激活码|令牌|凭证|密保(?:答案)?|暗号|PIN\\s?码|pin\\s?码|token|key|助记词|主密钥|私钥|登录信息)'
const ZH_SAYS =
  '[\\s"\'“「（(]{0,3}(?:已经|现在|就|都|分别|设置|修改|更改|改|换|设|設|更新)?(?:是|为|為|成|作|叫|用|:|：|=|→)?(?:了|的是)?[\\s"\'“「：:=]{0,4}'

/** Languages that join a particle to the word, so that nothing parts the two. */
const JOINED = '(?:パスワード|パスコード|暗証番号|暗証コード|合言葉|비밀번호|비번|암호|패스워드|핀번호|인증번호)'

const CHINESE: readonly Rule[] = [
  rule(
    'ja_ko',
    `${JOINED}\\s?(?:は|が|を|として|는|은|가|이|를|을|:|=)?\\s?${QUOTE}([A-Za-z0-9!-/:-@\\[-\`{-~]{4,60})`,
    (v) => /\d/.test(v) || mixed(v),
  ),
  rule(
    'zh',
    `${ZH}${ZH_SAYS}([A-Za-z0-9!-/:-@\\[-\`{-~]{4,200})`,
    (v) => (/\d/.test(v) || mixed(v)) && !isPlaceholder(v) && !/^\d{1,3}$/.test(v),
  ),
  rule('zh', `${ZH}(?:就)?(?:是|为|為|:|：|改成|设成|设为|改为)\\s?${QUOTE}([A-Za-z]{4,40})(?![A-Za-z])`, isWord),
  rule(
    'zh',
    `(?:用|把|将|记住|输入|填)\\s?${QUOTE}([A-Za-z0-9!-/:-@\\[-\`{-~]{4,60})["'”」]?\\s?(?:做|当|作为|当作|是|设为|设成|登录|解锁)(?:我|我的|我们的|[一-鿿]{0,8})?(?:密码|密碼|口令|登录|解锁)?`,
    (v, m) => isOdd(v) && /密|口令|登录|解锁/.test(m[0]),
  ),
  rule(
    'zh',
    `(?<![!-~])([A-Za-z0-9!-/:-@\\[-\`{-~]{4,60})\\s?是(?:我|我们|他|她|公司)?的?(?:[\\p{L}\\p{N}]{0,10})${ZH}`,
    isOdd,
  ),
  rule(
    'zh',
    `(?:我|我们|咱|家里|公司|他|她)[\\p{L}\\p{N}]{0,12}?(?:密码|密碼|口令|暗号|密保答案)\\s?(?:就是|是|为|：|:)\\s?["“「]?([一-鿿]{2,16})`,
    (v) =>
      !/什么|多少|谁|忘|错|对的|不|必|安全|加密|敏感|很|被|要|用来|为了|重要|复杂|简单|随机|泄|怎|哪|否|可以|过期|太|应该|必须|私/.test(
        v,
      ),
  ),
  rule('zh', `${ZH}${ZH_SAYS}([〇零一二三四五六七八九幺壹贰叁肆伍陆柒捌玖个]{3,20})`, () => true),
  rule(
    'zh',
    `(?:账号|帐号|用户名|账户)[\\s:：是为]{0,4}[A-Za-z0-9._@+-]{2,60}[\\s,，、/;；]{1,3}${ZH}?[\\s:：是为]{0,4}([A-Za-z0-9!-~]{4,60})`,
    isOdd,
  ),
]

export const PASSWORDS: readonly Rule[] = [...ENGLISH, ...CHINESE]
