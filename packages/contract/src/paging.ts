import { z } from 'zod';
import { opaque } from './fields.js';
import { limits } from './limits.js';

/** The paging fields of a request. */
export const paging = {
  limit: z.number().int().min(1).max(limits.page).optional().describe('The most items to return; default: all'),
  cursor: opaque.max(limits.cursor).optional().describe('`next` of the previous page'),
};

/** The part of a long list to return; without `limit`, the whole list. */
export interface PageOf {
  limit?: number | undefined;
  /** `next` of the previous page. */
  cursor?: string | undefined;
}

/** The paging fields of a response. */
export const next = z.string().nullable().describe('Cursor of the next page; null when there is none');
