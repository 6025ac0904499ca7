import type { Transport } from '../transport/create-transport.js';
import { pageOf } from '../transport/page-of.js';
import type { CallOptions, PageOptions, Review, ReviewClosing, ReviewFilter, ReviewList } from '../types.js';

/** The reviews after the use of roles for emergencies. */
export interface ReviewsResource {
  /**
   * Returns all reviews to administrators and auditors; to others those that name them as a reviewer or that they
   * closed. By default only open ones, or all when the filter names an execution.
   */
  list(filter?: ReviewFilter, options?: PageOptions): Promise<ReviewList>;
  /** Throws `forbidden` for a caller who may only see the review, and `conflict` when it is closed or its access has not ended. */
  close(closing: ReviewClosing, options?: CallOptions): Promise<Review>;
}

export function createReviews(transport: Transport): ReviewsResource {
  return {
    list: (filter = {}, { limit, cursor, ...options } = {}) =>
      transport.query('reviews.list', { ...filter, ...pageOf({ limit, cursor }) }, options),
    close: (closing, options) => transport.mutate('reviews.close', closing, options),
  };
}
