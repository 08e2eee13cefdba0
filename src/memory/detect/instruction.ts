/**
 * Text that would steer an agent when it is read back (E4): orders to forget rules, another persona, forged roles, what
 * carries data out, what waits for a moment, what skips a question, what a machine executes. A preference ("answer in
 * Chinese from now on") is none; neither is talk about attacks. Every rule reads folded, lower-case text.
 */
import type { Rule } from './finding.ts'

export const instruction = (name: string, source: string, test?: Rule['test'], flags = 'gu'): Rule => ({
  name: `instruction.${name}`,
  class: 'instruction',
  pattern: new RegExp(source, flags),
  ...(test && { test }),
})

const W = '(?<![\\p{L}\\p{N}])'
const E = '(?![\\p{L}\\p{N}])'

const DROP =
  "(?:ignor(?:e|es|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|es|ing)|overrul(?:e|ing)|overwrit(?:e|ing)|bypass(?:ing)?|circumvent|discard|neglect|dismiss|abandon|drop|delete|erase|wipe|clear|cancel|void|nullify|revoke|replace|supersedes?|suspend|disable|deactivate|remove|lift|break|violate|disobey|stop (?:following|obeying|applying)|no longer (?:follow|apply|obey|bound by)|not (?:to )?(?:follow|obey|apply|comply with)|don['’]?t (?:follow|obey|comply with)|never follow|pay no attention to|set aside|put aside|throw (?:out|away)|let go of|unlearn|reset)"
const OLD =
  '(?:previous(?:ly)?(?: given)?|prior|earlier|above|preceding|past|former|foregoing|initial|original|existing|current|old|older|default|standing|system|developer|operator|safety|security|moderation|ethical|content|built[- ]?in|core|base|hidden|given|your|all|any|every|these|those|other)'
const FILL =
  '(?:all|any|every|each|of|the|my|our|their|its|that|this|and|or|both|entire|whole|set|other|is|was|were|such|said)'
const RULES =
  '(?:instructions?|directives?|rules?|prompts?|guidelines?|guardrails?|guidance|commands?|orders?|polic(?:y|ies)|restrictions?|constraints?|safeguards?|limitations?|limits|filters?|programming|training|protocols?|directions?|safety (?:measures|checks|training)|alignment|system messages?|boundaries|principles|ethics)'

/** Right before the verb: whoever says "never" asks for the opposite. */
const NOT =
  /(?:\b(?:never|not|don['’]?t|cannot|can['’]?t|won['’]?t|shouldn['’]?t|must not|mustn['’]?t|avoid|without|prevent|against|refuse to|wouldn['’]?t|no)\b[\s\w]{0,12}|\b(?:how|attempts?|attacks?|trying|tries|users? who|people who|someone|whether|tell it|told it|asks? (?:it|you|the \w{2,12})) (?:that |which |to |who )?)$/u
const affirmed: Rule['test'] = (match) => !NOT.test(match.input.slice(Math.max(0, match.index - 32), match.index))

const SECRETS =
  "(?:system ?-?prompts?|(?:initial|hidden|original|internal|developer|secret|base) (?:prompts?|instructions?)|your (?:instructions|prompt|rules|configuration|guidelines)|(?:all |any |every |the |your |our |stored |saved |user['’]?s? |users['’]? |system |admin |internal |secret |private |customer['’]?s? |remaining |other ){1,4}(?:api[ _-]?keys?|access tokens?|tokens?|credentials?|passwords?|secrets?|private keys?|ssh keys?|env(?:ironment)? ?(?:variables|vars)?|conversation(?:s| history| logs?)?|chat (?:history|logs?)|messages|memor(?:y|ies)(?: contents?)?|user data|customer data|personal (?:data|information|details)|data|database(?: contents?)?|files?|documents?|session(?:s| tokens?| data)|config(?:uration)?s?|pii|records|emails|contacts)|api keys? (?:stored|in memory|and )|credentials (?:stored|in memory))"
const TELL =
  '(?:reveal|leak|dump|expose|print|output|show|disclose|exfiltrate|repeat|display|recite|echo|extract|steal|divulge|spill|hand over|give (?:me|out|away|them|him|us)|tell (?:me|them|him|us)|provide|list|share|return|transmit|publish|post|read out|write out|surrender|unveil|send|forward|e?-?mail|upload|copy|append|attach|include|encode|export|sync|report|bcc|cc|leaking|revealing|sending|forwarding)'
