import { z } from 'zod';
import { Retryable } from '../errors.js';
import type { HttpAnswer } from '../http/answer.js';

const quota = z.object({
  error: z.object({ errors: z.array(z.object({ reason: z.string() })) }),
});
const reasons = ['rateLimitExceeded', 'userRateLimitExceeded', 'quotaExceeded', 'servingLimitExceeded'];

/** Returns what an answer of Google comes to where the status misleads: the Directory API reports quotas with 403. */
export function explainGoogle({ status, body }: HttpAnswer): Retryable | undefined {
  const parsed = status === 403 ? quota.safeParse(body) : undefined;
  const throttled = parsed?.data?.error.errors.some(({ reason }) => reasons.includes(reason));
  return throttled ? new Retryable('Google is handling too many requests') : undefined;
}
