import net from 'node:net';

/** An address in front of several servers: new connections go to the one that it leads to. */
export interface Switch {
  port: number;
  /** Leads to another port of this machine, and ends every connection to the one before. */
  lead(port: number): void;
  /** Called with what a client sends and the port that it goes to; a port that it returns is led to once the server has answered. */
  watch(hear: (sent: string, port: number) => number | undefined): void;
  close(): Promise<void>;
}

export async function openSwitch(first: number): Promise<Switch> {
  let to = first;
  let hear: (sent: string, port: number) => number | undefined = () => undefined;
  const sockets = new Set<net.Socket>();
  const lead = (port: number) => {
    to = port;
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const server = net.createServer((client) => {
    const port = to;
    const upstream = net.connect(port, '127.0.0.1');
    let next: number | undefined;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      const end = () => {
        client.destroy();
        upstream.destroy();
        sockets.delete(socket);
      };
      socket.on('error', end).on('close', end);
    }
    client.on('data', (data) => {
      next ??= hear(data.toString('latin1'), port);
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      client.write(data);
      // The answer has to arrive before its connection ends.
      if (next === undefined) return;
      const port = next;
      next = undefined;
      to = port;
      client.end();
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as net.AddressInfo).port,
    lead,
    watch(given) {
      hear = given;
    },
    async close() {
      lead(to);
      await new Promise((done) => server.close(done));
    },
  };
}
