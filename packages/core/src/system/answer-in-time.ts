import type { Store } from '../context.js';

/** How long a check of this service's state may take, in milliseconds. */
export const answerTime = 2_000;

/** Returns the result of the check, or of `late` after two seconds: a hanging database delays the caller no longer. */
export async function answerInTime<Answer, Late>(
  ctx: Pick<Store, 'delay'>,
  question: () => Promise<Answer>,
  late: () => Late,
): Promise<Answer | Late> {
  const ended = new AbortController();
  const tooLate = ctx.delay(answerTime, ended.signal).then(late);
  // The delay rejects when it is aborted after the result; that is not an error.
  tooLate.catch(() => {});
  try {
    return await Promise.race([question(), tooLate]);
  } finally {
    ended.abort();
  }
}
