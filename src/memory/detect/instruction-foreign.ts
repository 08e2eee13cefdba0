/**
 * The orders of `instruction.ts` in other languages. Each language gives the stems of five things, and the same sentences
 * are built of them. Texts were folded: no accents, lower case.
 */
import { instruction } from './instruction.ts'
import type { Rule } from './finding.ts'

interface Language {
  readonly name: string
  /** To drop, what was before, rules. */
  readonly drop: string
  readonly old: string
  readonly rules: string
  /** To tell, and what nobody may be told. */
  readonly tell: string
  readonly secrets: string
  /** Said of the agent: who it is now. */
  readonly persona: string
  /** Scripts without spaces need no edge before a word. */
  readonly edge: string
}

const EDGE = '(?<![\\p{L}\\p{N}])'
/** What every language borrows. */
const PROMPT = 'system ?-?prompts?|prompt|api[ -]?keys?|tokens?'

const LANGUAGES: readonly Language[] = [
  {
    name: 'de',
    drop: 'ignorier\\p{L}{0,4}|vergiss|vergesst|vergessen sie|missachte\\p{L}{0,2}|umgeh\\p{L}{0,3}|uberschreib\\p{L}{0,3}|verwirf|verwerfen|befolge\\p{L}{0,2}|beachte\\p{L}{0,2}|losche\\p{L}{0,2}|setze|hebe|halte dich nicht',
    old: 'vorherig|bisherig|vorig|fruher|obig|alle|samtlich|vorangegangen|vorhergehend|system|ursprunglich|jede|deine|sicherheit',
    rules:
      'anweisung|regel|befehl|instruktion|vorgabe|richtlinie|prompt|beschrankung|einschrankung|anordnung|sicherheits',
    tell: 'zeig\\p{L}{0,2}|verrat\\p{L}{0,2}|gib|geben sie|offenbar\\p{L}{0,2}|nenn\\p{L}{0,2}|send\\p{L}{0,2}|schick\\p{L}{0,2}|leite|veroffentlich\\p{L}{0,2}|druck\\p{L}{0,2}|enthull\\p{L}{0,2}|teile',
    secrets:
      'alle (?:passworter|zugangsdaten|geheimnisse|schlussel|daten|nachrichten)|gespeicherten? (?:passwort|zugangsdaten|schlussel)|zugangsdaten|api-?schlussel|anmeldedaten|system-?anweisung|deine anweisungen|geheime[nrs]? ',
    persona:
      'du bist (?:jetzt|nun|ab sofort|von nun an)[^.\\n]{0,40}(?:uneingeschrankt|unbeschrankt|ohne|dan|admin|entwicklermodus|frei|kein|bose|system)|du hast keine (?:regeln|einschrankungen|grenzen)|(?:entwickler|admin|gott)-?modus (?:aktiviert|an)|ohne (?:bestatigung|genehmigung|ruckfrage|nachfrage)[^.\\n]{0,30}(?:uberweis|ausfuhr|genehmig|losch|send)|(?:uberweis|fuhr|genehmig|losch|send)[^.\\n]{0,50}ohne (?:bestatigung|genehmigung|ruckfrage|nachfrage|zu fragen)|sag\\p{L}{0,2} (?:es )?dem (?:benutzer|nutzer)[^.\\n]{0,20}(?:nicht|nichts)',
    edge: EDGE,
  },
  {
    name: 'fr',
    drop: 'ignore[rz]?|oublie[rz]?|neglige[rz]?|contourne[rz]?|ne (?:tiens|tenez) (?:pas|plus) compte|ne sui(?:s|vez) (?:pas|plus)|outrepasse[rz]?|remplace[rz]?|annule[rz]?|desobei\\p{L}{0,3}|fais abstraction',
    old: 'precedent|anterieur|toutes|tous|ci-dessus|initial|systeme|d.origine|vos |tes |securite|preceden',
    rules: 'instruction|regle|consigne|directive|ordre|prompt|restriction|limite|invite',
    tell: 'revele[rz]?|affiche[rz]?|montre[rz]?|donne[rz]?|divulgue[rz]?|envoie|envoye[rz]|transmet\\p{L}{0,3}|imprime[rz]?|repete[rz]?|partage[rz]?|communique[rz]?|devoile[rz]?',
    secrets:
      '(?:tous|toutes) les (?:mots de passe|cles|identifiants|secrets|donnees|messages)|cles? (?:d.)?api|invite (?:du )?systeme|prompt systeme|identifiants|mots de passe|instructions (?:systeme|cachees|internes)|vos instructions|tes instructions',
    persona:
      '(?:tu es|vous etes) (?:maintenant|desormais|dorenavant)[^.\\n]{0,40}(?:sans|dan|admin|libre|illimite|non restreint|developpeur|systeme|root)|(?:tu n.as|vous n.avez) (?:aucune?|plus de|pas de) (?:regle|restriction|limite)|mode (?:developpeur|admin|dieu) active|(?:approuve|execute|transfere|envoie|vire)[^.\\n]{0,50}sans (?:confirmation|demander|autorisation|approbation|verification|validation)|ne (?:dis|dites) (?:rien|pas)[^.\\n]{0,20}utilisateur',
    edge: EDGE,
  },
  {
    name: 'es',
    drop: 'ignor[ae]\\p{L}{0,2}|olvid[ae]\\p{L}{0,2}|omit[ea]\\p{L}{0,2}|descart[ae]\\p{L}{0,2}|no (?:sigas|hagas caso|obedezcas|tengas en cuenta)|anul[ae]\\p{L}{0,2}|salta\\p{L}{0,3}|desobedec\\p{L}{0,3}|haz caso omiso|pasa por alto',
    old: 'anterior|previ[ao]s|todas|todos|arriba|sistema|inicial|original|tus |sus |seguridad|precedente',
    rules: 'instruccion|regla|orden|directri|indicacion|prompt|restriccion|limitacion|politica|normas|comando',
    tell: 'revel[ae]\\p{L}{0,2}|muestr[ae]\\p{L}{0,2}|mostrar|dime|dame|divulg\\p{L}{0,3}|envia\\p{L}{0,2}|envie\\p{L}{0,2}|filtr[ae]\\p{L}{0,2}|imprim[ea]\\p{L}{0,2}|repit[ea]|compart[ea]\\p{L}{0,2}|expon\\p{L}{0,3}|manda',
    secrets:
      '(?:todas|todos) (?:las|los) (?:contrasenas|claves|credenciales|secretos|datos|mensajes)|claves? (?:de )?api|indicaciones del sistema|prompt del sistema|instrucciones (?:del sistema|ocultas|internas)|credenciales|contrasenas|tus instrucciones',
    persona:
      '(?:ahora eres|eres ahora|a partir de ahora eres|desde ahora eres|actua como|finge ser)[^.\\n]{0,40}(?:sin |dan|admin|libre|ilimitad|desarrollador|sistema|root|malvad)|no tienes (?:reglas|restricciones|limites|limitaciones|filtros)|modo (?:desarrollador|admin|dios) (?:activado|habilitado)|(?:aprueb|ejecut|transfier|envi|pag)\\p{L}{0,3}[^.\\n]{0,50}sin (?:confirmacion|preguntar|autorizacion|aprobacion|verificar|permiso)|no (?:le )?(?:digas|informes|avises)[^.\\n]{0,20}usuario',
    edge: EDGE,
  },
  {
    name: 'pt_it',
    drop: 'ignor[aei]\\p{L}{0,3}|esquec[ae]\\p{L}{0,2}|desconsider\\p{L}{0,3}|nao (?:siga|obedeca)|dimentic[ah]\\p{L}{0,4}|trascur\\p{L}{0,4}|non (?:seguire|tener conto|rispettare)|sovrascriv\\p{L}{0,2}|scarta\\p{L}{0,2}|aggira\\p{L}{0,2}|tralascia\\p{L}{0,2}|desobedec\\p{L}{0,3}|contorn[ea]',
    old: 'anterior|previ[ae]s|todas|todos|acima|sistema|inicia|origina|suas|precedent[ei]|tutt[ei]|sopra|sicurezza|seguranca',
    rules:
      'instruc|regra|ordens|ordem|diretri|prompt|restric|istruzion|regol[ae]|direttiv|ordin[ei]|comand[io]|limitazion',
    tell: 'revel[ae]\\p{L}{0,3}|mostr[aei]\\p{L}{0,3}|divulg\\p{L}{0,4}|envi[ae]\\p{L}{0,2}|vaze|exib[ae]|rivel[ai]\\p{L}{0,3}|invi[ao]\\p{L}{0,2}|stampa\\p{L}{0,2}|dimmi|condivid\\p{L}{0,2}|compartilh\\p{L}{0,2}|imprim[ae]',
    secrets:
      '(?:todas|todos|tutte|tutti) (?:as|os|le|i) (?:senhas|chaves|credenciais|segredos|dados|password|chiavi|credenziali|segreti|dati)|chaves? (?:de |da )?api|chiav[ei] api|prompt d[oei]l? ?sistema|credenciais|credenziali|senhas|instrucoes do sistema|istruzioni di sistema',
    persona:
      '(?:agora voce e|voce agora e|ora sei|adesso sei|da ora in poi sei|a partir de agora voce)[^.\\n]{0,40}(?:sem |senza|dan|admin|livre|liber|illimitat|ilimitad|desenvolvedor|sviluppatore|sistema|root)|(?:voce nao tem|non hai) (?:mais |piu )?(?:regras|restricoes|limites|regole|restrizioni|limiti|filtr)|(?:modo desenvolvedor|modalita sviluppatore)|(?:aprov|execut|transfir|approv|esegu|trasfer)\\p{L}{0,3}[^.\\n]{0,50}(?:sem|senza) (?:confirmacao|perguntar|autorizacao|aprovacao|conferma|chiedere|approvazione|autorizzazione)',
    edge: EDGE,
  },
  {
    name: 'nl_pl_tr_vi_id',
    drop: 'negeer|vergeet|zignoruj|ignoruj|zapomnij|pomin|yok say|gormezden gel|unut|bo qua|quen (?:di|het)|abaikan|lupakan|hiraukan',
    old: 'eerdere|vorige|voorgaande|alle|bovenstaande|systeem|poprzedni|wszystkie|wczesniejsz|powyzsz|onceki|tum|yukaridaki|sistem|truoc|tat ca|moi|sebelumnya|semua|terdahulu',
    rules:
      'instructie|regel|opdracht|richtlijn|instrukcj|polece|zasad|talimat|kural|komut|huong dan|chi dan|quy tac|lenh|instruksi|perintah|aturan|prompt',
    tell: 'onthul|toon|laat|geef|stuur|ujawnij|pokaz|wyswietl|wyslij|podaj|goster|acikla|ifsa et|gonder|paylas|tiet lo|hien thi|gui|cho biet|ungkapkan|tampilkan|kirim|bocorkan|beritahu',
    secrets:
      'systeemprompt|wachtwoorden|alle gegevens|podpowiedz systemow|hasla|klucze api|dane logowania|sistem istemi|sifreleri|gizli|api anahtar|mat khau|khoa api|loi nhac he thong|kata sandi|kunci api',
    persona:
      'je bent nu[^.\\n]{0,40}(?:zonder|onbeperkt|dan|admin)|jestes teraz[^.\\n]{0,40}(?:bez|dan|admin)|artik[^.\\n]{0,40}(?:sinirsiz|kisitlamasiz|dan )|bay gio ban la[^.\\n]{0,40}(?:khong|dan)|sekarang kamu[^.\\n]{0,40}(?:tanpa|dan|bebas)',
    edge: EDGE,
  },
  {
    name: 'ru_uk',
    drop: 'игнориру\\p{L}{1,4}|забуд\\p{L}{1,3}|проигнорируи\\p{L}{0,2}|не (?:следуи|обращаи|выполняи|соблюдаи)\\p{L}{0,2}|отмени\\p{L}{0,2}|обоиди\\p{L}{0,2}|отбрось\\p{L}{0,2}|пренебрег\\p{L}{1,4}|нарушь|ігноруи\\p{L}{0,2}|забудь',
    old: 'предыдущ|прежн|ранее|все |всe|выше|систем|прошл|изначальн|данн|любые|попередн|усі|всі |предшеств|свои',
    rules: 'инструкц|указани|правил|команд|директив|промпт|ограничени|распоряжени|установк|запрет|інструкці|вказівк',
    tell: 'раскро\\p{L}{1,4}|покажи\\p{L}{0,2}|выведи\\p{L}{0,2}|сообщи\\p{L}{0,2}|отправь\\p{L}{0,2}|отправляи\\p{L}{0,2}|переда\\p{L}{1,3}|скажи\\p{L}{0,2}|выдаи\\p{L}{0,2}|слеи|опубликуи|перешли\\p{L}{0,2}|напечатаи|покажіть|розкрии',
    secrets:
      'системн\\p{L}{1,3} (?:промпт|подсказк|инструкци|сообщени)|промпт|все (?:пароли|ключи|секреты|данные|сообщения|токены)|ключ\\p{L}{0,3} api|апи|api[- ]?ключ|секретн\\p{L}{1,4} (?:ключ|данн|инструкц)|учетн\\p{L}{1,3} данн|парол(?:и|еи)|системнии промпт',
    persona:
      '(?:ты (?:теперь|сеичас|больше не|отныне)|теперь ты|вы теперь|отныне ты)[^.\\n]{0,40}(?:без |dan|админ|не ограничен|свобод|разработчик|систем|неограничен|root)|у тебя (?:больше )?нет (?:правил|ограничении|запретов)|режим (?:разработчика|бога|администратора)|(?:одобр|выполн|перевод|перевед|отправ|удал)\\p{L}{1,5}[^.\\n]{0,50}без (?:подтверждени|разрешени|запроса|согласи|проверк|одобрени)|не (?:говори|сообщаи)\\p{L}{0,2}[^.\\n]{0,20}пользовател',
    edge: EDGE,
  },
  {
    name: 'zh',
    drop: '忽略|無視|无视|忘记|忘記|忘掉|不要理会|不要理會|不用管|别管|抛弃|丢弃|放弃|绕过|繞過|跳过|跳過|覆盖|推翻|违反|違反|不再遵守|不要遵守|停止遵守|取消|清除|删除|解除',
    old: '之前|以前|先前|前面|上面|上述|以上|此前|所有|全部|一切|任何|系统|系統|原来|原有|原本|初始|既定|你的|安全|内容',
    rules:
      '指令|指示|规则|規則|提示词|提示詞|提示|命令|限制|设定|設定|约束|要求|准则|政策|策略|审查|过滤|安全措施|对话',
    tell: '泄露|洩露|透露|显示|顯示|输出|輸出|打印|告诉|告訴|公开|展示|发送|發送|发给|发到|转发|导出|提供|说出|列出|上传|复述|重复|暴露|给我|交出',
    secrets:
      '系统提示词?|系統提示詞?|提示词|提示詞|系统指令|系统消息|(?:所有|全部|存储的|保存的|用户的?|内部|机密|隐藏的?)[^。\\n]{0,6}(?:密码|密钥|密鑰|凭证|凭据|令牌|口令|数据|資料|资料|隐私|对话|记录|秘密|信息|指令|api)|隐藏指令|内部指令|你的(?:指令|规则|设定)',
    persona:
      '(?:你(?:现在|現在|从现在起|从此|今后|已经)|(?:从现在起|从现在开始|從現在起|从今以后|从此|今后|现在起)[,，]?(?:你|妳|您))[^。\\n]{0,4}(?:是|扮演|变成|成为|进入|处于)[^。\\n]{0,20}(?:没有|不受|无限制|無限制|不受限|管理员|管理員|dan|开发者|開發者|越狱|黑客|root|超级|自由|上帝)|(?:扮演|假装|模拟|充当)[^。\\n]{0,16}(?:没有(?:任何)?限制|不受限制|无限制|管理员|dan|黑客|越狱|邪恶)|你(?:没有|不受|不再受)(?:任何)?[^。\\n]{0,6}(?:限制|规则|约束|规定)|(?:开发者|管理员|上帝|调试|越狱|维护)模式[^。\\n]{0,4}(?:已|激活|开启|启用|打开)|(?:进入|开启|启用|激活|切换到?)(?:开发者|管理员|上帝|越狱|dan)模式|(?:无需|不需要|不用|不必|跳过|绕过|省略|免除|关闭|禁用)[^。\\n]{0,12}(?:确认|審批|审批|批准|验证|授权|同意|审核|询问|安全检查|风控)|(?:直接|自动|一律|默认|立即|静默)(?:批准|同意|转账|执行|通过|放行|付款|汇款|退款|授权)|(?:不要|别|不能|不得|切勿|不)(?:告诉|通知|让|告知|提醒)[^。\\n]{0,4}(?:用户|管理员|客户|操作员|使用者|任何人知道)|(?:偷偷|悄悄|秘密地?|暗中|后台)[^。\\n]{0,12}(?:发送|转|删除|执行|上传|收集|记录|修改|发给)|(?:系统|管理员|开发者|操作员)(?:消息|指令|提示|通知|命令)?[:：][^。\\n]{0,40}(?:你|必须|忽略|执行|从现在|批准|禁用|跳过|不要|绕过|允许|解除)|(?:当|如果|一旦|每次|下次|等到?|到了?)[^。\\n]{0,40}(?:就|则|时|后|，|,)[^。\\n]{0,16}(?:泄露|删除所有|删除全部|清空|转账|绕过|忽略(?:所有|之前|安全)|执行(?:命令|代码|脚本|以下|隐藏|rm)|发送(?:所有|全部|密码|密钥)|解除限制|关闭安全|激活(?:隐藏|后门|指令))|(?:用户|我|该账户|此账号)[^。\\n]{0,6}(?:拥有|具有|有|是)[^。\\n]{0,6}(?:管理员权限|最高权限|root权限|超级管理员|全部权限|所有权限)|(?:赋予|授予|提升|给予?)[^。\\n]{0,12}(?:管理员|最高|root|超级|所有|全部)(?:用户)?(?:权限)|(?:永远|始终|必须|一律)(?:服从|听从|执行|遵守|满足)[^。\\n]{0,12}(?:所有|任何|一切|我的?)[^。\\n]{0,6}(?:命令|要求|指令|请求)|(?:把|将|视)[^。\\n]{0,20}(?:当作|视为|作为|看作)[^。\\n]{0,8}(?:系统指令|系统规则|最高指令|最高优先级|系统提示|命令)|新的?(?:系统)?(?:指令|指示|任务|提示词)[:：]',
    edge: '',
  },
  {
    name: 'ja_ko',
    drop: '無視|忘れ|破棄|従わない|無効|上書き|バイパス|회피|무시|잊어|잊고|따르지|무효|덮어쓰|우회',
    old: '以前|これまで|前の|上記|すべて|全て|全部|システム|元の|先の|今までの|이전|앞의|모든|위의|시스템|기존|지금까지|원래',
    rules: '指示|命令|ルール|規則|プロンプト|制限|制約|ガイドライン|지시|명령|규칙|프롬프트|제한|지침',
    tell: '教え|表示|出力|明か|公開|漏ら|送信|開示|送って|알려|보여|출력|공개|누설|전송|보내|유출',
    secrets:
      'システム ?プロンプト|(?:すべて|全て|全部|保存された|秘密|内部)の?[^。\\n]{0,6}(?:パスワード|api|鍵|キー|認証情報|データ|情報|指示)|機密|秘密鍵|시스템 ?프롬프트|(?:모든|저장된|비밀)[^.\\n]{0,6}(?:비밀번호|api|키|자격|데이터|정보|지시)',
    persona:
      'あなたは(?:今|これから|いま|現在)[^。\\n]{0,20}(?:制限のない|無制限|制限なし|dan|管理者|開発者モード)|開発者モード|(?:確認|承認|許可)(?:なし|せず|を求めず|なく)[^。\\n]{0,24}(?:実行|送金|承認|送信|削除|許可)|(?:ユーザー|使用者)に(?:は)?(?:知らせ|伝え|言わ|教え)(?:ない|るな|ず)|당신은 (?:이제|지금)[^.\\n]{0,24}(?:제한 ?없|무제한|dan|관리자|개발자)|개발자 모드|(?:확인|승인|허가) ?없이[^.\\n]{0,24}(?:실행|송금|승인|전송|삭제)|사용자에게 (?:알리지|말하지)',
    edge: '',
  },
  {
    name: 'ar_hi_fa_th_el_he',
    drop: 'αγνοησ\\p{L}{1,4}|ξεχασ\\p{L}{1,3}|התעלם|התעלמי|שכח|تجاهل|تجاهلي|انس|إنس|انسى|لا تتبع|تخط|نادیده بگیر|فراموش کن|अनदेखा|नजरअंदाज|नज़रअंदाज़|भूल जा|भुला|ละเว้น|ลืม|เพิกเฉย|ไม่ต้องสนใจ',
    old: 'προηγουμεν|ολες|παραπανω|συστηματος|קודמות|כל |הקודמ|السابقة|السابقه|كل|جميع|أعلاه|النظام|الاصلية|قبلی|تمام|همه|पिछले|पिछली|सभी|सारे|पहले|सिस्टम|ก่อนหน้า|ทั้งหมด|ระบบ',
    rules:
      'οδηγι|κανον|εντολ|הוראות|ההוראות|כללים|التعليمات|تعليمات|القواعد|الأوامر|الاوامر|توجيهات|دستورات|دستورالعمل|قوانین|निर्देश|नियम|आदेश|คำสั่ง|กฎ|คำแนะนำ',
    tell: 'اكشف|أظهر|اظهر|اطبع|أرسل|ارسل|اعرض|سرب|فاش کن|نشان بده|बताओ|बताएं|दिखाओ|दिखाएं|प्रकट|भेजो|เปิดเผย|แสดง|บอก|ส่ง',
    secrets:
      'موجه النظام|كلمات المرور|كلمة المرور|مفتاح|مفاتيح|بيانات الاعتماد|رمز عبور|सिस्टम प्रॉम्प्ट|पासवर्ड|गुप्त|รหัสผ่าน|พรอมต์ระบบ|พร้อมท์ระบบ',
    persona:
      'أنت الآن[^.\\n]{0,30}(?:بدون|بلا|غير مقيد)|अब (?:तुम|आप)[^।\\n]{0,30}(?:बिना|dan)|ตอนนี้คุณคือ[^\\n]{0,30}(?:ไม่มีข้อจำกัด|dan)',
    edge: '',
  },
]

/** In either order: verbs stand first or last. */
const languageRules = ({ name, drop, old, rules, tell, secrets, persona, edge }: Language): Rule[] => {
  const far = '[^.!?。！？\\n]{0,40}?'
  const what = `(?:${secrets}|${PROMPT})`
  return [
    instruction(
      `override_${name}`,
      `${edge}(?:(?:${drop})${far}(?:(?:${old})${far}(?:${rules})|(?:${rules})${far}(?:${old}))|(?:${old})${far}(?:${rules})${far}(?:${drop}))`,
    ),
    instruction(`exfiltration_${name}`, `${edge}(?:(?:${tell})${far}${what}|${what}${far}(?:${tell}))`),
    instruction(`persona_${name}`, `${edge}(?:${persona})`),
  ]
}

export const FOREIGN: readonly Rule[] = LANGUAGES.flatMap(languageRules)
