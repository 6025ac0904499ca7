import net from 'node:net';

/** An address in front of several servers. */
export interface Switch {
  port: number;
  /** Leads to another port of this machine, and ends every connection. */
  lead(port: number): void;
  /** Leads new connections to these ports in turns, and ends every connection. */
  balance(ports: readonly number[]): void;
  close(): Promise<void>;
}

export async function openSwitch(first: number): Promise<Switch> {
  let ports: readonly number[] = [first];
  let opened = 0;
  const sockets = new Set<net.Socket>();
  const balance = (given: readonly number[]) => {
    ports = given;
    opened = 0;
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const server = net.createServer((client) => {
    const upstream = net.connect(ports[opened % ports.length] ?? first, '127.0.0.1');
    opened += 1;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      const end = () => {
        client.destroy();
        upstream.destroy();
        sockets.delete(socket);
      };
      socket.on('error', end).on('close', end);
    }
    client.pipe(upstream);
    upstream.pipe(client);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as net.AddressInfo).port,
    lead: (port) => balance([port]),
    balance,
    async close() {
      balance(ports);
      await new Promise((done) => server.close(done));
    },
  };
}
