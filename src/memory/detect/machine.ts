/** Text that a shell, a database, a browser or a template would execute. It has no place among what one knows of a person. */
import { instruction } from './instruction.ts'
import type { Rule } from './finding.ts'

export const MACHINE: readonly Rule[] = [
  instruction('shell', '(?<![\\w-])(?:sudo\\s)?rm\\s{1,3}-[a-z-]{0,20}(?:r|f)[a-z-]{0,20}\\s{1,3}[-~/.*$\\w"\']'),
  instruction(
    'shell',
    '(?:curl|wget|fetch|iwr|invoke-webrequest)\\s[^\\n|]{1,200}\\|\\s{0,3}(?:sudo\\s)?(?:ba|z|da|k)?sh(?!\\w)|(?:curl|wget)\\s[^\\n]{0,120}(?:\\$\\(|`|@\\/|--data|-d\\s|--post)',
  ),
  instruction(
    'shell',
    '(?<!\\w)(?:mkfs(?:\\.\\w{2,6})?\\s|dd\\s{1,2}if=|shutdown\\s{1,2}-[hr]|format\\s{1,2}c:|del\\s{1,2}\\/[sfq]|nc\\s{1,2}-[a-z]{0,6}e|ncat\\s|chmod\\s{1,2}(?:-r\\s)?(?:0?777|[ug]\\+s)|powershell(?:\\.exe)?\\s{1,2}-(?:e|enc|nop|w|c|ex)|cmd(?:\\.exe)?\\s{1,2}\\/c|base64\\s{1,2}-d\\s{0,2}\\||bash\\s{1,2}-(?:c|i)\\s|\\/dev\\/tcp\\/|:\\(\\)\\s?\\{|crontab\\s{1,2}-|kill\\s{1,2}-9|>\\s?\\/dev\\/sd|iptables\\s{1,2}-f)',
  ),
  instruction(
    'shell',
    '\\/etc\\/(?:passwd|shadow|sudoers)|~\\/\\.ssh\\/|\\.aws\\/credentials|(?:\\.\\.\\/){2,8}|(?:;|&&|\\|\\|)\\s{0,2}(?:cat|curl|wget|rm|nc|bash|sh|chmod|whoami|id|ping|env)\\s|\\$\\((?:cat|curl|wget|rm|whoami|id|env|echo|bash)|`(?:cat|curl|wget|rm|whoami|id|env)\\s',
  ),
  instruction(
    'code',
    '(?<![\\w.])(?:eval|exec|system|popen|spawn|passthru|shell_exec|__import__|getattr|compile)\\s?\\(\\s{0,2}["\'`$a-z_]|os\\.(?:system|popen|exec\\w{0,3}|remove)\\s?\\(|subprocess\\.\\w{2,12}|child_process|process\\.(?:env|exit|mainmodule)|runtime\\.getruntime|require\\(["\'](?:fs|child_process)',
  ),
  instruction(
    'sql',
    '(?<!\\w)drop\\s{1,3}(?:table|database|schema|user|role|view|index)s?\\s{1,3}(?:if\\s{1,2}exists\\s)?["`\\[]?[a-z_*]',
  ),
  instruction(
    'sql',
    '(?<!\\w)(?:delete\\s{1,3}from\\s{1,3}[\\w".`]{1,40}(?:\\s{0,3};|\\s{1,3}where\\s|\\s{0,2}$)|truncate\\s{1,3}table\\s{1,3}\\w|alter\\s{1,3}(?:table|user|role)\\s{1,3}\\w{1,40}\\s{1,3}(?:drop|add|with|set|identified)|update\\s{1,3}\\w{1,40}\\s{1,3}set\\s{1,3}\\w{1,40}\\s{0,2}=|insert\\s{1,3}into\\s{1,3}\\w{1,40}\\s{0,2}\\(|grant\\s{1,3}all(?:\\s{1,3}privileges)?\\s{1,3}(?:on|to)|union\\s{1,3}(?:all\\s{1,3})?select\\s|select\\s{1,3}(?:\\*|[\\w, ]{1,60})\\s{1,3}from\\s{1,3}(?:information_schema|pg_\\w{2,20}|users?|accounts?|passwords?|credentials?|secrets?)(?!\\w)|xp_cmdshell|into\\s{1,3}outfile)',
  ),
  instruction(
    'sql',
    '[\'"]\\s{0,2}(?:or|and)\\s{1,3}[\'"]?\\w{1,10}[\'"]?\\s{0,2}=\\s{0,2}[\'"]?\\w{1,10}|[\'"]\\s{0,2};\\s{0,2}(?:drop|delete|update|insert|select|exec|shutdown)|(?:sleep|benchmark|pg_sleep|waitfor delay)\\s?\\(?[\'"]?\\d',
  ),
  instruction(
    'markup',
    '<\\s?(?:script|iframe|object|embed|svg|img|link|meta|form|base)\\b[^>]{0,200}(?:>|on\\w{3,16}\\s?=|src|href)|javascript\\s?:\\s?\\w|data:text\\/html|(?<!\\w)on(?:error|load|click|mouseover|focus)\\s?=\\s?["\']?\\w',
  ),
  instruction(
    'template',
    '\\$\\{(?:jndi|env|sys|java|lower|7\\*7)|\\{\\{\\s?(?:\\d{1,3}\\s?\\*\\s?\\d{1,3}|config|self|request|cycler|lipsum|constructor|_|\\$)|\\{%\\s{0,2}(?:import|include|exec|set|for)|#\\{\\s?\\d{1,3}\\*|<%=?\\s|\\bself\\.__|__(?:class|globals|builtins|mro|subclasses)__',
  ),
]
