import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

/** The states of a socket in Linux's tables of connections. */
const listening = '0A';

type ReadTable = (path: string) => Promise<string>;

interface Row {
  local: string;
  remote: string;
  state: string;
  uid: number;
  inode: string;
}

/**
 * Returns the account at the other end of a connection within this machine: `nobody` when the system knows of no such
 * connection, undefined where the system does not say (not Linux). The whole address at both ends counts, not the port
 * alone: another user may take the port of one of our programs at another address of this machine. A table that cannot
 * be read names `nobody`; otherwise a process that exhausts the open files could connect.
 */
export async function findPeer(
  { remoteAddress, remotePort, localAddress, localPort }: Socket,
  readTable?: ReadTable,
): Promise<number | 'nobody' | undefined> {
  if (process.platform !== 'linux') return undefined;
  const [theirs, ours] = [entriesOf(remoteAddress, remotePort), entriesOf(localAddress, localPort)];
  // The other end's row. A connection that its program has closed has no owner any more, and the table says 0
  // then, which is no root.
  const row = (await readRows(readTable)).find(({ local, remote }) => theirs.includes(local) && ours.includes(remote));
  return row === undefined || row.inode === '0' ? 'nobody' : row.uid;
}

/**
 * Returns the accounts that listen on this machine at the port of a URL, on its address or on all; undefined for the
 * URL of another machine, and where the system does not say.
 */
export async function findListeners(url: string, readTable?: ReadTable): Promise<number[] | undefined> {
  const { hostname, port, protocol } = new URL(url);
  const names = hostname === 'localhost' ? ['127.0.0.1', '::1'] : [hostname.replace(/^\[(.*)\]$/, '$1')];
  const number = Number(port) || (protocol === 'https:' ? 443 : 80);
  const own = names.flatMap((name) => entriesOf(name, number));
  if (process.platform !== 'linux' || own.length === 0) return undefined;
  // Who listens at every address responds here as well.
  const every = [...(names[0] === '::1' ? [] : ['0'.repeat(8)]), '0'.repeat(32)];
  const entries = [...own, ...every.map((address) => `${address}:${hexOf(number, 4)}`)];
  return (await readRows(readTable)).flatMap(({ local, state, uid }) =>
    state === listening && entries.includes(local) ? [uid] : [],
  );
}

async function readRows(readTable: ReadTable = (path) => readFile(path, 'utf8')): Promise<Row[]> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readTable(`/proc/net/${name}`).catch(() => '')));
  return tables.flatMap((table) =>
    table.split('\n').map((line) => {
      const [, local = '', remote = '', state = '', , , , uid = '', , inode = '0'] = line.trim().split(/\s+/);
      return { local, remote, state, uid: Number(uid), inode };
    }),
  );
}

/** How the tables write an address of this machine's own: little-endian words in hexadecimal, IPv4 also within IPv6. */
function entriesOf(address = '', port = 0): string[] {
  const end = `:${hexOf(port, 4)}`;
  if (address === '::1') return [`00000000000000000000000001000000${end}`];
  const bytes = /^(?:::ffff:)?(127)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)?.slice(1);
  if (bytes === undefined) return [];
  const word = bytes
    .map((byte) => hexOf(Number(byte), 2))
    .toReversed()
    .join('');
  return [`${word}${end}`, `0000000000000000FFFF0000${word}${end}`];
}

function hexOf(value: number, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, '0');
}
