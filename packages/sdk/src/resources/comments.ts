import type { Transport } from '../transport/create-transport.js';
import { pageOf } from '../transport/page-of.js';
import type { CallOptions, Comment, CommentList, NewComment, PageOptions } from '../types.js';

/** Comments on a request; they decide nothing. */
export interface CommentsResource {
  /** Returns the comments, oldest first, and what the caller may write; `id` is the id of the execution or of one of its approvals. */
  list(id: string, options?: PageOptions): Promise<CommentList>;
  /**
   * Throws `forbidden` for a caller who may only read and for a kind that the other side writes; `conflict` after the
   * request has ended, for an answer without a question, and at its limit of comments; `too_many_requests` for too many
   * comments within a minute.
   */
  add(comment: NewComment, options?: CallOptions): Promise<Comment>;
}

export function createComments(transport: Transport): CommentsResource {
  return {
    list: (id, { limit, cursor, ...options } = {}) =>
      transport.query('comments.list', { id, ...pageOf({ limit, cursor }) }, options),
    add: (comment, options) => transport.mutate('comments.add', comment, options),
  };
}
