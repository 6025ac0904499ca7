import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** How a connection is lost: both ends at once with RST, both ends in order, or only what comes from the server. */
export type Loss = 'reset' | 'close' | 'half-close';

export interface FaultyProxy extends AsyncDisposable {
  port: number;
  /** Resets every new connection at once, until told otherwise. */
  refuse(refusing: boolean): void;
  /** Loses every open connection now. */
  lose(loss: Loss): void;
  /** Loses the next connection, or an open one, when so many more chunks have come by in either direction. */
  loseAfter(chunks: number, loss: Loss): void;
}

/** Starts a TCP proxy on loopback that loses connections as it is told. */
export async function startFaultyProxy(target: { host: string; port: number }): Promise<FaultyProxy> {
  const open = new Set<{ client: Socket; server: Socket }>();
  let planned: { left: number; loss: Loss } | undefined;
  const cut = (pair: { client: Socket; server: Socket }, loss: Loss) => {
    if (loss === 'reset') pair.client.resetAndDestroy();
    else pair.client.end();
    if (loss !== 'half-close') pair.server.destroy();
  };
  let refusing = false;
  const listener = createServer({ allowHalfOpen: true }, (client) => {
    if (refusing) {
      client.resetAndDestroy();
      return;
    }
    const server = connect({ ...target, allowHalfOpen: true });
    const pair = { client, server };
    open.add(pair);
    const pass = (from: Socket, to: Socket) => {
      from.on('data', (chunk) => {
        if (planned && planned.left-- <= 0) {
          const { loss } = planned;
          planned = undefined;
          cut(pair, loss);
        } else if (to.writable) to.write(chunk);
      });
      from.on('end', () => to.end());
      from.on('error', () => to.destroy());
      from.on('close', () => {
        to.destroy();
        open.delete(pair);
      });
    };
    pass(client, server);
    pass(server, client);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  return {
    port: (listener.address() as AddressInfo).port,
    refuse: (refuse) => {
      refusing = refuse;
    },
    lose: (loss) => {
      for (const pair of open) cut(pair, loss);
    },
    loseAfter: (chunks, loss) => {
      planned = { left: chunks, loss };
    },
    async [Symbol.asyncDispose]() {
      for (const { client, server } of open) {
        client.destroy();
        server.destroy();
      }
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}
