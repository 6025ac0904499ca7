import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { answerOf } from '../compare/process.js';
import { type Done, serveOrders } from '../compare/serve.js';
import { serveBelay } from '../over-http/serve.js';

// The server, with its worker. The clients are in a process of their own, so that the processor time of this one is the server's.
const [, , url = '', people = '1'] = process.argv;
const { access, close } = await serveBelay(url, { people: Number(people) });
const client = fork(fileURLToPath(new URL('./http-client.js', import.meta.url)), [JSON.stringify(access)]);
await answerOf(client);
await serveOrders(
  async (order) => {
    const before = process.cpuUsage();
    const answer = answerOf(client) as Promise<Done>;
    client.send(order);
    const done = await answer;
    const { user, system } = process.cpuUsage(before);
    return { ...done, processor: (user + system) / 1000 };
  },
  async () => {
    client.disconnect();
    await close();
  },
);
