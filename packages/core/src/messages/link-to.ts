import type { Action } from '@belay/providers';
import type { Context } from '../context.js';

/** The target of a link in a message: the page for people, and the operation with which a program reads the same. */
export interface Place {
  page: string;
  api: string;
}

export const places = {
  inbox: { page: '/inbox', api: '/api/v1/approvals' },
  auditLog: { page: '/admin/logs', api: '/api/v1/admin/logs' },
  reviews: { page: '/reviews', api: '/api/v1/reviews' },
};

/** Returns the place of an approval: the inbox, with this approval open. */
export function placeOfApproval(id: string): Place {
  const query = `?id=${encodeURIComponent(id)}`;
  return { page: `${places.inbox.page}${query}`, api: `${places.inbox.api}${query}` };
}

/** Returns the place of a request. */
export function placeOfRequest(id: string | null): Place {
  return { page: `/requests/${id}`, api: `/api/v1/execution/${id}` };
}

/** Returns the link in a message to a place of this server. */
export function linkTo(ctx: Context, label: string, { page, api }: Place): Action {
  const { baseUrl } = ctx.program;
  return { kind: 'link', label, url: new URL(page, baseUrl).href, api: new URL(api, baseUrl).href };
}
