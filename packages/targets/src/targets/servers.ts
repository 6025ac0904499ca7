import { userInfo } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '@belay/host';
import { listens } from './directories.js';
import { programs } from './names.js';
import { makeScratch, removeScratch, run, start } from './run.js';

export interface MariadbTarget extends AsyncDisposable {
  host: '127.0.0.1';
  port: number;
  socket: string;
  /** Signs in over the socket without a password. */
  admin: 'root';
}

/** Starts MariaDB on a socket and on loopback, with an empty database `test`. `settings` are further options of the server. */
export async function startMariadb({ settings = [] }: { settings?: readonly string[] } = {}): Promise<MariadbTarget> {
  const scratch = await makeScratch('mariadb');
  const port = await findFreePort('127.0.0.1');
  const data = join(scratch, 'data');
  const socket = join(scratch, 'mariadb.sock');
  const user = userInfo().username;
  await run(programs.installMariadb, [
    ...['--no-defaults', `--datadir=${data}`, `--user=${user}`, '--auth-root-authentication-method=normal'],
  ]);
  const server = await start(
    programs.mariadbd,
    [
      ...['--no-defaults', `--datadir=${data}`, `--user=${user}`, `--socket=${socket}`, `--port=${port}`],
      // A folder of its own: at its start, a server deletes the temporary tables of all servers in the folder.
      `--tmpdir=${scratch}`,
      ...['--bind-address=127.0.0.1', `--pid-file=${join(scratch, 'pid')}`, '--innodb-flush-log-at-trx-commit=0'],
      ...settings,
    ],
    { scratch, ready: () => listens(port) },
  );
  return {
    host: '127.0.0.1',
    port,
    socket,
    admin: 'root',
    async [Symbol.asyncDispose]() {
      await server.stop();
      await removeScratch(scratch);
    },
  };
}

export interface HttpTarget extends AsyncDisposable {
  url: string;
}

/** Starts moto, an emulator of AWS. It checks no credentials and forgets everything when it stops. */
export async function startMoto(): Promise<HttpTarget> {
  const scratch = await makeScratch('moto');
  const port = await findFreePort('127.0.0.1');
  const url = `http://127.0.0.1:${port}`;
  const server = await start(programs.moto, ['-H', '127.0.0.1', '-p', String(port)], {
    scratch,
    ready: async () => (await fetch(`${url}/moto-api/`)).ok,
  });
  return {
    url,
    async [Symbol.asyncDispose]() {
      await server.stop();
      await removeScratch(scratch);
    },
  };
}
