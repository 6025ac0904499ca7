import { setTimeout as wait } from 'node:timers/promises';
import type { Attempt, History } from '../history.js';
import type { Random } from '../seed.js';

/** A request that exceeds the bound of the judge goes on a little longer, so that the judge sees it. */
const longestAttempt = 20_000;
/** A real client honours Retry-After, but tries the other server before that. */
const longestPause = 1_000;

export interface Answer {
  status: number;
  body: unknown;
  server: string;
}

export interface Call {
  operation: string;
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
  key?: string;
  /** Statuses that are an answer; 200 is always one. Nothing else is expected but a 503. */
  accepts?: readonly number[];
  /** Which server is tried first; the others follow. */
  first: number;
  /** Hears before every attempt is sent. */
  onSend?(at: number): void;
}

export interface Client {
  /**
   * Repeats until there is an answer, with the same key, at one server after the other; throws when the time is over.
   */
  call(call: Call): Promise<Answer>;
}

class NoAnswer extends Error {}

/** Waits for work that may get no answer: that is written down for the judge, and no end of the run. */
export async function bear<T>(work: Promise<T>, history: History): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    history.unanswered.push({ operation: error.message, at: Date.now() });
    return undefined;
  }
}

interface Options {
  servers: readonly { name: string; url: string }[];
  token: string;
  /** What stands in X-Forwarded-For, so that rate limits are of a person and not of the run. */
  address: string;
  history: History;
  random: Random;
  /** How long it repeats, in milliseconds. */
  patience: number;
}

/** Returns one person's HTTP client, over both servers. */
export function createClient({ servers, token, address, history, random, patience }: Options): Client {
  async function attempt(call: Call, server: { name: string; url: string }): Promise<Answer | undefined> {
    const at = Date.now();
    call.onSend?.(at);
    const started = performance.now();
    const note = (outcome: Attempt['outcome'], expected: boolean) =>
      history.attempts.push({
        server: server.name,
        operation: call.operation,
        at,
        took: performance.now() - started,
        outcome,
        expected,
      });
    try {
      const response = await fetch(`${server.url}${call.path}`, {
        method: call.method,
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'application/json',
          'x-forwarded-for': address,
          ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(call.key === undefined ? {} : { 'idempotency-key': call.key }),
        },
        ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
        signal: AbortSignal.timeout(longestAttempt),
      });
      const body: unknown = await response.json().catch(() => undefined);
      const isAnswer = response.status === 200 || (call.accepts ?? []).includes(response.status);
      note(response.status, isAnswer);
      // An unexpected rejection is repeated as well: the judge has recorded it.
      return isAnswer ? { status: response.status, body, server: server.name } : undefined;
    } catch (error) {
      note((error as Error).name === 'TimeoutError' ? 'timeout' : 'network', false);
      return undefined;
    }
  }

  return {
    async call(call) {
      const until = Date.now() + patience;
      for (let number = 0; Date.now() < until; number += 1) {
        const server = servers[(call.first + number) % servers.length];
        const answer = server && (await attempt(call, server));
        if (answer) return answer;
        // The other server at once, then slower and slower.
        if (number > 0) await wait(Math.min(longestPause, 100 * 2 ** number) * (0.5 + random.next() / 2));
      }
      throw new NoAnswer(`No answer to ${call.operation} ${call.path} within ${patience} ms`);
    },
  };
}
