import type { Transport } from '../transport/create-transport.js';
import { pageOf } from '../transport/page-of.js';
import type { CallOptions, PageOptions, Review, ReviewClosing, ReviewFilter, ReviewList } from '../types.js';

/** The reviews that follow the use of roles for emergencies. */
export interface ReviewsResource {
  /** Administrators and auditors see all, others those that name them; open ones unless the filter says otherwise. */
  list(filter?: ReviewFilter, options?: PageOptions): Promise<ReviewList>;
  /** Throws `forbidden` for those who may only see it, `conflict` for one that is closed or whose access has not ended. */
  close(closing: ReviewClosing, options?: CallOptions): Promise<Review>;
}

export function createReviews(transport: Transport): ReviewsResource {
  return {
    list: (filter = {}, { limit, cursor, ...options } = {}) =>
      transport.query('reviews.list', { ...filter, ...pageOf({ limit, cursor }) }, options),
    close: (closing, options) => transport.mutate('reviews.close', closing, options),
  };
}
