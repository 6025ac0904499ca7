import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Wire extends AsyncDisposable {
  /** The address to connect to instead of the database's. */
  url: string;
  /** The statements that were sent so far, in the order of the bytes: one list for each transaction. */
  transactions(): string[][];
}

/** Opens a proxy between a program and PostgreSQL, which reads what the program sends. */
export async function openWire(database: string): Promise<Wire> {
  const target = new URL(database);
  const connections: string[][] = [];
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(target.port || 5432), target.hostname);
    const read = reader();
    connections.push(read.statements);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
    near.on('data', (bytes) => {
      read.take(bytes);
      far.write(bytes);
    });
    far.on('data', (bytes) => near.write(bytes));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(database);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    transactions: () => connections.flatMap(transactionsOf),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Reads the frontend's messages (PostgreSQL, Frontend/Backend Protocol, Message Formats) and keeps each statement that is run. */
function reader() {
  const statements: string[] = [];
  const prepared = new Map<string, string>();
  let rest: Buffer = Buffer.alloc(0);
  let started = false;
  const take = (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      // The first message has no type.
      const head = started ? 1 : 0;
      if (rest.length < head + 4) return;
      const length = head + rest.readInt32BE(head);
      if (rest.length < length) return;
      const body = rest
        .subarray(head + 4, length)
        .toString('utf8')
        .split('\0');
      const type = started ? String.fromCharCode(rest[0] ?? 0) : '';
      started = true;
      rest = rest.subarray(length);
      if (type === 'Q') statements.push(body[0] ?? '');
      if (type === 'P') prepared.set(body[0] ?? '', body[1] ?? '');
      if (type === 'B') statements.push(prepared.get(body[1] ?? '') ?? '');
    }
  };
  return { statements, take };
}

function transactionsOf(statements: readonly string[]): string[][] {
  const found: string[][] = [];
  let current: string[] | null = null;
  for (const text of statements) {
    if (/^begin/i.test(text)) current = [];
    else if (/^(commit|rollback)/i.test(text)) {
      if (current) found.push(current);
      current = null;
    } else current?.push(text);
  }
  return found;
}
