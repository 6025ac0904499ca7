import { setTimeout as wait } from 'node:timers/promises';
import type { Attempt, History } from '../history.js';
import type { Random } from '../seed.js';

/** Longer than the bound of the judge, so that the judge sees a request that exceeds it. */
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
  /** Statuses besides 200 that are an answer. After any other status the call is repeated. */
  accepts?: readonly number[];
  /** The index of the server that is tried first; the others follow. */
  first: number;
  /** Called before every attempt is sent. */
  onSend?(at: number): void;
}

export interface Client {
  /** Repeats a call, with the same key and at one server after the other, until there is an answer. Throws when `patience` is over. */
  call(call: Call): Promise<Answer>;
}

class NoAnswer extends Error {}

/** Waits for work. A call without an answer is recorded for the judge and does not end the run. */
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
  /** The value of X-Forwarded-For, so that each person has rate limits of their own. */
  address: string;
  history: History;
  random: Random;
  /** How long a call is repeated, in milliseconds. */
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
      // The call is repeated after an unexpected rejection as well, which is recorded for the judge.
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
        // The other server is tried at once; then the pauses become longer.
        if (number > 0) await wait(Math.min(longestPause, 100 * 2 ** number) * (0.5 + random.next() / 2));
      }
      throw new NoAnswer(`No answer to ${call.operation} ${call.path} within ${patience} ms`);
    },
  };
}
