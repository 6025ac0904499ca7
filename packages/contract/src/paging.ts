import { z } from 'zod';
import { opaque } from './fields.js';
import { limits } from './limits.js';

/** What a request says of a page of a long list. */
export const paging = {
  limit: z.number().int().min(1).max(limits.page).optional().describe('How many at most; without it, all there are'),
  cursor: opaque.max(limits.cursor).optional().describe('`next` of the page before'),
};

/** Which part of a long list; without `limit`, all of it. */
export interface PageOf {
  limit?: number | undefined;
  /** `next` of the page before. */
  cursor?: string | undefined;
}

/** What a response says of the page after it. */
export const next = z.string().nullable().describe('Cursor of the next page; null when there is none');
