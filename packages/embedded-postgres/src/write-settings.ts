import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerUser } from './choose-server-user.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

/** The file that holds our settings; postgresql.conf includes it last. */
export const SETTINGS_FILE = 'belay.conf';

const DEFAULTS: Record<string, string> = {
  max_connections: '100',
  shared_buffers: '128MB',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_min_messages: 'warning',
  log_checkpoints: 'off',
  lc_messages: 'C',
};

/** What may not be overridden: who can connect, and that a row which was acknowledged is kept. */
const FIXED: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  password_encryption: 'scram-sha-256',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
};

/** Only for a server whose data is thrown away with it: a crash of the machine may lose everything. */
const NOT_DURABLE: Record<string, string> = { fsync: 'off', full_page_writes: 'off' };

const OURS = new Set([...Object.keys(FIXED), 'port', 'data_directory', 'hba_file', 'ident_file', 'config_file']);

interface SettingsOptions {
  settings: Record<string, string>;
  durable: boolean;
}

/**
 * Refuses settings that are not the operator's to change.
 *
 * @throws EmbeddedPostgresError `start_failed`, naming the setting.
 */
export function checkSettings(settings: Record<string, string>): void {
  for (const [name, value] of Object.entries(settings)) {
    if (!/^[a-z_][a-z0-9_.]*$/.test(name) || /[\r\n\0]/.test(value)) {
      throw new EmbeddedPostgresError(
        'start_failed',
        `The setting ${JSON.stringify(name)} of the embedded PostgreSQL is malformed: a name is lower case, a value is one line.`,
      );
    }
    if (OURS.has(name)) {
      throw new EmbeddedPostgresError(
        'start_failed',
        `The setting ${name} of the embedded PostgreSQL cannot be changed: remove it, or set DATABASE_URL to a server of your own.`,
      );
    }
  }
}

/** Writes the settings file of a cluster, whole, readable by the server's account. */
export async function writeSettings(
  cluster: string,
  port: number,
  options: SettingsOptions,
  user: ServerUser | undefined,
): Promise<void> {
  const all: Record<string, string> = {
    ...DEFAULTS,
    ...options.settings,
    ...FIXED,
    ...(options.durable ? {} : NOT_DURABLE),
    port: String(port),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${quote(value)}'`);
  const file = join(cluster, SETTINGS_FILE);
  await rm(`${file}.new`, { force: true });
  // Created exclusively: the folder is the server account's, and root must not write through a link that it finds there.
  const handle = await open(`${file}.new`, 'wx', 0o600);
  try {
    await handle.writeFile(`# Written at every start; changes here are lost.\n${lines.join('\n')}\n`);
    if (user !== undefined) {
      await handle.chown(user.uid, user.gid);
    }
  } finally {
    await handle.close();
  }
  await rename(`${file}.new`, file);
}

function quote(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll("'", "''");
}
