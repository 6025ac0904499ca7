import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export interface Proxy {
  port: number;
  /** Cuts every connection and rejects new ones, as a server that was killed would. */
  down(): Promise<void>;
  up(): Promise<void>;
}

/** Returns a loopback port in front of a real server that tests cannot stop because others use it too. */
export async function startProxy(host: string, port: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let server: Server | null = null;
  let own = 0;

  async function up(): Promise<void> {
    server = createServer((client) => {
      const upstream = connect(port, host);
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        sockets.add(from);
        from.on('error', () => to.destroy());
        from.on('close', () => {
          sockets.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
    });
    server.listen(own, '127.0.0.1');
    await once(server, 'listening');
    own = (server.address() as AddressInfo).port;
  }

  async function down(): Promise<void> {
    const closing = server;
    server = null;
    if (closing === null) return;
    const closed = once(closing, 'close');
    closing.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  await up();
  return { port: own, down, up };
}
