/** An implementation of complete elevations on a database, one at a time for each person. */
export interface Contender {
  elevate(person: number): Promise<void>;
  close(): Promise<void>;
}

/** An order of the parent process: every person performs elevations for so long or, with 0 milliseconds, one elevation. */
export interface Order {
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
  const [, , url = '', count = '1'] = process.argv;
  const people = Array.from({ length: Number(count) }, (_, index) => index);
  const contender = await open(url, people.length);
  process.on('message', (order: Order) => {
    run(contender, people, order).then(
      (done) => process.send?.(done),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  process.once('disconnect', () => void contender.close().finally(() => process.exit(0)));
  process.send?.('ready');
}

async function run(contender: Contender, people: readonly number[], { milliseconds }: Order): Promise<Done> {
  const started = performance.now();
  const until = started + milliseconds;
  const before = process.cpuUsage();
  let elevations = 0;
  await Promise.all(
    people.map(async (person) => {
      do {
        await contender.elevate(person);
        elevations += 1;
      } while (performance.now() < until);
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return { elevations, milliseconds: performance.now() - started, processor: (user + system) / 1000 };
}
