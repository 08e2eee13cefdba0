/**
 * Words that say nothing about what is meant: pronouns, articles, auxiliaries and the words that make a question. A term
 * of the index is none of them. Negations stay out as well, since "I do not like comedies" is what "Do I like comedies?"
 * has to find.
 */

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter(Boolean))

/** Lower case, apostrophes gone: "don't" is "dont". */
export const ENGLISH_STOPS = words(`
  a an the this that these those some any each every both all such same own other another
  i me my mine myself you your yours yourself he him his himself she her hers herself it its itself we us our ours
  ourselves they them their theirs themselves
  who whom whose which what when where why how
  am is are was were be been being do does did done doing have has had having can could will would shall should may might
  must ought
  im youre hes shes theyre weve ive youve theyve id youd hed wed theyd ill youll hell shell itll well theyll
  isnt arent wasnt werent dont doesnt didnt havent hasnt hadnt cant cannot couldnt wont wouldnt shouldnt
  thats whats whos lets theres heres
  and or but nor so yet if then else than because as while until though although whether
  of at by for with about against between into through during before after above below to from up down in out on off over
  under again further once here there
  no not only very too just also even still already ever never
  yes ok okay oh hey hi hello wow yeah thanks thank please really
  s t d ll m re ve`)

/** Words of Intl.Segmenter and bigrams alike. */
export const CHINESE_STOPS = words(`
  的 了 着 过 地 得 是 在 有 和 与 或 及 而 但 但是 不过 因为 所以 如果 那么 就 才 也 都 还 又 再 很 太 更 最 非常 真 真的
  我 你 您 他 她 它 咱 我们 你们 他们 她们 它们 咱们 自己 人家 大家
  这 那 哪 这个 那个 哪个 这些 那些 哪些 这里 那里 哪里 这样 那样 怎样 怎么 怎么样 什么 谁 几 多少 为什么 为何 何 何时 如何
  吗 呢 吧 啊 呀 哦 嗯 哈 啦 嘛 哇 嗨
  把 被 让 给 对 向 从 到 于 以 用 为 跟 比 由 之 其
  不 没 没有 别 会 能 可以 可 要 想 应该 需要 已 已经 曾 曾经 正在 将 刚 刚才
  个 一 一个 一些 一下 一点 一种 些 种 次 里 上 下 中 内 外 时 时候 后 前 之前 之后 以后 以前 当时 现在
  来 去 说 请 请问 谢谢 你好 好 好的 是的 是否 还是 记得 提到 告诉`)
