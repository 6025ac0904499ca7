import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tie } from '../support/tie.js';
import { lengthOf } from './ber.js';

/** What happens to a request: it is lost, its response is lost, it is rejected as busy, or there is no response. */
export type Fault = 'request' | 'answer' | 'busy' | 'silence';

export interface LdapProxy extends AsyncDisposable {
  url: string;
  /** Returns the fault of a request, by the tag of its operation (RFC 4511, 4.1.1); undefined lets the request pass. */
  misbehave: (operation: number) => Fault | undefined | Promise<Fault | undefined>;
  /** The number of requests that had a fault. */
  faults: number;
}

export const operation = { bind: 0x60, search: 0x63, modify: 0x66, compare: 0x6e };
const unbind = 0x42;

/** Starts a proxy on loopback before a server without TLS. */
export async function startProxy(target: string): Promise<LdapProxy> {
  const port = Number(new URL(target.replace('ldap:', 'http:')).port);
  const sockets = new Set<Socket>();
  const proxy: Pick<LdapProxy, 'misbehave' | 'faults'> = { misbehave: () => undefined, faults: 0 };
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    let losing = false;
    tie(client, upstream, sockets);
    const cut = () => {
      client.destroy();
      upstream.destroy();
    };
    // The connection is cut only when the response arrives, so that the server has carried the request out.
    upstream.on('data', (data) => (losing ? cut() : client.write(data)));
    readMessages(client, async (message) => {
      const { id, tag } = describe(message);
      const fault = tag === unbind ? undefined : await proxy.misbehave(tag);
      if (fault) proxy.faults += 1;
      if (fault === 'request') cut();
      else if (fault === 'busy') client.write(answer(id, tag, 51));
      else if (fault !== 'silence') {
        losing = fault === 'answer';
        upstream.write(message);
      }
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return Object.assign(proxy, {
    url: `ldap://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  });
}

function readMessages(socket: Socket, take: (message: Buffer) => Promise<void>): void {
  let rest = Buffer.alloc(0);
  socket.on('data', (data: Buffer) => {
    rest = Buffer.concat([rest, data]);
    for (let length = sizeOf(rest); length !== undefined && rest.length >= length; length = sizeOf(rest)) {
      void take(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  });
}

/** Returns the size of the next message. TLS is not BER, so all of its bytes pass as they are. */
const sizeOf = (bytes: Buffer) => (bytes[0] === undefined || bytes[0] === 0x30 ? lengthOf(bytes) : bytes.length);

/** Returns the identifier of a message as it is encoded, and the tag of its operation. */
function describe(message: Buffer): { id: Buffer; tag: number } {
  if (message[0] !== 0x30) return { id: message.subarray(0, 0), tag: 0 };
  const first = message[1] ?? 0;
  const begin = first < 0x80 ? 2 : 2 + (first & 0x7f);
  const end = begin + 2 + (message[begin + 1] ?? 0);
  return { id: message.subarray(begin, end), tag: message[end] ?? 0 };
}

/** Returns a result without a name and a message. The result of a search has its own tag. */
function answer(id: Buffer, tag: number, code: number): Buffer {
  const result = Buffer.from([tag === operation.search ? 0x65 : tag + 1, 7, 0x0a, 1, code, 4, 0, 4, 0]);
  return Buffer.concat([Buffer.from([0x30, id.length + result.length]), id, result]);
}
