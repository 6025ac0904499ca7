import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { get } from './get.js';

/** An order of the parent process: read pages, one after the other over one connection for each login, and probe meanwhile. */
export interface Reading {
  pages: string[];
  tokens: string[];
  probe: string;
  /** Milliseconds between two probes. */
  every: number;
  milliseconds: number;
}

export interface Read {
  pages: number;
  /** How long each answer to the probe took, in milliseconds. */
  probes: number[];
}

process.on('message', (order: Reading) => {
  read(order).then(
    (done) => process.send?.(done),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.once('disconnect', () => process.exit(0));

async function read({ pages, tokens, probe, every, milliseconds }: Reading): Promise<Read> {
  const until = performance.now() + milliseconds;
  const done: Read = { pages: 0, probes: [] };
  const connection = () => new Agent({ keepAlive: true, maxSockets: 1 });
  const reading = tokens.map(async (token, index) => {
    const agent = connection();
    const headers = { accept: 'text/html', authorization: `Bearer ${token}` };
    for (let next = index; performance.now() < until; next += 1) {
      await get(pages[next % pages.length] ?? '', headers, agent);
      done.pages += 1;
    }
    agent.destroy();
  });
  const probing = async () => {
    const agent = connection();
    while (performance.now() < until) {
      const begun = performance.now();
      await get(probe, { accept: 'application/json' }, agent);
      done.probes.push(performance.now() - begun);
      await wait(every);
    }
    agent.destroy();
  };
  await Promise.all([...reading, probing()]);
  return done;
}
