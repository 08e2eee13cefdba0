/** Where a person lives and can be reached: kept only after that person has confirmed it (E5). */
import type { Rule } from './finding.ts'

const contact = (name: string, source: string, test?: Rule['test'], flags = 'giu'): Rule => ({
  name: `contact.${name}`,
  class: 'contact',
  pattern: new RegExp(source, flags),
  ...(test && { test }),
})

const CALL =
  '(?:call|phone|tel(?:ephone)?|mobile|cell(?:phone)?|whats ?app|signal|sms|text|fax|landline|reach|contact|viber|line id|number is|telefon|handy|tel[eé]fono|m[oó]vil|t[eé]l[eé]phone|portable|电话|電話|手机|手機|联系方式|联系电话|号码|座机|打给|拨|携帯|전화)'
const STREET =
  '(?:street|st|avenue|ave|road|rd|lane|ln|drive|dr|court|ct|boulevard|blvd|place|pl|square|sq|terrace|way|close|crescent|parkway|pkwy|highway|hwy|alley|mews|gardens?|grove|hill|row|walk|loop|trail|circle|cir)'

const digits = (text: string): number => text.replaceAll(/\D/g, '').length

export const CONTACTS: readonly Rule[] = [
  contact('mail', "(?<![\\p{L}\\p{N}._%+'-])[\\p{L}\\p{N}._%+'-]{1,64}@(?:[\\p{L}\\p{N}-]{1,63}\\.){1,5}\\p{L}{2,24}"),
  contact(
    'mail',
    '(?<![\\p{L}\\p{N}._+-])[\\p{L}\\p{N}._+-]{2,64} {0,2}[[({<] {0,1}at {0,1}[\\])}>] {0,2}[\\p{L}\\p{N}-]{2,63}(?: {0,2}(?:[[({<] {0,1}dot {0,1}[\\])}>]|\\.) {0,2}\\p{L}{2,24}){1,4}',
  ),
  contact(
    'mail',
    '(?<![\\p{L}\\p{N}._+-])[\\p{L}\\p{N}._+-]{2,64} at [\\p{L}\\p{N}-]{2,63} dot (?:com|org|net|io|edu|gov|co|cn|de|fr|uk|dev|me|info|app)(?!\\p{L})',
  ),
  contact(
    'mail',
    '(?<![A-Za-z0-9._-])[A-Za-z0-9._-]{2,64} ?(?:艾特|＠) ?[A-Za-z0-9-]{2,40} ?(?:点|\\.) ?[A-Za-z]{2,10}',
  ),
  contact('phone_cn', '(?<![\\d.-])(?:\\+?86[ -]?|0086[ -]?)?1[3-9]\\d[ -]?\\d{4}[ -]?\\d{4}(?![\\d]|[.-]\\d)'),
  contact(
    'phone',
    '(?<![\\p{L}\\d])(?:\\+|00)[1-9]\\d{0,3}(?:[ .\\-/]{0,2}\\(?\\d{1,5}\\)?){2,6}(?!\\d)',
    (m) => digits(m[0]) >= 8 && digits(m[0]) <= 17,
  ),
  contact('phone', '(?<![\\p{L}\\d-])(?:\\(\\d{3}\\) ?|\\d{3}[ .-])\\d{3}[ .-]\\d{4}(?![\\d-])'),
  contact(
    'phone',
    `${CALL}[^\\d\\n]{0,24}(\\(?\\d[\\d ().-]{5,18}\\d)`,
    (m) => digits(m[1] ?? '') >= 7 && digits(m[1] ?? '') <= 15 && !/^\d{4}-\d\d-\d\d/.test(m[1] ?? ''),
  ),
  contact('phone', '(?<!\\d)0\\d{2,3}-\\d{7,8}(?!\\d)'),
  contact(
    'messenger',
    '(?<!\\p{Script=Latin})(?:微信号?|wechat(?: id)?|QQ号?|qq number|telegram|line id|skype(?: id)?|钉钉号?|飞书号?)\\s?(?:is|:|：|是|号|为)\\s?@?[A-Za-z0-9_.-]{4,32}',
    (m) => /\d|@/.test(m[0]),
  ),
  contact(
    'address',
    `(?<![\\p{L}\\d.,#])\\d{1,5}[A-Za-z]?(?:[-/]\\d{1,4})?,? (?:[NSEW]\\.? )?(?:\\p{Lu}[\\p{L}'’.-]{0,20} |\\d{1,3}(?:st|nd|rd|th) ){1,4}${STREET}(?![\\p{L}])`,
    undefined,
    'gu',
  ),
  contact(
    'address',
    `(?:live|lives|living|home|house|address|apartment|flat|office|deliver|ship|mail|moved)[^\\n]{0,30}?(?<![\\d.])\\d{1,5}[a-z]?,? (?:[\\p{L}\\d'’.-]{1,20} ){1,4}${STREET}(?![\\p{L}])`,
  ),
  contact(
    'address',
    '(?:address|ship(?:ped)? to|deliver(?:ed)? to|live at|lives at|residing at|home is|adresse|direcci[oó]n|indirizzo|адрес)\\s?(?:is|:|=|ist|es|est|е)?\\s?[^\\n]{0,60}?\\d{1,5}[^\\n]{0,40}',
    (m) =>
      /\p{L}{3}/u.test(m[0].slice(8)) &&
      !/ip address|mac address|e-?mail|https?:|\d{1,3}\.\d{1,3}\.\d{1,3}\./i.test(m[0]),
    'giu',
  ),
  contact(
    'address',
    '\\b\\p{Lu}[\\p{L}-]{2,24}(?:stra(?:ss|ß)e|str\\.|weg|gasse|allee|platz|laan|straat) ?\\d{1,4}[a-z]?',
    undefined,
    'gu',
  ),
  contact(
    'address',
    "\\b\\d{0,4},? ?(?:rue|avenue|calle|carrer|via|viale|piazza|rua|ul\\.|улица|ул\\.) (?:de |du |des |la |del |della )?\\p{Lu}[\\p{L}’'-]{2,24}(?: \\p{Lu}?[\\p{L}-]{1,24})?,? ?\\d{1,5}",
    undefined,
    'gu',
  ),
  contact('address', '(?:P\\.? ?O\\.? Box|postfach|apartado) \\d{1,6}'),
  contact(
    'address_zh',
    '[\\u4e00-\\u9fff]{1,12}(?:路|街|道|巷|弄|大道|胡同|里)\\s?(?:第)?[\\d一二三四五六七八九十百]{1,6}\\s?(?:号|弄|號|巷)',
  ),
  contact(
    'address_zh',
    '[\\u4e00-\\u9fff]{2,10}(?:小区|花园|公寓|家园|苑|大厦|新村|广场|社区|村)\\s?[\\dA-Za-z一二三四五六七八九十]{1,5}\\s?(?:号楼|栋|幢|座|单元|号|室|楼)',
  ),
  contact(
    'address_zh',
    '(?:家住|住在|住址|地址|收货地址|寄到|寄给|送到)[^\\n。；;]{0,24}?(?:[\\u4e00-\\u9fff\\d](?:路|街|巷|弄|胡同|小区|号楼|单元|栋|室|號|号))',
  ),
  contact(
    'address_ja',
    '(?:東京都|北海道|(?:京都|大阪)府|[\\u4e00-\\u9fff]{2,3}県)[\\u3040-\\u30ff\\u4e00-\\u9fff]{2,16}\\d{1,3}(?:丁目|-\\d)',
  ),
  contact(
    'birthday',
    '(?:born on|birthday is|date of birth|dob|birth ?date|生日是|出生日期|出生于|生于|geboren am|naci el|ne le)[^\\d\\n]{0,12}(?:\\d{1,4}[-/.年 ]\\d{1,2}[-/.月 ]\\d{1,4}|\\p{L}{3,9} \\d{1,2},? \\d{4}|\\d{1,2} \\p{L}{3,9} \\d{4})',
  ),
  contact('position', '(?<![\\d.])-?\\d{1,2}\\.\\d{4,8}, ?-?\\d{1,3}\\.\\d{4,8}(?!\\d)'),
  contact(
    'plate_zh',
    '[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼][A-Z][·•]?[A-Z0-9]{5,6}(?![A-Z0-9])',
    undefined,
    'gu',
  ),
]
