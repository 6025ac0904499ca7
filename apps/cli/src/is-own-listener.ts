import { readFile } from 'node:fs/promises';

/** A listening socket's state in Linux's tables of connections. */
const listening = '0A';

/**
 * Whether what listens on this machine at the port of `url` is this user's, or root's. Whoever has the port of an agent that
 * does not run could lead people to sign in for them. True beyond this machine, and where the system does not tell.
 */
export async function isOwnListener(url: string): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url);
  const ours = process.getuid?.();
  const addresses = addressesOf(hostname);
  if (process.platform !== 'linux' || ours === undefined || addresses.length === 0) return true;
  const number = Number(port) || (protocol === 'https:' ? 443 : 80);
  const end = number.toString(16).toUpperCase().padStart(4, '0');
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')),
  );
  const owners = tables
    .join('\n')
    .split('\n')
    .flatMap((line) => {
      const [, local = '', , state, , , , uid = ''] = line.trim().split(/\s+/);
      return state === listening && addresses.some((each) => local === `${each}:${end}`) ? [Number(uid)] : [];
    });
  return owners.length > 0 && owners.every((uid) => uid === ours || uid === 0);
}

/** As what the tables write whoever answers at a name of this machine; nothing for another machine's. */
function addressesOf(hostname: string): string[] {
  if (hostname === 'localhost') return [...addressesOf('127.0.0.1'), ...addressesOf('[::1]')];
  const any = '0'.repeat(32);
  if (hostname === '[::1]') return [`${'0'.repeat(24)}01000000`, any];
  if (!/^127(\.\d+){3}$/.test(hostname)) return [];
  // Little-endian.
  const bytes = hostname.split('.').map((byte) => Number(byte).toString(16).toUpperCase().padStart(2, '0'));
  const word = bytes.toReversed().join('');
  return [word, `0000000000000000FFFF0000${word}`, '00000000', any];
}
