/** A result that is one page of many items: what its contract says of it. */
import type { Contract } from '../contract.ts'
import { type Problem, problem } from '../problem.ts'
import type { Paging } from './shorten.ts'

interface Lines {
  readonly effect: string
  readonly page?: { readonly items: string; readonly next: string }
  readonly after?: unknown
}

const isMember = (name: unknown): boolean => typeof name === 'string' && name !== ''

export function pageProblems({ effect, page, after }: Lines): Problem[] {
  const rules: readonly (readonly [boolean, ...Parameters<typeof problem>])[] = [
    [
      page !== undefined && (!isMember(page.items) || !isMember(page.next) || page.items === page.next),
      'page_illegal',
      '/page',
      'A page names two members of the result: its items and the cursor of the next page.',
      "`page: { items: 'orders', next: 'next' }`.",
    ],
    [
      page !== undefined && effect !== 'read',
      'page_of_effect',
      '/page',
      'Pages are read; an effect is not repeated for the next one.',
      'remove `page`.',
    ],
    [
      after !== undefined && page === undefined,
      'after_without_page',
      '/after',
      'There is no page that is continued.',
      "`page: { items: 'orders', next: 'next' }`.",
    ],
  ]
  return rules.filter(([isBroken]) => isBroken).map(([, ...rest]) => problem(...rest))
}

export const pagingOf = ({ page, implementation }: Contract): Paging | null =>
  page && { ...page, after: implementation.after ?? null }
