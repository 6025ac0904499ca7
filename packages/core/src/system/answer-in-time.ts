import type { Context } from '../context.js';

/** How long anything is waited for that says how this service is, in milliseconds. */
export const answerTime = 2_000;

/** What the question answers, or `late` when it has not within two seconds: a database that hangs holds nobody up. */
export async function answerInTime<Answer, Late>(
  ctx: Pick<Context, 'delay'>,
  question: () => Promise<Answer>,
  late: () => Late,
): Promise<Answer | Late> {
  const ended = new AbortController();
  const tooLate = ctx.delay(answerTime, ended.signal).then(late);
  // Nobody waits for it once there is an answer; then it ends by being told to.
  tooLate.catch(() => {});
  try {
    return await Promise.race([question(), tooLate]);
  } finally {
    ended.abort();
  }
}
