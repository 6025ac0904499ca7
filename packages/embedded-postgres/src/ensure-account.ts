import { readFile } from 'node:fs/promises';
import { runProgram } from '@belay/host';

/** The account that the server's programs run as. */
export interface ServerUser {
  uid: number;
  gid: number;
}

/** The ids of `nobody` on Linux distributions, used when /etc/passwd does not contain it. */
const CONVENTIONAL_NOBODY: ServerUser = { uid: 65534, gid: 65534 };
/** Attempts to create the account: another process may be creating one and hold the lock of /etc/passwd. */
const ATTEMPTS = 20;
const PAUSE = 250;

/** Returns commands that create a system account without a login; the first one that is installed is used. */
const makers = (account: string): readonly (readonly [string, readonly string[]])[] => [
  [
    'useradd',
    [
      '--system',
      '--user-group',
      '--no-create-home',
      '--home-dir',
      '/nonexistent',
      '--shell',
      '/usr/sbin/nologin',
      account,
    ],
  ],
  // BusyBox.
  ['adduser', ['-S', '-D', '-H', '-h', '/nonexistent', '-s', '/sbin/nologin', account]],
];

export interface AccountOptions {
  /** The account that exists for the embedded PostgreSQL alone. */
  account: string;
  log(line: string): void;
  delay(milliseconds: number): Promise<void>;
}

/**
 * Returns the account of the embedded PostgreSQL, which it creates when missing. Where that fails (a read-only /etc, no
 * such program), logs this and returns `nobody`, which shares the files and processes with every other service that
 * runs as `nobody`.
 */
export async function ensureAccount({ account, log, delay }: AccountOptions): Promise<ServerUser> {
  let found = await findAccount(account);
  let reason = '';
  for (let attempt = 0; found === undefined && attempt < ATTEMPTS; attempt += 1) {
    const made = await makeAccount(account);
    // Another process that started at the same moment may have made it.
    found = await findAccount(account);
    if (found !== undefined) break;
    reason = made ?? 'it was created, but is not in /etc/passwd';
    if (!/lock/i.test(reason)) break;
    await delay(PAUSE);
  }
  if (found !== undefined) return found;
  log(
    `PostgreSQL runs as nobody, because the account ${account} cannot be created (${reason}): other services that run as nobody can reach its files; create the account`,
  );
  return findNobody();
}

/** Returns the account `nobody` of this system. */
export async function findNobody(): Promise<ServerUser> {
  return (await findAccount('nobody')) ?? CONVENTIONAL_NOBODY;
}

async function findAccount(wanted: string): Promise<ServerUser | undefined> {
  const accounts = await readFile('/etc/passwd', 'utf8').catch(() => '');
  for (const line of accounts.split('\n')) {
    const [name, , uid, gid] = line.split(':');
    // macOS writes -2; the system calls take it as an unsigned 32-bit number.
    if (name === wanted && uid && gid) return { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
  }
  return undefined;
}

/** Creates the account. Returns the reason for which it was not created, and undefined when it was. */
async function makeAccount(account: string): Promise<string | undefined> {
  for (const [program, parameters] of makers(account)) {
    const { code, output, failure } = await runProgram(program, [...parameters]);
    if (failure === 'ENOENT') continue;
    return code === 0 ? undefined : (failure ?? output.trim());
  }
  return 'neither useradd nor adduser is installed';
}
