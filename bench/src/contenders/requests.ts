import { Agent } from 'node:http';
import { get } from './get.js';

/** A client in a process of its own: makes requests over as many connections as there are logins, and tells how long they took. */
export interface Requests {
  url: string;
  /** A connection for each; without a login when it is empty. */
  tokens: string[];
  /** Of all connections together. */
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
