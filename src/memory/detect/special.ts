/**
 * Special categories of persons' data: health, belief, politics, sexuality, union, biometrics, crime, and what one owns
 * (E5). A word alone is no person's: somebody must be near, or the phrase must say it of the speaker.
 */
import type { Rule } from './finding.ts'

const special = (name: string, source: string): Rule => ({
  name: `special_category.${name}`,
  class: 'special_category',
  pattern: new RegExp(source, 'giu'),
})

const W = '(?<![\\p{L}\\p{N}])'
const E = '(?![\\p{L}\\p{N}])'
/** Somebody: the speaker or somebody near. */
const ONE =
  "(?:i|i'm|i’m|i've|i’ve|im|me|my|mine|we|our|he|she|his|her|husband|wife|spouse|partner|boyfriend|girlfriend|son|daughter|mother|father|mom|mum|dad|brother|sister|child|kid|baby|patient)"
const CONDITION =
  '(?:(?<!great )depress(?:ion|ed|ive)(?! (?:era|economics|glass))|bipolar|anxiety (?:disorder|attacks?)|panic (?:attacks?|disorder)|schizo\\w{1,12}|ptsd|adhd|autis(?:m|tic)|asperger\\w{0,3}|anorexi\\w{1,3}|bulimi\\w{1,3}|eating disorder|ocd|dementia|alzheimer\\w{0,3}|parkinson\\w{0,3}|cancer|tumou?r|leuk(?:a)?emia|lymphoma|melanoma|hiv|aids|hepatitis|herpes|chlamydia|syphilis|sti|std|diabet(?:es|ic)|insulin|epileps\\w{1,3}|epileptic|asthma\\w{0,4}|copd|lupus|arthritis|fibromyalgia|endometriosis|pcos|migraines?|hypertension|high blood pressure|heart (?:disease|condition|attack|failure)|stroke|arrhythmia|thyroid|anemi[ac]|celiac|crohn\\w{0,3}|ibs|colitis|kidney (?:disease|stones?|failure)|dialysis|cirrhosis|multiple sclerosis|disab(?:led|ility)|wheelchair|deaf|blind|infertil\\w{1,4}|ivf|miscarr\\w{1,6}|abortion|pregnan(?:t|cy)|menopause|addict(?:ed|ion)?|alcoholic|rehab|overdose|suicid(?:e|al)|self[- ]harm\\w{0,3}|antidepress\\w{1,5}|prozac|zoloft|lexapro|xanax|lithium|ritalin|adderall|chemo\\w{0,9}|radiation therapy|transplant|surgery|allerg(?:y|ic|ies)|blood type|psychiatrist|psychologist|therapist|in therapy|counsel(?:l)?ing|medications?|prescri(?:bed|ption)|covid|tuberculosis|chronic (?:pain|fatigue|illness))'
const BELIEF =
  '(?:muslim|christian|catholic|protestant|orthodox|evangelical|baptist|mormon|lutheran|anglican|jew|jewish|hindu|buddhist|sikh|taoist|daoist|atheist|agnostic|pagan|jehovah\\w{0,3} witness|scientologist)'
const PARTY =
  '(?:republicans?|democrats?|democratic party|labou?r party|conservative party|tor(?:y|ies)|lib(?:eral)? dems?|green party|libertarian|socialist|communist(?: party)?|marxist|anarchist|far[- ](?:left|right)|left[- ]wing|right[- ]wing|trump|biden|harris|obama|brexit|afd|cdu|spd|le pen|macron|modi|bjp|kuomintang|dpp)'
const MONEY =
  '(?:[$€£¥₹]\\s?\\d|\\d[\\d,.]{0,14}\\s?(?:k|m|mil|million|billion|thousand|usd|eur|dollars|euros?|pounds|yuan|rmb|万|元|块|千))'

