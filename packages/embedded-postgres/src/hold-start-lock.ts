import { join } from 'node:path';
import { holdLock } from '@belay/host';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

interface HoldStartLockOptions {
  folder: string;
  /** Unique to this hold. */
  token: string;
  delay(ms: number): Promise<void>;
}

/** Two minutes: longer than the first start of the slowest machine, shorter than an operator's patience. */
const PATIENCE = 120_000;

/**
 * Waits until this process alone may start a server in the folder, and returns the release. The lock only orders starts: that
 * there is never a second postmaster is PostgreSQL's own guarantee (postmaster.pid and the shared memory key).
 *
 * @throws EmbeddedPostgresError `start_failed` when a live holder does not let go within two minutes.
 */
export async function holdStartLock({ folder, token, delay }: HoldStartLockOptions): Promise<() => Promise<void>> {
  const path = join(folder, 'postgres.lock');
  const release = await holdLock({ path, token, delay, patience: PATIENCE });
  if (release !== undefined) return release;
  throw new EmbeddedPostgresError(
    'start_failed',
    `Another process has been starting PostgreSQL in ${folder} for two minutes: end it, or remove ${path}.`,
  );
}
