import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findTestPort } from '@belay/testkit/ports';

const program = '/usr/sbin/pgbouncer';

/** Returns whether PgBouncer can be started here. CI installs it, and its absence there is a failure. */
export function hasPooler(): boolean {
  if (process.env.CI || existsSync(program)) return true;
  console.warn('not tested, since not installed: pgbouncer (apt-get install pgbouncer)');
  return false;
}

/** What PgBouncer does not track of the settings of a connection, as the guide has it (docs/guides/scale.md). */
const untracked =
  'statement_timeout, lock_timeout, idle_in_transaction_session_timeout, search_path, IntervalStyle, bytea_output, extra_float_digits, array_nulls, transform_null_equals, default_transaction_isolation, exit_on_error';

export interface Pooler {
  /** The address of the pooler's only database. */
  url: string;
  /** Sends new connections to another server. The connections to the previous server end with that server. */
  turnTo(serverUrl: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a PgBouncer in front of a server, in session mode unless another is given. It ignores the settings of `ignored`, and rejects
 * others that it does not track.
 */
export async function startPooler(
  serverUrl: string,
  { mode = 'session', ignored = untracked }: { mode?: 'session' | 'transaction'; ignored?: string } = {},
): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), 'belay-pgbouncer-'));
  const port = await findTestPort();
  const file = join(folder, 'pgbouncer.ini');
  const write = (url: string) => {
    const { port: to, username, password, pathname } = new URL(url);
    const user = `user=${username}${password === '' ? '' : ` password=${decodeURIComponent(password)}`}`;
    writeFileSync(
      file,
      `[databases]
belay = host=127.0.0.1 port=${to} dbname=${pathname.slice(1)} ${user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 100
max_client_conn = 200
admin_users = admin
ignore_startup_parameters = ${ignored}
`,
    );
  };
  write(serverUrl);
  const account = ownAccount();
  if (account !== undefined) for (const path of [folder, file]) chownSync(path, account.uid, account.gid);
  const child = spawn(program, [file], { ...account, stdio: ['ignore', 'ignore', 'pipe'] });
  await untilUp(child);
  return {
    url: `postgres://belay@127.0.0.1:${port}/belay`,
    async turnTo(url) {
      write(url);
      // PgBouncer reads its configuration again. Its connections to the old server end, because that server is gone.
      child.kill('SIGHUP');
    },
    async stop() {
      const ended = new Promise((done) => child.once('exit', done));
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the account to run PgBouncer with, because PgBouncer does not run as root. */
function ownAccount(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (which: string) => Number(execFileSync('id', [which, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function untilUp(child: ChildProcess): Promise<void> {
  let said = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on('data', (data) => {
      said += String(data);
      if (said.includes('process up')) resolve();
    });
    child.once('exit', () => reject(new Error(`pgbouncer ended: ${said}`)));
  });
}
