import type { Act, Exchange, Message, Reply } from './front.js';

/** Answers in the target's place; it never sees the request. Throttles, conflicts, outages and words of a vendor are such answers. */
export function answer(reply: Reply | ((request: Message) => Reply), name = 'answer'): Act {
  return { name, run: async ({ request }) => (typeof reply === 'function' ? reply(request) : reply) };
}

/** Answers "too many requests", with how long to wait in seconds. */
export function throttle(seconds: number, headers: Record<string, string> = {}): Act {
  return answer({ status: 429, headers: { 'retry-after': String(seconds), ...headers }, body: {} }, 'throttle');
}

/** Cuts the connection before the target sees the request. */
export const loseRequest: Act = { name: 'lose request', run: async () => 'lost' };

/** Has the target carry the request out, and cuts the connection instead of answering. */
export const loseAnswer: Act = {
  name: 'lose answer',
  async run(exchange) {
    await exchange.forward();
    return 'lost';
  },
};

/** Serves again what the same request was last answered: a read from a replica that lags. The first one is forwarded. */
export const stale: Act = { name: 'stale', run: async (exchange) => exchange.last() ?? exchange.forward() };

/**
 * Answers now and has the target carry the request out so much later: an operation that runs by itself. Time is the front's clock,
 * and what is due is carried out at the next request or `settle`.
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

/** Runs something before the target sees the request, such as an edit by another person. */
export function meanwhile(work: (request: Message) => Promise<unknown>): Act {
  return {
    name: 'meanwhile',
    async run(exchange) {
      await work(exchange.request);
      return exchange.forward();
    },
  };
}

/** Changes what the target answers. */
export function rewrite(change: (reply: Reply, request: Message) => Reply, name = 'rewrite'): Act {
  return { name, run: async (exchange) => change(await exchange.forward(), exchange.request) };
}

/** An act that keeps requests until it is told to go on. */
export interface Gate extends Act {
  /** How many have come to it. */
  arrived(): number;
  open(): void;
}

/** Keeps requests until the gate is opened: before the target sees them, or after it has carried them out. */
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
 * Meets so many of all requests with a fault, by numbers from 0 to 1 that come in: rejections, lost requests, lost answers, and stale
 * reads when `staleReads` is set.
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
