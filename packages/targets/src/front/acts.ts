import type { Act, Exchange, Message, Reply } from './front.js';

/** Returns an act that responds in place of the target, which never sees the request: for throttling, conflicts and outages. */
export function answer(reply: Reply | ((request: Message) => Reply), name = 'answer'): Act {
  return { name, run: async ({ request }) => (typeof reply === 'function' ? reply(request) : reply) };
}

/** Returns an act that responds with "too many requests" and the seconds to wait. */
export function throttle(seconds: number, headers: Record<string, string> = {}): Act {
  return answer({ status: 429, headers: { 'retry-after': String(seconds), ...headers }, body: {} }, 'throttle');
}

/** A limit of calls, as GitHub documents its primary rate limit. */
export interface CallLimit extends Act {
  /** Returns how many calls are left. */
  left(): number;
  /** Returns how many calls arrived when none was left. */
  refused(): number;
}

/** Returns an act that forwards `limit` calls, states in each response how many are left until `resetAt`, and rejects the others. */
export function limitCalls({ limit, resetAt }: { limit: number; resetAt: number }): CallLimit {
  let arrived = 0;
  const left = () => Math.max(0, limit - arrived);
  const stated = () => ({
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(left()),
    'x-ratelimit-reset': String(Math.ceil(resetAt / 1000)),
  });
  return {
    name: 'limit calls',
    left,
    refused: () => Math.max(0, arrived - limit),
    async run(exchange) {
      arrived += 1;
      const headers = stated();
      if (arrived > limit) return { status: 403, headers, body: { message: 'API rate limit exceeded' } };
      const reply = await exchange.forward();
      return { ...reply, headers: { ...reply.headers, ...headers } };
    },
  };
}

/** Cuts the connection before the target sees the request. */
export const loseRequest: Act = { name: 'lose request', run: async () => 'lost' };

/** Lets the target carry out the request, and cuts the connection instead of responding. */
export const loseAnswer: Act = {
  name: 'lose answer',
  async run(exchange) {
    await exchange.forward();
    return 'lost';
  },
};

/** Repeats the last response to the same request, as a replica that lags does. The first request is forwarded. */
export const stale: Act = { name: 'stale', run: async (exchange) => exchange.last() ?? exchange.forward() };

/**
 * Returns an act that responds at once and sends the request to the target later, as an asynchronous operation does. Time is by the
 * front's clock; a request that is due is sent at the next request, or at `settle`.
 */
export function holdBack(milliseconds: number, reply: Reply = { status: 202, body: {} }): Act {
  return {
    name: 'hold back',
    async run(exchange) {
      exchange.later(exchange.now() + milliseconds);
      return reply;
    },
  };
}

/** Returns an act that runs work before the target sees the request, such as an edit by another person. */
export function meanwhile(work: (request: Message) => Promise<unknown>): Act {
  return {
    name: 'meanwhile',
    async run(exchange) {
      await work(exchange.request);
      return exchange.forward();
    },
  };
}

/** Returns an act that changes the target's response. */
export function rewrite(change: (reply: Reply, request: Message) => Reply, name = 'rewrite'): Act {
  return { name, run: async (exchange) => change(await exchange.forward(), exchange.request) };
}

/** An act that holds requests until it is opened. */
export interface Gate extends Act {
  /** Returns how many requests have arrived. */
  arrived(): number;
  open(): void;
}

/** Returns an act that holds requests until it is opened: before the target sees them, or after it has carried them out. */
export function gate(side: 'before' | 'after' = 'before'): Gate {
  let open = () => {};
  let arrived = 0;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const wait = () => {
    arrived += 1;
    return opened;
  };
  return {
    name: `gate ${side}`,
    arrived: () => arrived,
    open: () => open(),
    async run(exchange) {
      if (side === 'before') await wait();
      const reply = await exchange.forward();
      if (side === 'after') await wait();
      return reply;
    },
  };
}

const faults: readonly Act[] = [
  throttle(1),
  answer({ status: 500, body: {} }, 'server error'),
  answer({ status: 503, body: {} }, 'unavailable'),
  loseRequest,
  loseAnswer,
];

/**
 * Returns an act that applies a fault to a share of all requests, by the numbers from 0 to 1 of `random`: error responses, lost
 * requests, lost responses, and stale reads when `staleReads` is set.
 */
export function misbehave(random: () => number, share: number, { staleReads = false } = {}): Act {
  const run = (exchange: Exchange) => {
    if (random() >= share) return exchange.forward();
    const possible = staleReads && exchange.request.method === 'GET' ? [...faults, stale] : faults;
    const chosen = possible[Math.floor(random() * possible.length)] ?? loseRequest;
    return chosen.run(exchange);
  };
  return { name: 'misbehave', run };
}
