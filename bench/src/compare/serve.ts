import type { Shape } from '../shapes.js';

/** An implementation of complete elevations on a database, one at a time for each person. */
export interface Contender {
  elevate(person: number, shape: Shape): Promise<void>;
  close(): Promise<void>;
}

/** An order of the parent process: so many people perform so many elevations each, and go on for so long. */
export interface Order {
  shape: Shape;
  people: number;
  least: number;
  milliseconds: number;
}

export interface Done {
  elevations: number;
  milliseconds: number;
  /** Milliseconds of processor time of the whole process, which are more reliable than elapsed time on a shared machine. */
  processor: number;
}

/** Runs a contender in a process of its own: `node <file> <database URL> <people>`, with orders over the IPC channel. */
export async function serveContender(open: (url: string, people: number) => Promise<Contender>): Promise<void> {
  const [, , url = '', people = '1'] = process.argv;
  const contender = await open(url, Number(people));
  await serveOrders((order) => run(contender, order), contender.close);
}

/** Obeys the parent process until it disconnects, one order after the other. */
export async function serveOrders(obey: (order: Order) => Promise<Done>, close: () => Promise<void>): Promise<void> {
  process.on('message', (order: Order) => {
    obey(order).then(
      (done) => process.send?.(done),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  process.once('disconnect', () => void close().finally(() => process.exit(0)));
  process.send?.('ready');
}

async function run(contender: Contender, { shape, people, least, milliseconds }: Order): Promise<Done> {
  const started = performance.now();
  const until = started + milliseconds;
  const before = process.cpuUsage();
  let elevations = 0;
  await Promise.all(
    Array.from({ length: people }, async (_, person) => {
      for (let done = 0; done < least || performance.now() < until; done += 1) {
        await contender.elevate(person, shape);
        elevations += 1;
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return { elevations, milliseconds: performance.now() - started, processor: (user + system) / 1000 };
}
