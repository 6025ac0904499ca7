import type { ServerResponse } from 'node:http';
import type { RequestContext } from '@belay/api';
import { AccessError, type Actor, type Logger } from '@belay/core';
import type { Site } from './identify.js';

export interface OpenStreams {
  /**
   * Counts an event stream, or an answer that waits for something, to the person who opens it, and ends it when their login
   * has. Throws `too_many_requests` when they have as many as they may.
   */
  open(context: RequestContext, response: ServerResponse, kind?: 'stream' | 'answer'): void;
  /** Ends all streams without saying that they are complete, so that clients connect again elsewhere; answers come soon. */
  close(): void;
}

interface Stream {
  token: string | null;
  /** Who it was opened for: with other groups, say, a person may see other things. */
  opened: string | null;
  userId: string | null;
  response: ServerResponse;
  kind: 'stream' | 'answer';
}

export interface OpenStreamsOptions {
  verify: Site['verify'];
  /** How many one person may have at this process. */
  limit(): number;
  /** How often logins are checked again, in milliseconds. */
  interval(): number;
  delay(milliseconds: number, signal: AbortSignal): Promise<void>;
  log: Logger;
}

/** The event streams of this process: no more for one person than the limit, and none for a login that has ended. */
export function createOpenStreams(options: OpenStreamsOptions): OpenStreams {
  const streams = new Set<Stream>();
  /** Aborted while there is no stream to check. */
  let idle = new AbortController();
  idle.abort();

  const watch = async () => {
    const { signal } = idle;
    while (!signal.aborted) {
      await options.delay(options.interval(), signal).catch(() => undefined);
      if (!signal.aborted) await check(streams, options);
    }
  };
  return {
    open(context, response, kind = 'stream') {
      const { actor, token } = context;
      // A client that has disconnected is not counted.
      if (response.closed) return;
      const stream: Stream = { token: null, opened: null, userId: null, response, kind };
      // The procedure rejects streams of callers without a login.
      if (actor?.kind === 'user') {
        refuseMore([...streams].filter(({ userId }) => userId === actor.id).length, options.limit());
        Object.assign(stream, { token, opened: describe(actor), userId: actor.id });
      }
      streams.add(stream);
      if (stream.token !== null && idle.signal.aborted) {
        idle = new AbortController();
        void watch();
      }
      response.once('close', () => {
        streams.delete(stream);
        if (streams.size === 0) idle.abort();
      });
    },
    close() {
      for (const { response, kind } of streams) if (kind === 'stream') response.destroy();
    },
  };
}

/** Checks each login once and ends the streams of logins that have ended or changed. */
async function check(streams: ReadonlySet<Stream>, { verify, log }: OpenStreamsOptions): Promise<void> {
  const tokens = [...new Set([...streams].flatMap(({ token }) => token ?? []))];
  // Asked in one turn, so that they share one query.
  const verified = await Promise.allSettled(tokens.map(async (token) => verify(token)));
  const logins = new Map(verified.map((login, index) => [tokens[index], login]));
  for (const stream of streams) {
    const login = stream.token === null ? undefined : logins.get(stream.token);
    // One that could not be checked, or was opened meanwhile, waits for the next check.
    if (login?.status !== 'fulfilled') continue;
    const now = login.value === null ? null : describe(login.value.actor);
    if (stream.opened !== now) stream.response.destroy();
  }
  const failed = verified.find(({ status }) => status === 'rejected');
  // Without the database no events are sent either.
  if (failed?.status === 'rejected') {
    log.warn({ error: failed.reason }, 'the logins of event streams could not be checked');
  }
}

function refuseMore(open: number, limit: number): void {
  if (open < limit) return;
  throw new AccessError(
    'too_many_requests',
    `You have ${open} event streams open, calls that wait included, which is the limit for one person; close one, then try again`,
    { retryAfter: 5 },
  );
}

function describe(actor: Actor): string {
  return JSON.stringify(actor);
}
