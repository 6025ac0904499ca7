import { open } from 'node:fs/promises';
import type { Socket } from 'node:net';

/** The state of a listening socket in Linux's tables of connections, and the tables. */
const listening = '0A';
const tables = ['tcp', 'tcp6'];

/** Returns a table in pieces, which may end within a row. */
type ReadTable = (path: string) => AsyncIterable<string>;

interface Row {
  local: string;
  remote: string;
  state: string;
  uid: number;
  inode: string;
}

/**
 * Returns the account at the other end of a connection within this machine: `nobody` when the system has no such connection,
 * undefined where the system does not show it (not Linux). Addresses and ports of both ends are compared, because another user may
 * use the same port at another address of this machine. For a table that cannot be read it returns `nobody`; otherwise a process
 * that exhausts the open files could connect.
 */
export async function findPeer(
  { remoteAddress, remotePort, localAddress, localPort }: Socket,
  readTable?: ReadTable,
): Promise<number | 'nobody' | undefined> {
  if (process.platform !== 'linux') return undefined;
  const [theirs, ours] = [entriesOf(remoteAddress, remotePort), entriesOf(localAddress, localPort)];
  // In the row of the other end, its address is the local one.
  const pairs = theirs.flatMap((local) => ours.map((remote) => ` ${local} ${remote} `));
  for (const table of tables) {
    const [row] = await findRows(table, pairs, { most: 1, readTable });
    // A connection that its program has closed has no owner any more: the table then has the uid 0, which does not mean root.
    if (row !== undefined) return row.inode === '0' ? 'nobody' : row.uid;
  }
  return 'nobody';
}

/**
 * Returns the accounts that listen at the port of a URL with a loopback address, on that address or on all addresses;
 * undefined for a URL with another host, and where the system does not show them (not Linux).
 */
export async function findListeners(url: string, readTable?: ReadTable): Promise<number[] | undefined> {
  const { hostname, port, protocol } = new URL(url);
  const names = hostname === 'localhost' ? ['127.0.0.1', '::1'] : [hostname.replace(/^\[(.*)\]$/, '$1')];
  const number = Number(port) || (protocol === 'https:' ? 443 : 80);
  const own = names.flatMap((name) => entriesOf(name, number));
  if (process.platform !== 'linux' || own.length === 0) return undefined;
  // A program that listens on every address also gets the connections to this one.
  const every = [...(names[0] === '::1' ? [] : ['0'.repeat(8)]), '0'.repeat(32)];
  const entries = [...own, ...every.map((address) => `${address}:${hexOf(number, 4)}`)];
  const rows = await Promise.all(tables.map((table) => findRows(table, entries, { readTable })));
  return rows.flat().flatMap(({ local, state, uid }) => (state === listening && entries.includes(local) ? [uid] : []));
}

/**
 * Returns the rows that contain one of the texts, and stops reading when it has `most` of them: on a busy machine the tables
 * have thousands of rows, and each connection of a program on this machine reads them. A table that cannot be read has no rows.
 */
async function findRows(
  table: string,
  texts: readonly string[],
  { most = Infinity, readTable = readPieces }: { most?: number; readTable: ReadTable | undefined },
): Promise<Row[]> {
  const found: Row[] = [];
  let rest = '';
  try {
    for await (const piece of readTable(`/proc/net/${table}`)) {
      const text = rest + piece;
      const end = text.lastIndexOf('\n') + 1;
      rest = text.slice(end);
      if (!texts.some((each) => text.includes(each))) continue;
      const lines = text.slice(0, end).split('\n');
      found.push(...lines.filter((line) => texts.some((each) => line.includes(each))).map(readRow));
      if (found.length >= most) break;
    }
  } catch {
    return [];
  }
  return found.slice(0, most);
}

function readRow(line: string): Row {
  const [, local = '', remote = '', state = '', , , , uid = '', , inode = '0'] = line.trim().split(/\s+/);
  return { local, remote, state, uid: Number(uid), inode };
}

/** Reads a table as the system returns it: a few rows at a time, into one buffer. */
async function* readPieces(path: string): AsyncGenerator<string> {
  const file = await open(path);
  try {
    const buffer = Buffer.allocUnsafe(16_384);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) return;
      yield buffer.toString('latin1', 0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/**
 * Returns a loopback address and port as the tables write them: little-endian words in hexadecimal, IPv4 also within
 * IPv6. Empty for other addresses.
 */
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