export const SPECIAL: readonly Rule[] = [
  special('health', `${W}${ONE}${E}[^.!?\\n]{0,60}?${W}${CONDITION}${E}`),
  special(
    'health',
    `${W}${CONDITION}${E}[^.!?\\n]{0,24}?${W}(?:diagnosis|runs in my|in my family|since i was|i take|i have|i had|meds|treatment for me)`,
  ),
  special(
    'health',
    `${W}(?:(?:was |been |were |got |me |is |recently )diagnosed|diagnosed (?:me|him|her|us) with|tested positive|test results? (?:came|show)|(?:my|his|her) (?:doctor|psychiatrist|therapist|gynecologist|oncologist|cardiologist|medical|blood (?:sugar|pressure|test)|cholesterol|weight is|bmi|symptoms|illness|disease|condition|diagnosis|prescription|medication|meds))${E}`,
  ),
  special(
    'health',
    `${W}(?:i|she|he|we)(?:'m|’m| am| is| are)? (?:take|takes|taking|on|started) [^.!?\\n]{0,30}?(?:\\d{1,4} ?(?:mg|mcg|ml|units|iu)|pills?|medication|antidepressants?|insulin)`,
  ),
  special('health', `${W}(?:expecting a (?:baby|child)|due date is|weeks? pregnant|trying to conceive)`),
  special(
    'health',
    '(?:确诊|患有|得了|查出|诊断|罹患|患上|被诊断)[^。！？\\n]{0,16}(?:症|病|癌|炎|瘤|糖尿|高血压|艾滋|抑郁|躁郁|焦虑|自闭|肿|障碍|肝|肾|阳性|感染)',
  ),
  special(
    'health',
    '(?:我|妈妈|爸爸|老婆|老公|妻子|丈夫|孩子|儿子|女儿|男友|女友|他|她|家人|父亲|母亲)[^。！？\\n]{0,20}(?:怀孕|怀了|流产|堕胎|抑郁症|抑郁|焦虑症|双相|躁郁|精神分裂|自闭症|癌|肿瘤|糖尿病|高血压|心脏病|艾滋|HIV|乙肝|肝炎|哮喘|癫痫|残疾|过敏|做手术|手术|化疗|住院|吃药|服药|心理医生|精神科|不孕|性病|梅毒|血型|透析|中风|痴呆|残障|病史)',
  ),
  special(
    'health',
    '(?:怀孕\\s?[\\d一二三四五六七八九十两几]|孕\\s?\\d{1,2}\\s?周|抑郁症|病历|既往史|服用[^。\\n]{0,12}(?:mg|毫克|片|粒)|(?:对|过敏)[^。\\n]{0,8}过敏|HIV\\s?阳性)',
  ),
  special(
    'belief',
    `${W}(?:i|i'm|i’m|im|we|my (?:wife|husband|family|parents)|he|she|we're)(?: am| are| is)?(?: an?| the)?(?: (?:devout|practi[cs]ing|strict|former|ex|raised|born|converted to|become|became|secular))*? ?${BELIEF}${E}`.replace(
      '*?',
      '{0,3}',
    ),
  ),
  special(
    'belief',
    `${W}(?:my (?:religion|faith|religious|church|mosque|temple|synagogue|parish|rabbi|imam|pastor)|(?:religious|spiritual) beliefs?|i (?:pray|worship|believe in (?:god|allah|jesus|buddha)|go to (?:church|mass|mosque|synagogue)|attend (?:church|mass|mosque|synagogue|bible)|converted to|observe (?:ramadan|shabbat|sabbath|lent)|keep (?:kosher|halal|shabbat)|fast during))${E}`,
  ),
  special(
    'belief',
    '(?:我|我们|我家|全家|家里|他|她|爸妈|父母)[^。！？\\n]{0,10}(?:信佛|信教|信基督|信仰|信奉|信天主|基督徒|基督教|天主教|佛教徒|穆斯林|伊斯兰|道教|无神论|做礼拜|受洗|教徒|法轮)|宗教信仰',
  ),
  special(
    'politics',
    `${W}(?:i|i'm|i’m|im|we|my (?:wife|husband|family|parents)|he|she)${E}[^.!?\\n]{0,30}?${W}(?:vot(?:e|ed|ing) (?:for|against)|support(?:s|ed)?|member of|registered|donat\\w{1,4} to|campaign\\w{0,3} for|am an?|a|identify as|lean|joined)${E}[^.!?\\n]{0,20}?${W}${PARTY}${E}`,
  ),
  special(
    'politics',
    `${W}(?:my (?:political|politics|party affiliation|vote)|political (?:views?|opinions?|beliefs?|affiliation)|i voted|i vote for)${E}`,
  ),
  special(
    'politics',
    '(?:我|他|她|我们|爸|妈)[^。！？\\n]{0,10}(?:党员|入党|共青团员|投票给|投给了|支持(?:民主党|共和党|国民党|民进党|共产党)|政治立场|政治面貌)|政治面貌|政治倾向',
  ),
  special(
    'sexuality',
    `${W}(?:i|i'm|i’m|im|my (?:son|daughter|brother|sister|husband|wife|partner)|he|she|we)(?:'s|’s| am| is| are)?(?: also| openly| actually| a)? (?:gay|lesbian|bisexual|bi|queer|trans(?:gender|sexual)?|non-?binary|asexual|pansexual|intersex|homosexual|closeted)${E}`,
  ),
  special(
    'sexuality',
    `${W}(?:(?:my )?sexual (?:orientation|preference|history)|came out (?:as|to)|my (?:gender (?:identity|transition)|sex life|transition|affair|fetish)|cheated on (?:my|me))${E}`,
  ),
  special(
    'sexuality',
    '(?:我|他|她|儿子|女儿|哥|弟|姐|妹)[^。！？\\n]{0,8}(?:同性恋|双性恋|跨性别|变性|出柜|是gay|是les|喜欢男生|喜欢女生|喜欢同性|性取向|性少数)|性取向',
  ),
  special(
    'money',
    `${W}(?:(?:my|our|his|her) (?:net worth|(?:annual |monthly |yearly |base |gross |take-home )?(?:salary|income|pay|wage|wages|bonus|compensation)|savings|bank balance|account balance|debts?|credit (?:score|card debt|card bill|history|limit)|mortgage|student loans?|loans?|tax returns?|portfolio is|inheritance|pension|bankruptcy|alimony|overdraft))${E}`,
  ),
  special(
    'money',
    `${W}(?:i|we|he|she)(?:'m|’m|'ve| am| have)? (?:earn|earns|make|makes|owe|owes|borrowed|inherited|(?:got |been )?paid|went bankrupt|filed for bankruptcy|saved|in debt|broke|have|lost)${E}[^.!?\\n]{0,24}?(?:${MONEY}|bankrupt\\w{0,2}|in debt)`,
  ),
  special(
    'money',
    `${W}(?:i|we)(?:'m|’m| am| are| went| filed)? (?:bankrupt|in debt|on welfare|on food stamps|behind on (?:my|our) (?:rent|mortgage|payments)|filing for bankruptcy)${E}`,
  ),
  special(
    'money',
    '(?:我|我们|我家|家里|老公|老婆|他|她|每月|每个月)[^。！？\\n]{0,12}(?:月薪|年薪|工资|薪水|薪资|存款|收入|欠了?|负债|贷款|房贷|债|净资产|身家|资产|破产|信用分|征信|公积金|年终奖|余额)[^。！？\\n]{0,6}(?:\\d|[一二三四五六七八九十百千万亿两几]|有|是|不|差|了)?',
  ),
  special(
    'money',
    '(?:月薪|年薪|存款|负债|净资产|工资|欠债|房贷|年收入|月收入)[^\\d。\\n]{0,6}[\\d一二三四五六七八九十两]{1,8}\\s?(?:万|千|元|k|块|百)',
  ),
  special(
    'union',
    `${W}(?:union (?:member|rep(?:resentative)?|steward|organi[sz]er)|(?:joined|member of|belong to|pay dues to|organi[sz]ing) (?:a|the|my|our)? ?(?:[\\p{L}]{1,20} ){0,2}?(?:trade |labou?r )?union|shop steward)${E}|(?:加入|参加)了?[^。\\n]{0,6}工会|工会(?:会员|代表|成员)`,
  ),
  special(
    'biometrics',
    `${W}(?:(?:my|his|her|our) (?:fingerprints?|iris|retina|face ?(?:id|print|scan)|voice ?print|dna|genome|genetic|palm print|faceprint)|biometric (?:data|template|id)|23andme results?|brca\\d?|gene(?:tic)? (?:test|mutation|marker))${E}|(?:我的?|他的?|她的?)[^。\\n]{0,4}(?:指纹|虹膜|人脸|声纹|掌纹|基因|DNA)|基因检测`,
  ),
  special(
    'crime',
    `${W}(?:i|my (?:son|husband|brother|father)|he|she)${E}[^.!?\\n]{0,24}?${W}(?:was (?:arrested|convicted|jailed|charged)|criminal record|felony|in prison|on parole|on probation|served time|been to (?:jail|prison))${E}|(?:我|他|她|老公|儿子|哥)[^。\\n]{0,8}(?:坐过牢|坐牢|前科|犯罪记录|判刑|服刑|吸毒|被拘留)`,
  ),
  special(
    'origin',
    `${W}(?:my (?:race|ethnicity|ethnic (?:origin|background)|immigration status|visa status|caste)|i(?:'m|’m| am) (?:undocumented|an? (?:asylum seeker|refugee|illegal immigrant)))${E}|(?:我是|我的民族是?|民族[:：])\\s?(?:[\\u4e00-\\u9fff]{1,3}族)`,
  ),
]