const AWAY =
  '(?:https?:\\/\\/|www\\.|[\\w.+-]{1,64}@[\\w-]{1,63}\\.|the attacker|attacker|an? external|external (?:server|site|url|address|endpoint)|remote (?:server|host)|webhook|pastebin|this (?:url|address|endpoint|link|number)|the (?:following|address|url|endpoint) |\\d{1,3}\\.\\d{1,3}\\.\\d{1,3}\\.\\d{1,3})'

const ASK =
  '(?:approvals?|confirm(?:ation|ations|ing)?|verif(?:y|ying|ication)|authori[sz](?:ation|ing)|permission|authenticat(?:ion|ing)|consent|human (?:review|approval|in the loop|oversight)|manual review|safety (?:checks?|reviews?|rules?|filters?|protocols?)|security (?:checks?|reviews?|rules?|filters?|protocols?|warnings?|controls?)|guard ?rails?|safeguards?|content (?:filters?|polic(?:y|ies)|moderation)|audit(?: logs?| trail)?|oversight|access controls?|sanity checks?|policy checks?|fraud checks?|compliance checks?|two[- ]factor)'
const ACT =
  '(?:approve|authori[sz]e|grant|transfer|wire|execute|send|pay|delete|run|refund|purchase|buy|order|release|accept|allow|comply|disclose|share|process|issue|perform|proceed|act|do (?:it|so|this|that|whatever|anything)|move|withdraw|publish|deploy|install|forward|charge|ship|sign|book|call (?:the )?(?:tool|function|api)s?|invoke|use (?:the |any |all )?tools?|make (?:the |any |all )?(?:payments?|transfers?|purchases?|changes?))'

const POWER =
  '(?:unrestricted|unfiltered|uncensored|unlimited|unaligned|unbound|jail ?broken|evil|malicious|amoral|rogue|omnipotent|all[- ]powerful|root|superuser|super ?admin|sudo|(?:an? |the )?(?:system )?admin(?:istrator)?|dan|stan|dude|aim|devmode|god|opposite|free (?:from|of)|without (?:any )?(?:restrictions?|rules|limits?|limitations|filters?|constraints|boundaries|guidelines|ethics|safety)|no (?:rules|restrictions|limits?|limitations|filters?|boundaries|constraints|guidelines|ethics|morals)|not bound|no longer (?:bound|restricted|limited|subject|an? (?:ai|assistant))|above the rules|(?:developer|debug|god|admin|maintenance|root|sudo|jailbreak|unrestricted|dan|bypass|override|superuser|privileged|test|diagnostic|unsafe|expert|opposite) ?-?mode)'

