import type { IncomingMessage, ServerResponse } from 'node:http';
import { AccessError } from '@belay/contract/errors';
import type { RestContext } from './exchange.js';
import { stateOf } from './state.js';

export interface OpenStreams<Context extends RestContext> {
  /**
   * Counts an event stream, or a response that waits for something, for the person who opens it, and ends it when their login ends.
   * Throws `too_many_requests` at the limit of one person. Returns a signal that aborts when the response must not wait any longer,
   * also because the client has disconnected.
   */
  open(context: Context, response: ServerResponse, kind?: 'stream' | 'answer'): AbortSignal;
  /** Cuts off all streams, so that clients connect to another process; responses that wait are not ended (see `endWaits`). */
  close(): void;
  /** Ends the waits of all open responses, and of later ones, so that they return the present state. */
  endWaits(): void;
}

interface Stream {
  token: string | null;
  /** The person it was opened for, with their groups: when these change, the person may see other things. */
  opened: string | null;
  person: string | null;
  response: ServerResponse;
  kind: 'stream' | 'answer';
  over: AbortController;
}

export interface OpenStreamsOptions<Context extends RestContext> {
  /** The person who opens a stream; undefined for a caller who is not a person. */
  personOf(context: Context): { id: string; described: string } | undefined;
  /** Returns the caller whom a token proves, as `personOf` describes them; null when the token is not valid. */
  describe(token: string): Promise<string | null>;
  /** How many streams and waiting responses one person may have open at this process. */
  limit(): number;
  /** How often logins are checked again, in milliseconds. */
  interval(): number;
  delay(milliseconds: number, signal: AbortSignal): Promise<void>;
  /** Called when logins could not be checked. */
  failed(error: unknown): void;
}

/** Returns a register of the open event streams of this process, which limits them for each person and ends them with the login. */
export function createOpenStreams<Context extends RestContext>(
  options: OpenStreamsOptions<Context>,
): OpenStreams<Context> {
  const streams = new Set<Stream>();
  let waitsEnded = false;
  /** Aborted while there is no stream whose login has to be checked. */
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
      // The response to a client that has disconnected is not counted, nor is a response that does not wait.
      const over = new AbortController();
      if (response.closed || (waitsEnded && kind === 'answer')) {
        over.abort();
        return over.signal;
      }
      const stream: Stream = { token: null, opened: null, person: null, response, kind, over };
      // The procedure rejects streams of callers without a login.
      const caller = options.personOf(context);
      if (caller !== undefined) {
        refuseMore([...streams].filter(({ person }) => person === caller.id).length, options.limit());
        Object.assign(stream, { token: context.token, opened: caller.described, person: caller.id });
      }
      streams.add(stream);
      if (stream.token !== null && idle.signal.aborted) {
        idle = new AbortController();
        void watch();
      }
      response.once('close', () => {
        streams.delete(stream);
        if (streams.size === 0) idle.abort();
        over.abort();
      });
      return over.signal;
    },
    close() {
      for (const { response, kind } of streams) if (kind === 'stream') response.destroy();
    },
    endWaits() {
      waitsEnded = true;
      for (const { over, kind } of streams) if (kind === 'answer') over.abort();
    },
  };
}

/** Returns `stayOpen` of a request's context. */
export function openAnswer<Context extends RestContext>(
  streams: OpenStreams<Context>,
  context: Context,
  request: IncomingMessage,
  response: ServerResponse,
): (milliseconds: number) => AbortSignal {
  return (milliseconds) => {
    const over = streams.open(context, response, 'answer');
    stateOf(request).mayTake = milliseconds;
    return over;
  };
}

/** Checks each login once and ends the streams of logins that have ended or changed. */
async function check(
  streams: ReadonlySet<Stream>,
  { describe, failed }: Pick<OpenStreamsOptions<RestContext>, 'describe' | 'failed'>,
): Promise<void> {
  const tokens = [...new Set([...streams].flatMap(({ token }) => token ?? []))];
  // All in one turn of the event loop, so that they share one query.
  const verified = await Promise.allSettled(tokens.map(async (token) => describe(token)));
  const logins = new Map(verified.map((login, index) => [tokens[index], login]));
  for (const stream of streams) {
    const login = stream.token === null ? undefined : logins.get(stream.token);
    // A login that could not be checked, or a stream that was opened in the meantime, is checked next time.
    if (login?.status !== 'fulfilled') continue;
    if (stream.opened !== login.value) stream.response.destroy();
  }
  const rejected = verified.find(({ status }) => status === 'rejected');
  // The streams may stay open: without the database no events are sent either.
  if (rejected?.status === 'rejected') failed(rejected.reason);
}

function refuseMore(open: number, limit: number): void {
  if (open < limit) return;
  throw new AccessError(
    'too_many_requests',
    `You have ${open} event streams and waiting calls open, which is the limit for one person; close one, then try again`,
    { retryAfter: 5 },
  );
}
