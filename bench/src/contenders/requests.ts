import { Agent } from 'node:http';
import { get } from './get.js';

/** An order of the parent process: make requests over a connection for each login. The reply is the milliseconds that they took. */
export interface Requests {
  url: string;
  /** A connection for each; an empty token is not sent. */
  tokens: string[];
  /** The number of requests on all connections together. */
  count: number;
}

process.on('message', (order: Requests) => {
  make(order).then(
    (milliseconds) => process.send?.(milliseconds),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.once('disconnect', () => process.exit(0));

async function make({ url, tokens, count }: Requests): Promise<number> {
  let left = count;
  const started = performance.now();
  await Promise.all(
    tokens.map(async (token) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const headers = { accept: 'application/json', ...(token === '' ? {} : { authorization: `Bearer ${token}` }) };
      while (left > 0) {
        left -= 1;
        await get(url, headers, agent);
      }
      agent.destroy();
    }),
  );
  return performance.now() - started;
}
