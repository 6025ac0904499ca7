import { entitlements } from '@belay/db';
import { Pending, type ProviderClient, Retryable } from '@belay/providers';
import { sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { untilStopped } from '../until-stopped.js';

/** A running call to one system or more. */
interface SystemCall {
  /**
   * Aborts when the call has used its time, or when a system that has been silent since the start of the call responds
   * again.
   */
  signal: AbortSignal;
  /** Returns whether the call was aborted because a system responds again: then it is repeated immediately. */
  overtaken(): boolean;
  /**
   * Returns whether the call waited and then failed while its systems responded to other calls: then only its connection
   * was lost.
   */
  lostAlone(): boolean;
  /** Records that the systems have responded. */
  answered(): void;
  /**
   * Records that the call failed. After an error that may come from a silent system, the systems are checked for a
   * while.
   */
  failed(error: unknown): void;
  close(): void;
}

interface Call {
  since: number;
  overtaken: boolean;
  lostAlone: boolean;
  stop: AbortController;
}

/** What this process knows about the availability of a system. */
interface Pulse {
  calls: Set<Call>;
  answeredAt: number;
  /** Whether a check of the system has failed since it last responded. */
  silent: boolean;
  /**
   * Set when a call failed `at` this time: the system is checked `until` another time, even when no call waits for it.
   * `lost`: the call had waited, and the system had not responded since the call started.
   */
  doubt: { at: number; until: number; lost: boolean } | null;
  watched: boolean;
}

/** The state of a client that was replaced, for example by a new configuration, is dropped with it. */
const pulses = new WeakMap<ProviderClient, Pulse>();

/**
 * Starts a call of some systems. A system that is not a provider of the catalog has no pulse; then only the time limit
 * counts.
 */
export function openCall(ctx: Store, systems: readonly string[]): SystemCall {
  const call: Call = { since: ctx.clock().getTime(), overtaken: false, lostAlone: false, stop: new AbortController() };
  const limit = setTimeout(() => call.stop.abort(tookTooLong()), ctx.timing.callTimeout);
  limit.unref();
  const watched = systems.flatMap((system) => watching(ctx, system));
  for (const { pulse, watch } of watched) {
    pulse.calls.add(call);
    watch();
  }
  return {
    signal: call.stop.signal,
    overtaken: () => call.overtaken,
    lostAlone: () => call.lostAlone,
    answered() {
      for (const { answer } of watched) answer(call.since);
    },
    failed(error) {
      // A provider that requests a pause, or has a running operation, is not silent.
      if (!(error instanceof Retryable) || error instanceof Pending || error.options.afterMilliseconds !== undefined)
        return;
      const now = ctx.clock().getTime();
      // A system that rejects calls quickly has not lost a connection: its pauses stay.
      const waited = now - call.since >= ctx.timing.silence.answer;
      call.lostAlone = waited && watched.length > 0 && watched.every(({ pulse }) => pulse.answeredAt > call.since);
      for (const { pulse, watch } of watched) {
        const lost = waited && pulse.answeredAt <= call.since;
        pulse.doubt = { at: now, until: now + ctx.timing.silence.doubt, lost: lost || pulse.doubt?.lost === true };
        watch();
      }
    },
    close() {
      clearTimeout(limit);
      for (const { pulse } of watched) pulse.calls.delete(call);
    },
  };
}

/** Returns an error with the message of `AbortSignal.timeout`. */
function tookTooLong(): DOMException {
  return new DOMException('The operation was aborted due to timeout', 'TimeoutError');
}

function watching(ctx: Store, system: string) {
  const client = ctx.catalog.client(system);
  if (!client) return [];
  const pulse = pulses.get(client) ?? {
    calls: new Set(),
    answeredAt: 0,
    silent: false,
    doubt: null,
    watched: false,
  };
  pulses.set(client, pulse);
  return [
    {
      pulse,
      watch: () => void watch(ctx, system, client, pulse),
      answer: (asked: number) => answer(ctx, system, pulse, asked),
    },
  ];
}

/**
 * Checks whether a system responds, while it has not responded to waiting calls for some time, or for a while after a call
 * failed. A check changes nothing at the system, takes no place, and has a shorter time limit than a call, so that the
 * recovery of the system is noticed soon.
 */
async function watch(ctx: Store, system: string, client: ProviderClient, pulse: Pulse): Promise<void> {
  if (pulse.watched) return;
  pulse.watched = true;
  const doubted = () => pulse.doubt !== null && pulse.doubt.until > ctx.clock().getTime();
  while (pulse.calls.size > 0 || doubted()) {
    await ctx.delay(ctx.timing.silence.pause);
    if (pulse.silent || doubted() || isQuiet(ctx, pulse)) await ask(ctx, system, client, pulse);
  }
  pulse.watched = false;
}

function isQuiet(ctx: Store, { calls, answeredAt }: Pulse): boolean {
  const oldest = Math.min(...[...calls].map(({ since }) => since));
  return ctx.clock().getTime() - Math.max(answeredAt, oldest) >= ctx.timing.silence.after;
}

async function ask(ctx: Store, system: string, client: ProviderClient, pulse: Pulse): Promise<void> {
  const asked = ctx.clock().getTime();
  const signal = AbortSignal.timeout(ctx.timing.silence.answer);
  try {
    await untilStopped(client.check(signal), signal);
  } catch (error) {
    // A provider that requests a pause is not silent, and a check that was not sent says nothing.
    if (error instanceof Retryable && error.options.afterMilliseconds !== undefined) return;
    if (!pulse.silent) ctx.log.warn({ provider: system, error }, 'a provider does not respond');
    pulse.silent = true;
    return;
  }
  answer(ctx, system, pulse, asked);
}

/** Records a response. After a silence, aborts the earlier calls, which will get no response, and retries postponed ones. */
function answer(ctx: Store, system: string, pulse: Pulse, asked: number): void {
  pulse.answeredAt = ctx.clock().getTime();
  // A check that began before the call failed does not show whether the system responds since then.
  const doubt = pulse.doubt && pulse.doubt.at < asked ? pulse.doubt : null;
  if (doubt) pulse.doubt = null;
  if (!pulse.silent) {
    if (doubt?.lost) retryOrLog(ctx, system, 'failed once');
    return;
  }
  pulse.silent = false;
  ctx.log.info({ provider: system }, 'a provider responds again');
  for (const call of pulse.calls) {
    if (call.since >= asked) continue;
    call.overtaken = true;
    call.stop.abort(new Retryable('The provider responds again; the calls that failed are repeated'));
  }
  retryOrLog(ctx, system, 'all');
}

/** Which postponed calls need not wait: all of them, or, after a lost connection, those that have failed only once. */
type Postponed = 'all' | 'failed once';

function retryOrLog(ctx: Store, system: string, which: Postponed): void {
  retryAtOnce(ctx, system, which).catch((error: unknown) =>
    ctx.log.warn(
      { provider: system, error },
      'calls that were postponed at a provider could not be made due; they are retried after their pause',
    ),
  );
}

/**
 * Makes due what was postponed at a provider because calls failed, when it responds again. Claimed rows are left to
 * their worker. The places of the provider limit how much runs at the same time, revocations first.
 */
async function retryAtOnce(ctx: Store, provider: string, which: Postponed): Promise<void> {
  const failures = which === 'all' ? sql`failures > 0` : sql`failures = 1`;
  const due = await ctx.db.execute<{ id: string }>(sql`
    with waiting as (
      select id from ${entitlements} where provider = ${provider} and state in ('granting', 'revoking') and ${failures}
        and lease_until is null and due_at > app_now()
      order by id for update skip locked)
    update ${entitlements} e set due_at = app_now() from waiting where e.id = waiting.id returning e.id`);
  const [first] = due;
  // One job is enough: the worker that gets it takes everything that is due at the provider.
  if (first) ctx.waker.wake([{ queue: 'entitlements', entitlementId: first.id, provider }]);
}
