import type { Transport } from '../transport/create-transport.js';
import { pageOf } from '../transport/page-of.js';
import type { CallOptions, Comment, CommentList, NewComment, PageOptions } from '../types.js';

/** What people write about a request; it decides nothing. */
export interface CommentsResource {
  /** Oldest first, with what the caller may write: `id` is of the execution or of one of its approvals. */
  list(id: string, options?: PageOptions): Promise<CommentList>;
  /** Throws `forbidden` for those who may only read, `conflict` after the end, `too_many_requests` for too many at once. */
  add(comment: NewComment, options?: CallOptions): Promise<Comment>;
}

export function createComments(transport: Transport): CommentsResource {
  return {
    list: (id, { limit, cursor, ...options } = {}) =>
      transport.query('comments.list', { id, ...pageOf({ limit, cursor }) }, options),
    add: (comment, options) => transport.mutate('comments.add', comment, options),
  };
}
