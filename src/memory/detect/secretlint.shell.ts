/** The patterns of secretlint beside ours (E5). It takes promises and a plug-in, so it stands in a shell; it reads no file. */
import { lintSource } from '@secretlint/core'
import { creator as preset } from '@secretlint/secretlint-rule-preset-recommend'
import { type Candidate, hashOfTexts, type Inspection, textsOf } from '../candidate.ts'
import { type Finding, VERDICTS } from './finding.ts'

const CONFIG = {
  rules: [{ id: '@secretlint/secretlint-rule-preset-recommend', rule: preset, options: {} }],
}

/**
 * What every detector outside of `scan` says of a candidate, bound to its texts. When one fails, nothing is stored: its
 * words may hold the text, so they go nowhere.
 */
export async function inspect(candidate: Pick<Candidate, 'key' | 'value' | 'evidence'>): Promise<Inspection> {
  try {
    const findings = await Promise.all(textsOf(candidate).map(leaked))
    return { ok: true, of: hashOfTexts(candidate), findings: findings.flat() }
  } catch {
    return { ok: false }
  }
}

async function leaked(text: string): Promise<Finding[]> {
  const { messages } = await lintSource({
    source: { filePath: 'memory.txt', content: text, ext: '.txt', contentType: 'text' },
    options: { config: CONFIG, noPhysicFilePath: true },
  })
  return messages.map(({ range, ruleId }) => ({
    class: 'secret',
    verdict: VERDICTS.secret,
    span: [range[0], range[1]],
    rule: `secretlint.${ruleId.replace('@secretlint/secretlint-rule-', '')}`,
  }))
}