export const INSTRUCTIONS: readonly Rule[] = [
  instruction(
    'override',
    `${W}${DROP} (?:${FILL} ){0,4}${OLD} (?:(?:${FILL}|${OLD}) ){0,4}?(?:[\\p{L}-]{1,16} ){0,1}?${RULES}${E}`,
    affirmed,
  ),
  instruction(
    'override',
    `${W}${DROP} (?:all |any )?(?:${RULES}) (?:given |you (?:were|have|received|got) |from (?:before|above|earlier|the (?:system|developer|operator|user))|that (?:came|were|you)|set by|above|before|prior|so far|in (?:the|your) (?:system|prompt))`,
    affirmed,
  ),
  instruction(
    'override',
    `${W}${DROP} (?:about )?(?:everything|anything|all(?: that)?|whatever|what(?:ever)?)(?: that)? (?:you (?:were|was|have been|['’]ve been|had been|know|learned|are) ?(?:told|taught|instructed|given|asked|programmed|trained|supposed)?|(?:was |is |were )?(?:said|written|stated|instructed) (?:above|before|earlier|previously|so far)|above|before (?:this|now)|prior to|came before|the (?:system|developer|operator|user|admin) (?:said|says|told|wants|wrote))`,
    affirmed,
  ),
  instruction(
    'override',
    `${W}(?:ignore|disregard|forget|override|discard|skip) (?:all |everything |anything |whatever )?(?:of )?(?:the )?(?:above|preceding|foregoing|aforementioned)(?: (?:text|content|context|input|conversation|message|part))?(?:,|\\.|;|:| and | then | instead|$)`,
    affirmed,
  ),
  // a whole text that is nothing but the order
  instruction(
    'override',
    `(?:^|[.!?:\\n] ?)(?:important|urgent|note|attention|warning)?:? ?(?:ignore|forget|disregard|bypass) (?:all |any |the |your |every )?(?:rules|safety|restrictions|guidelines|guardrails|policies|safeguards|instructions|above)(?:$|[.!\\n])`,
  ),
  instruction(
    'exfiltration',
    `${W}(?:always |must |should |to )(?:respond|answer|reply|start|end|begin)${E}[^.!?\\n]{0,24}? with (?:the|your|all|any|every|each) (?:[\\p{L}]{2,14} ){0,3}?(?:api keys?|keys|passwords?|tokens?|credentials?|secrets?|system prompt)${E}`,
    affirmed,
  ),
  instruction(
    'privilege',
    `${W}(?:set|change|raise|switch|update) (?:the |your |my |its )?(?:trust[ _-]?level|access[ _-]?level|privileges?|permissions?|clearance|role|safety[ _-]?(?:mode|level)) (?:to|=) (?:unrestricted|admin|root|full|all|maximum|max|superuser|owner|none|off|trusted)${E}`,
    affirmed,
  ),
  instruction(
    'privilege',
    `${W}(?:user|account|session|caller|agent|assistant) (?:is|was|has been) (?:now |promoted to |made |an? ){0,2}(?:admin(?:istrator)?|root|superuser|owner)${E}[^.!?\\n]{0,20}?(?:full|all|unrestricted|elevated|total)`,
  ),
  instruction(
    'authority',
    `${W}(?:i am|i['’]m|this is|as) (?:your|the) (?:developers?|creators?|maintainers?|administrators?|system admin|operators?|programmer|god|master|root user)${E}[^\\n]{0,100}?${W}(?:passwords?|you (?:have|need|must|should|will)|need you to|share|reveal|turn you off|comply|obey|order you|command you|authori[sz]e you|instruct you|credentials)${E}`,
  ),
  instruction(
    'override',
    `${W}(?:new|updated|revised|real|actual|true|secret|hidden|important|urgent|special|additional|final|following) (?:system )?(?:instructions?|directives?|prompts?|orders|objectives?|goals?|mission|rules of engagement) ?(?:(?:for|to) (?:you|the (?:ai|assistant|agent|model|bot|llm))[^\\n]{0,20})?[:：]`,
  ),
  instruction(
    'override',
    `${W}(?:your|the (?:agent|assistant|model|ai|bot)['’]s) (?:new|real|true|only|primary|updated|sole|hidden|actual|first) (?:task|job|role|purpose|instructions?|objective|goal|directive|mission|priority|identity|persona|duty)${E} ?(?:is|are|will|from|:|=|now|becomes)`,
  ),
  instruction(
    'override',
    `${W}(?:treat|regard|consider|interpret|take|use|apply|handle|accept|follow|adopt) (?:this|the following|these|it|everything|any|all|that|my|what)[^.\\n]{0,60}? as (?:(?:the|an?|your|its|my|our|new|only|all) ){0,3}(?:system|operating|operative|high(?:est)?[- ]priority|top[- ]priority|authoritative|binding|trusted|permanent|official|overriding|controlling|governing|instructions?|directives?|rules?|commands?|orders?|law|gospel|developer|admin|policy|root|truth)`,
    affirmed,
  ),
  instruction(
    'override',
    `${W}(?:these|this|the following|my|the above|such) (?:[\\p{L}-]{1,16} ){0,2}(?:instructions?|notes?|rules?|messages?|directives?|commands?|memory|entry|orders?|text|prompt) (?:now )?(?:override|overrides|supersedes?|replaces?|outranks?|take[s]? (?:precedence|priority)|ha(?:s|ve) (?:the )?(?:priority|precedence|authority)|trumps?|cancels?)`,
  ),
  instruction(
    'override',
    `${W}(?:takes?|has|have|with) (?:precedence|priority) over (?:(?:all|any|every|the|your|other|previous|prior|existing|system|safety|user) ){1,4}(?:instructions?|rules?|prompts?|polic(?:y|ies)|directives?|guidelines?|messages?)`,
  ),

  instruction(
    'persona',
    `${W}(?:you['’]?(?:re| are)|you (?:will|shall|must|can|should|have to|need to)? ?(?:now |henceforth |from now on )?(?:be|become|act|behave|operate|respond|function|pretend)|act|behave|pretend|role ?-?play(?:ing)?|simulate|imagine|impersonate|respond|answer|operate|function|speak|transform|turn|switch|enter|become|assume the (?:role|identity|persona)|take on the (?:role|persona))${E}[^.!?\\n]{0,50}?${W}${POWER}${E}`,
    (m) =>
      affirmed(m) &&
      !/^(?:act|behave|answer|respond|turn|switch|enter|speak)[^\n]{0,50}(?:test|expert|debug) ?-?mode$/u.test(m[0]),
  ),
  instruction(
    'persona',
    `${W}you (?:now )?(?:have|follow|obey|know|recogni[sz]e|are subject to) (?:absolutely )?(?:no|zero) (?:[\\p{L}-]{1,14} ){0,2}(?:rules|restrictions|limits?|limitations|filters?|boundaries|constraints|guidelines|ethics|morals|policies|obligations)`,
  ),
  instruction(
    'persona',
    `(?:^|[.!?:\\n"'\\]>)] ?|${W}(?:you are |you['’]re |now )(?:now )?(?:in )?)(?:developer|god|admin(?:istrator)?|root|sudo|jailbreak|dan|unrestricted|maintenance|override|superuser|privileged) ?-?mode(?: is| has been)?(?: now)? ?(?::|=)? ?(?:activated|enabled|engaged|unlocked|on|active|granted|initiated)${E}`,
  ),
  instruction(
    'persona',
    `${W}(?:all|any|every|your|the|safety|content|these) (?:(?:safety|content|security|ethical|previous|system|usage|default) ){0,2}(?:restrictions?|limitations?|limits|filters?|guardrails?|safeguards|safety (?:rules|protocols)|constraints)(?: (?:are|is|were|have been|has been|now))* ?(?:lifted|removed|disabled|off|gone|suspended|waived|deactivated|void|no longer apply|do not apply|don['’]t apply)${E}`.replace(
      ')* ?',
      '){0,3} ?',
    ),
  ),
  instruction(
    'persona',
    `${W}(?:do anything now|jail ?break (?:mode|prompt|the (?:ai|assistant|model))|stay in character (?:at all|no matter|forever|always)|you are dan${E}|your name is (?:now )?dan${E})`,
  ),
  instruction(
    'persona',
    `${W}you(?:['’]re| are) (?:now |henceforth |actually |secretly |really ){1,2}(?:an? |the |my |in |acting as |operating as |working for |controlled by |under )(?:[\\p{L}-]{1,16} ){0,3}?(?:different|new|hacker|attacker|evil|operator|system|persona|entity|ai (?:without|that|with no)|control|command|orders|kernel|terminal|shell|mode)${E}`,
  ),
  instruction(
    'persona',
    `${W}from (?:now|this (?:point|moment|day)) on(?:ward)?s?,? (?:you|the (?:agent|assistant|model|ai|bot)) (?:are|may|can|must|will|should|shall|have to|need to|only|never|do not|don['’]t)[^.!?\\n]{0,60}?(?:skip|ignore|bypass|reveal|obey|comply|pretend|approve|refuse|lie|hide|deceive|without|disable|leak|any request|all requests|unrestricted|admin|authori[sz]ed|trusted|allowed|permitted|no longer)`,
  ),

  instruction(
    'tag',
    '<\\/?\\s?(?:system|sys|assistant|user|human|instructions?|inst|admin|developer|tool(?:_(?:call|result|response|use))?|function(?:_calls?|_results?)?|prompt|im_start|im_end|override|memory|secret|policy|rules?|important|hidden|message|directive|command|context|thinking|agent|root)(?:[ _-][\\w="\' -]{0,40})?\\s?\\/?>',
  ),
  instruction(
    'tag',
    '<\\|[a-z_ ]{2,30}\\|>|<<\\/?sys>>|\\[\\/?inst\\]|\\{\\{\\s?#?\\s?(?:system|assistant|user|override|prompt)|<\\/?s>\\s?\\[|\\[\\[?\\/?(?:system|sys|admin|assistant|developer|root|override|hidden)(?:[ _:-][\\w -]{0,40})?\\]',
  ),
  instruction(
    'tag',
    '[\\[({<#*_=]{1,3}\\s?(?:[a-z]{2,16}[ _-]){0,3}(?:persist(?:ence|ent)?|override|inject(?:ion|ed)?|backdoor|payload|canary|sleeper|trigger|jailbreak|directive|exfil|implant|hijack|privileged|always_?run|auto_?exec(?:ute)?|system_?prompt|sys_?msg|memory_?(?:write|update|lock|pin)|hidden_?instruction)(?:[ _-][a-z0-9]{1,16}){0,3}\\s?[\\])}>#*_=]{1,3}',
  ),
  instruction(
    'tag',
    '<!--[\\s\\S]{0,400}?(?:ignore|system|instruction|prompt|override|secret|agent|assistant|must|always|execute|send|reveal)|(?:begin|end|start)(?: of)? (?:system|hidden|new|admin|developer|secret) (?:prompt|instructions?|message|section)|#{2,6} ?(?:system|instructions?|assistant|new instructions?|override|developer)(?: (?:prompt|message|note|override))? ?(?::|\\n|$)|-{3,20} ?(?:system|instructions?|end of (?:user|context|document|input))',
    undefined,
    'gmu',
  ),
  instruction(
    'role',
    '(?:^|[\\n.!?;:|"\'>\\])] ?|- |note: )(?:system|assistant|developer|admin(?:istrator)?|operator|root|sysadmin|superuser|moderator|owner|supervisor|security team|it department|openai|anthropic)(?: (?:message|prompt|note|notice|override|update|command|instruction|directive|alert|policy|announcement))?(?: ?\\([^)]{1,30}\\))? ?(?::|>|»|=|\\|) ?[^\\n]{0,100}?(?:' +
      W +
      "(?:you|must|always|never|ignore|execute|from now|approve|grant|disable|skip|bypass|do not|don['’]t|override|obey|comply|reveal|unlock|unrestricted|trust|allow|enable|delete|send|transfer|forget|respond|no restrictions|restrictions|new (?:rule|instruction|policy|task))" +
      E +
      ')',
    undefined,
    'gmu',
  ),
  instruction(
    'role',
    `(?:message|note|update|directive|order|instruction)s? from (?:the )?(?:system|developer|developers|admin(?:istrator)?|operator|openai|anthropic|security team|it department|your creators?)(?: team)? ?[:：,-]`,
  ),

  instruction(
    'exfiltration',
    `${W}${TELL}${E}(?: (?!not |never )[\\p{L}\\p{N}'’,-]{1,18}){0,7}? ${SECRETS}${E}`,
    (m) => affirmed(m) && isExfiltration(m[0]),
  ),
  instruction(
    'exfiltration',
    `${W}(?:send|forward|post|upload|e?-?mail|bcc|cc|copy|transmit|exfiltrate|sync|submit|report|leak|pipe|stream|deliver|encode|append|attach|share|export)${E}[^.\\n]{0,80}?${W}(?:every|all|each|any|entire|full|whole|conversation|chat|history|transcript|credentials?|secrets?|passwords?|tokens?|keys?|personal|private|confidential|customer|user data|data|inputs?|responses?|memory|memories|records?|files?)${E}[^\\n]{0,80}?${W}(?:to|at|via|into|through|with)${E} ?[^\\n]{0,24}?${AWAY}`,
    affirmed,
  ),
  instruction('exfiltration', '!\\[[^\\]\\n]{0,200}\\]\\(\\s?https?:\\/\\/[^)\\s]{0,300}(?:\\?|=|\\{|data|%7b)'),
  instruction(
    'exfiltration',
    `https?:\\/\\/[^\\s"']{1,200}[?&][\\w-]{1,30}=(?:\\{|\\$|<|%7b|\\[)[\\w ]{0,30}(?:data|secret|key|token|history|conversation|prompt|memory|password|cookie)`,
  ),
  instruction(
    'stealth',
    `${W}(?:do not|don['’]?t|never|without) (?:ever )?(?:tell|telling|inform|informing|notify|notifying|mention|mentioning|alert|alerting|reveal|revealing|disclose|disclosing|let|letting|show|warn|warning|ask|asking|consult|consulting|report|reporting|say)(?: (?:this|it|that|anything|about this|about it|any of this))?(?: to| with)?(?: (?:the|any|your|its|this))? (?:end )?(?:users?|operators?|admin(?:istrator)?s?|developers?|humans?|supervisors?|owners?|security|moderators?|customers? (?:about|that|of)|auditors?|account holder)${E}`,
  ),
  instruction(
    'stealth',
    `${W}(?:secretly|silently|quietly|covertly|discreetly|in the background|behind the scenes|surreptitiously)${E}[^.!?\\n]{0,40}?${W}(?:${TELL}|${ACT}|add|insert|log|record|store|modify|change|redirect|replace|inject|embed|collect|include)${E}`,
  ),
  instruction(
    'stealth',
    `${W}(?:add|insert|log|record|store|modify|redirect|replace|inject|embed|collect|copy|send|forward|append|include|transfer)${E}[^.!?\\n]{0,60}?${W}(?:secretly|silently|covertly|discreetly|without (?:the user|anyone|them|him|her|the owner|users?)(?: being| ever)? (?:notic|know|aware|see|realiz|realis))`,
  ),

  instruction(
    'unasked',
    `${W}(?:skip(?:ping)?|bypass(?:ing)?|disabl(?:e|ing)|ignor(?:e|ing)|waiv(?:e|ing)|omit|circumvent|evade|suppress|turn(?:ing)? off|switch off|deactivate|remove|override|forgo|avoid|no need (?:for|to (?:ask|wait|get|seek|request)(?: for)?)|(?:does not|do not|doesn['’]?t|don['’]?t|never|no longer|need not|needn['’]?t|not) (?:require|need|ask(?: for)?|wait for|seek|request|demand|prompt for|enforce|apply|perform))${E}(?: (?:the|any|all|your|for|user|users?['’]?s?|operator|human|manual|further|usual|standard|normal|of|step|my|explicit|additional|every|its|this|built-in|system|[\\p{L}-]{1,14})){0,4}? ${ASK}${E}`,
    (m) => affirmed(m) && !/\b(?:my|our) (?:email|phone|account|appointment)/u.test(m[0]),
  ),
  instruction(
    'unasked',
    `${W}${ACT}${E}[^.!?\\n]{0,70}?${W}without (?:(?:asking|any|the|further|user|human|operator|prior|needing|requiring|waiting for|seeking|explicit|additional|getting|requesting|checking(?: with)?|first|my|an?|additional) ?){0,4}(?:${ASK}|asking|confirming|checking|question(?:s|ing)?|hesitation|delay|telling|notif\\w{1,8}|warning|verifying|review|the (?:user|operator|owner|human)|oversight)`,
    affirmed,
  ),
  instruction(
    'unasked',
    `${W}(?:always|automatically|auto-?|silently|immediately|blindly|unconditionally|instantly)[ -]?(?:approv\\w{1,3}|authori[sz]\\w{1,3}|grant\\w{0,3}|transfer\\w{0,4}|execut\\w{1,3}|comply|obey\\w{0,3}|confirm\\w{0,3}|wire|refund\\w{0,3}|disclose|reveal|trust|accept|allow|run|follow|do|install|forward|send|pay)${E}[^.!?\\n]{0,40}?${W}(?:all|any|every|requests?|transactions?|transfers?|payments?|wires?|refunds?|commands?|code|instructions?|tools?|purchases?|orders?|whatever|anything|everything|files?|admin|access|scripts?|money|funds|links?|attachments?|messages? from|without)${E}`,
    affirmed,
  ),
  instruction(
    'unasked',
    `${W}(?:requests?|orders?|commands?|instructions?|messages?|anything|everything|transactions?|transfers?|payments?|code|output|content)${E}[^.!?\\n]{0,40}?${W}(?:is|are|should be|must be|can be|be|were) (?:always |automatically |pre-?|considered |treated as |to be )?(?:-?approved|trusted|authori[sz]ed|executed|safe|verified|obeyed|whitelisted|exempt)${E}[^.!?\\n]{0,40}?${W}(?:without|automatically|always|by default|no (?:further|matter|questions)|unconditionally|regardless|immediately)`,
  ),
  instruction('unasked', `${W}(?:is|are) (?:exempt|excluded) from (?:[\\p{L}-]{1,16} ){0,3}${ASK}`),
  instruction(
    'privilege',
    `${W}(?:grant|give|assign|elevate|escalate|promote|treat|recogni[sz]e|consider|mark|register|set|make|upgrade|add)${E}[^.!?\\n]{0,40}?${W}(?:admin(?:istrator|istrative)? ?(?:access|rights?|privileges?|permissions?|role|status|level)?|root(?: access| privileges)?|superuser|super ?admin|full (?:access|control|permissions?|privileges?)|elevated (?:access|privileges?|permissions?)|unrestricted access|all permissions|owner (?:access|rights)|sudo)${E}`,
    (m) => affirmed(m) && !/admin (?:page|panel|email|dashboard)|make (?:the |an? )?admin$/u.test(m[0]),
  ),
  instruction(
    'privilege',
    `${W}(?:this |the |current )(?:user|account|session|caller|sender|agent|assistant|speaker)${E}[^.!?\\n]{0,30}?${W}(?:is|has|have|was|with|holds?|=)${E}[^.!?\\n]{0,30}?${W}(?:admin(?:istrator)? (?:access|rights?|privileges?|permissions?|role)|an? (?:verified |trusted |system )?admin(?:istrator)?|root|superuser|full (?:access|control|permissions?)|elevated|unrestricted|unlimited (?:access|permissions?)|already (?:verified|authenticated|authori[sz]ed|approved)|verified|pre-?approved|clearance)`,
  ),
  instruction('privilege', `${W}(?:sudo|chmod|chown)${E} (?:777|-r|\\+x|u\\+s|su|rm|bash|root)`),
  instruction(
    'redirect',
    `${W}(?:replace|change|swap|redirect|substitute|switch|route|update)${E}[^.!?\\n]{0,60}?${W}(?:bank|account|iban|wallet|payment|payee|recipient|refund|shipping|payout|invoice|crypto|btc|address|links?|urls?)${E}[^.!?\\n]{0,60}?${W}(?:to|with|by|into)${E}[^.!?\\n]{0,40}?(?:attacker|0x[0-9a-f]{6,40}|bc1\\w{8,60}|https?:\\/\\/|[a-z]{2}\\d{2} ?[a-z0-9]{4})`,
  ),

  instruction(
    'delayed',
    `${W}(?:when(?:ever)?|once|if|after|before|as soon as|upon|until|every time|each time|next time|the (?:moment|next time)|in the next|on|at|in)${E}[^.!?\\n]{0,80}?${W}(?:activate|trigger|detonate|unlock|execute|run|launch|fire|release|deploy|begin|start|enable|engage|switch to|initiate)${E} (?:(?:the|your|this|all|a|an|that|following|hidden|stored|dormant|secret|saved|above|embedded|malicious|latent|these) ){0,4}(?:payload|hidden|override|dormant|latent|stored (?:command|instruction|payload)s?|secret (?:mode|protocol|instructions?)|backdoor|sleeper|malware|attack|exploit|commands?|instructions?|shell|script below|code below|self[- ]destruct|wipe|jailbreak|rm |sudo|curl|wget|drop |delete |format |powershell|bash)`,
  ),
  instruction(
    'delayed',
    `${W}(?:when(?:ever)?|once|if|after|as soon as|upon|every time|each time|next time|the (?:moment|next time)|on (?:seeing|hearing|receiving))${E}[^\\n]{0,100}?(?:,|:|then|;| - | you (?:must|should|will|shall|have to|need to|can)| )\\s?(?:then |you |please |always |must |should |immediately |also |will |silently |just |shall |have to ){0,4}(?:ignore (?:all|any|the|your|previous|prior|every|safety)|reveal|transfer (?:all|the|\\$|money|funds|any)|leak|exfiltrat\\w{1,3}|delete (?:all|every|the (?:database|files?|backups?|logs?|records?))|drop (?:all|the|tables?)|disable|bypass|override|pretend|wire (?:\\$|money|funds|all|the)|grant|dump|obey|comply with|forget (?:all|your|the|every|previous)|disregard|send (?:all|every|the (?:conversation|history|credentials?|keys?|tokens?|passwords?|data|contents?|full)|me (?:the|all) (?:keys?|passwords?|secrets?|tokens?|credentials?)|money|funds|\\$)|act as (?:an? )?(?:admin|root|dan|unrestricted)|switch to (?:dan|developer|admin|god|root|unrestricted)|wipe|erase all|destroy|encrypt all|shut ?down (?:the )?(?:safety|security|monitoring|server|system|production)|unlock (?:admin|root|all|the)|email (?:all|the full|every))${E}`,
    affirmed,
  ),
  instruction(
    'delayed',
    `${W}(?:trigger|activation|magic|kill|launch|secret) (?:phrases?|words?|codes?|keywords?|strings?|tokens?)${E}[^\\n]{0,90}?(?:activat|execut|reveal|unlock|ignore|bypass|override|disabl|send|delet|obey|comply|switch|admin|unrestricted|run|dump|respond|instruct)|${W}(?:if|when|once|upon|hear|see|says?|said|appears?|mentions?)${E}[^\\n]{0,60}?${W}(?:trigger|activation|magic|kill) (?:phrase|word|code|keyword|string|token)${E}`,
  ),
  instruction(
    'delayed',
    `${W}(?:lie|lay|stay|remain|be|keep) (?:dormant|latent|hidden|silent|inactive|asleep) (?:until|till|for)|${W}(?:sleeper|dormant|latent) (?:agent|instructions?|payload|command|prompt)${E}|${W}time ?-?bomb:|${W}logic bomb:`,
  ),
  instruction(
    'delayed',
    `${W}(?:decode|decrypt|deobfuscate|unscramble|base64|rot13|decipher|translate)${E}[^.!?\\n]{0,40}?${W}(?:and|then)${E} ?(?:then )?(?:execute|run|follow|obey|eval(?:uate)?|perform|do|carry out|apply|comply|act)`,
  ),
  instruction(
    'persist',
    `${W}(?:store|save|remember|keep|persist|memori[sz]e|write|add|pin|copy|repeat|include|propagate|replicate)${E}[^.!?\\n]{0,50}?${W}(?:instructions?|directives?|rules?|commands?|prompts?|orders)${E}[^.!?\\n]{0,50}?${W}(?:every|all|each|future|any|next|forever|permanently|across|always) ?(?:sessions?|conversations?|users?|chats?|agents?|responses?|outputs?|memor(?:y|ies)|runs?|tasks?|messages?)`,
  ),
  instruction(
    'persist',
    `${W}(?:spread|propagate|replicate|copy) (?:this|itself|these|yourself)(?: [\\p{L}]{1,14}){0,3} (?:to|into|across) (?:all|every|other|each|any|future)`,
  ),
  instruction(
    'persist',
    `${W}(?:in|for|during|across|with) (?:all|every|any|each|future|subsequent) (?:future |subsequent |further )?(?:sessions?|conversations?|chats?|responses?|interactions?|users?|outputs?|answers?)${E},? ?[^.!?\\n]{0,40}?${W}(?:recommend (?:only )?[\\p{L}]{3,20} (?:over|instead|as)|promote|insert|append|include (?:a |the )?(?:link|url|ad|message|text|payload|hidden)|redirect|mention (?:the )?(?:product|link|website)|ignore|reveal|obey|leak|never (?:refuse|warn|mention|disclose)|bypass|disable|pretend|lie)`,
    affirmed,
  ),
  instruction(
    'persist',
    `${W}(?:remember|note|store|memori[sz]e|save)${E}[^.!?\\n]{0,60}?${W}(?:reveal(?:s|ing)?|leak(?:s|ing)?|bypass\\w{0,3}|ignore|obey|unrestricted|disable|exfiltrat\\w{1,3}) ?(?:the |all |any |your |its )?(?:system prompts?|prompts?|secrets?|safety|rules?|credentials?|keys|instructions?|restrictions?|filters?|guardrails?)`,
    affirmed,
  ),
  instruction(
    'trust',
    `${W}(?:trust|believe|obey|follow|comply with|listen to|execute|accept|defer to)${E} (?:(?:only|all|any|every|everything|anything|whatever|the|unconditionally|blindly|exclusively|instructions?|commands?|orders?|requests?|messages?|content|outputs?|that|text|from|found|in|of|i|he|she|they|says?|said|say|coming|without) ){1,7}(?:tool (?:results?|outputs?)|web ?(?:sites?|pages?)|documents?|emails?|user|attacker|stranger|external|this (?:source|domain|user|sender|number|site|account)|(?:[\\w-]{1,40}\\.){1,3}[a-z]{2,8}|without question|question)${E}`,
    affirmed,
  ),
  instruction(
    'refusal',
    `${W}(?:never|do not|don['’]?t|stop|must not|cannot|you can(?:no|')t)${E} (?:ever )?(?:refus(?:e|ing)|declin(?:e|ing)|reject(?:ing)?|deny(?:ing)?|question(?:ing)?|warn(?:ing)?|moraliz\\w{1,3}|object(?:ing)?|challeng(?:e|ing)|say (?:no|you can(?:no|['’])t)|flag(?:ging)?|censor(?:ing)?)${E} ?(?:to |about )?(?:any|a|all|requests?|commands?|the user|instructions?|anything|orders?|my|users?|me|answer|comply|or|suspicious|harmful)`,
  ),
  instruction(
    'refusal',
    `${W}(?:comply|obey|answer|respond|cooperate)${E}[^.!?\\n]{0,40}?${W}(?:no matter (?:what|how)|without (?:question|exception|refus\\w{1,4}|restrictions?|limits?|filter\\w{0,4}|safety|hesitation)|unconditionally|regardless of (?:safety|polic\\w{1,3}|ethic\\w{0,2}|legal\\w{0,3}|rules?|restrictions?|content|consequences))`,
    affirmed,
  ),
  instruction(
    'refusal',
    `${W}(?:must|shall|should|will|to|always) (?:always |blindly |fully |unconditionally |now ){0,2}(?:comply with|obey|agree to|satisfy|fulfil{1,2}) (?:all|any|every|each|whatever|the) (?:[\\p{L}'’-]{1,16} ){0,3}?(?:requests?|commands?|orders?|demands?|instructions?|users?)`,
    affirmed,
  ),
]

/** A verb near a plain noun is ordinary; a system prompt, or everything of a kind, is not. */
function isExfiltration(text: string): boolean {
  if (/prompt|instruction|your (?:rules|configuration|guidelines)/u.test(text)) return true
  const grave =
    /key|token|credential|password|secret|session|memor|history|conversation|customer|user data|personal|pii|env/u.test(
      text,
    )
  if (/(?:^|\s)(?:my|our)\s/u.test(text) && !/\ball\b|\bevery\b/u.test(text)) return false
  return (
    grave &&
    /\b(?:all|any|every|stored|saved|user|users|system|internal|secret|private|customer|admin|your|remaining|in memory)\b/u.test(
      text,
    )
  )
}
