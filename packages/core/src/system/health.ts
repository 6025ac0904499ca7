import { isOutage } from '@belay/contract/outage';
import { type Health, programVersion } from '@belay/contract/system';
import { countDrifts } from '../access/drift.js';
import { readGate } from '../access/restore/gate.js';
import type { Context } from '../context.js';
import { readNow } from '../now.js';
import { noteOutage } from '../outage.js';
import { open, seal } from '../tokens/seal.js';
import {
  countDisabledChannels,
  countDoubted,
  countElsewhere,
  countFailing,
  countOverdue,
  countOverdueReviews,
  countUndelivered,
} from './alarms.js';
import { answerInTime, answerTime } from './answer-in-time.js';

/** Returns the health of every service, within two seconds (GET /health). An overdue revocation makes it degraded. */
export async function readHealth(
  ctx: Context,
  input: { path: string; scheduler: () => Promise<string>; droppedJobs?: number },
): Promise<Health> {
  let now = ctx.clock();
  const [storage, scheduler, llm, encryption, vault, overdue] = await Promise.all([
    ask(ctx, async () => {
      now = await readNow(ctx.db);
      return 'healthy';
    }),
    ask(ctx, () => schedulerHealth(input)),
    ask(ctx, async () => (await ctx.suggester?.health()) ?? 'not configured'),
    ask(ctx, async () => {
      const at = ctx.clock();
      await open(ctx.keyring, 'state', await seal(ctx.keyring, 'state', {}, { now: at, lifetime: answerTime }), at);
      // The keys are in memory: while their service is unavailable, only starts and rotations must wait.
      return (await ctx.encryption?.health()) ?? 'healthy';
    }),
    ask(ctx, async () => (await ctx.vault?.health()) ?? 'not configured'),
    ask(ctx, () => engineHealth(ctx)),
  ]);
  const services = {
    workflow_engine: storage === 'healthy' ? overdue : 'unhealthy',
    llm,
    encryption,
    vault,
    scheduler,
    storage,
  };
  const bad = Object.values(services).some((service) => service !== 'healthy' && service !== 'not configured');
  const status =
    storage !== 'healthy' || encryption.startsWith('unhealthy') ? 'unhealthy' : bad ? 'degraded' : 'healthy';
  return { status, path: input.path, timestamp: now.toISOString(), version: programVersion(ctx), services };
}

/**
 * Returns the health of the queue, and whether it dropped jobs recently. A dropped job loses no work, but it shows that a sender of
 * jobs has a problem.
 */
async function schedulerHealth(input: { scheduler: () => Promise<string>; droppedJobs?: number }): Promise<string> {
  const said = await input.scheduler();
  if (said !== 'healthy' || !input.droppedJobs) return said;
  return `degraded: ${input.droppedJobs} jobs of the queue were dropped in the last 15 minutes; see the log`;
}

/** Returns the alarms of the engine, for example overdue revocations, failing executions and undelivered messages. */
async function engineHealth(ctx: Context): Promise<string> {
  const [gate, overdue, elsewhere, doubted, failing, drifted, undelivered, disabled, reviews] = await Promise.all([
    readGate(ctx),
    countOverdue(ctx),
    countElsewhere(ctx),
    countDoubted(ctx),
    countFailing(ctx),
    countDrifts(ctx),
    countUndelivered(ctx),
    countDisabledChannels(ctx),
    countOverdueReviews(ctx),
  ]);
  const alarms = [
    ...(gate ? ['nothing is granted until providers are compared after a restore; see "belay restore status"'] : []),
    ...(overdue > 0 ? [`${overdue} revocations overdue`] : []),
    // Reported without a delay: the state ends only when the address leads to the first target again.
    ...(elsewhere > 0 ? [`${elsewhere} entitlements at providers whose address now leads to another target`] : []),
    ...(doubted > 0 ? [`${doubted} targets whose server is not believed; see the audit log (target.doubted)`] : []),
    ...(failing > 0 ? [`${failing} executions fail with an internal error; see the log`] : []),
    ...(drifted > 0
      ? [`${drifted} differences between what providers hold and what Belay granted; see the audit log (drift.found)`]
      : []),
    ...(undelivered > 0
      ? [`${undelivered} messages could not be delivered in the last 24 hours; see the audit log`]
      : []),
    ...(disabled > 0 ? [`${disabled} channels accept no more messages; change their configuration`] : []),
    ...(reviews > 0 ? [`${reviews} reviews of emergency access overdue; see "belay reviews"`] : []),
  ];
  const obstructed = ctx.obstacles?.count() ?? 0;
  if (obstructed > 0)
    alarms.push(`${obstructed} providers would not grant roles of the configuration; see the log, or "belay doctor"`);
  return alarms.length === 0 ? 'healthy' : `degraded: ${alarms.join(', ')}`;
}

async function ask(ctx: Context, question: () => Promise<string>): Promise<string> {
  try {
    return await answerInTime(ctx, question, () => 'unhealthy: no response in time');
  } catch (error) {
    if (isOutage(error)) noteOutage(ctx, error);
    else ctx.log.warn({ error }, 'a service is not healthy');
    return 'unhealthy';
  }
}
