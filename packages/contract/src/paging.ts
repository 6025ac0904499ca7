import { z } from 'zod';
import { digestOf } from './canonical.js';
import { invalid } from './errors.js';
import { opaque } from './fields.js';
import { limits } from './limits.js';

/** The paging fields of a request. */
export const paging = {
  limit: z.number().int().min(1).max(limits.page).optional().describe('The most items to return; default: 500'),
  cursor: opaque.max(limits.cursor).optional().describe('`next` of the previous page'),
};

/** The paging fields of a request for a list that is returned whole without a limit. */
export const pagingOfWhole = { ...paging, limit: paging.limit.describe('The most items to return; default: all') };

/** The part of a long list to return. */
export interface PageOf {
  limit?: number | undefined;
  /** `next` of the previous page. */
  cursor?: string | undefined;
}

/** The paging field of a response. */
export const next = z.string().nullable().describe('Cursor of the next page; null when there is none');

/**
 * Returns one page of the items of a list in memory that `fits` accepts. After the page, it tests items only until the
 * next one that fits. A cursor is a position in the list that `query` found. Throws `invalid` for a cursor of another
 * query.
 */
export function pageOf<T>(
  items: readonly T[],
  { limit, cursor }: PageOf,
  query: unknown,
  fits: (item: T) => boolean = () => true,
): { page: T[]; next: string | null } {
  // Most lists are requested whole and need no mark.
  const mark = () => digestOf(query).slice(0, 12);
  const start = cursor === undefined ? 0 : placeOf(cursor, mark());
  const page: T[] = [];
  let end = start;
  for (; end < items.length; end += 1) {
    const item = items[end];
    if (item === undefined || !fits(item)) continue;
    if (page.length === limit) break;
    page.push(item);
  }
  return { page, next: page.length > 0 && end < items.length ? `${end}.${mark()}` : null };
}

function placeOf(cursor: string, mark: string): number {
  const [place = '', rest] = cursor.split('.');
  if (!/^\d{1,9}$/.test(place) || rest !== mark) throw invalid('cursor', 'is not a cursor of this list');
  return Number(place);
}
