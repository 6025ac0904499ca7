import { join } from 'node:path';
import { replaceFile, type WriteOptions } from '@belay/host';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import type { Names } from './names.js';

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

/** Settings that cannot be overridden: they restrict who can connect, and keep every acknowledged row. */
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
  names: Names;
}

/**
 * Throws for a setting that is malformed or that the operator cannot change.
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
        `The setting ${name} of the embedded PostgreSQL cannot be changed: remove it.`,
      );
    }
  }
}

/** Writes the settings file of a cluster, whole, readable by the server's account. */
export async function writeSettings(
  cluster: string,
  port: number,
  options: SettingsOptions,
  write: WriteOptions,
): Promise<void> {
  const all: Record<string, string> = {
    ...DEFAULTS,
    ...options.settings,
    ...FIXED,
    ...(options.durable ? {} : NOT_DURABLE),
    port: String(port),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${quote(value)}'`);
  const text = `# Written at every start; changes here are lost.\n${lines.join('\n')}\n`;
  await replaceFile(join(cluster, options.names.settings), text, write);
}

function quote(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll("'", "''");
}
