import { AccessError } from '@belay/contract/errors';
import { type ActorStore, engineHost, type Logger, readDefinitions, timing, withActor } from '@belay/core';
import { openDatabase } from '@belay/db';
import { createClosing, delay, machine, randomBytes, readProgram } from '@belay/program';
import { connectors } from './connectors.js';
import type { Environment } from './environment.js';
import { migrateStorage } from './migrate-storage.js';
import { openStorage } from './open-storage.js';

export interface OperatorOptions {
  environment: Environment;
  /** The operator's name in the ledger, for example the account of the operating system. */
  name: string;
  log: Logger;
  /** For commands that only read: they do not migrate the database, so they fail when its version does not match theirs. */
  readOnly?: boolean;
}

export interface OperatorContext {
  context: ActorStore;
  /** Closes all resources; an embedded database keeps running when a server uses it. */
  close(): Promise<void>;
}

/**
 * Returns an error if core threw it on purpose, otherwise undefined. Bundled programs need this function, because their own
 * copy of the class is not the one that core throws.
 */
export function accessErrorOf(error: unknown): AccessError | undefined {
  return error instanceof AccessError ? error : undefined;
}

/**
 * Opens what an operator's command needs: the database of this installation, whether or not a server uses it. Such a
 * command only reads and writes rows, so there is no queue, network or secret, and of the configuration only the
 * definitions of providers. Throws `StartError` when the database cannot be used.
 */
export async function openOperatorContext({
  environment,
  name,
  log,
  readOnly,
}: OperatorOptions): Promise<OperatorContext> {
  const closing = createClosing(log);
  const { dataDirectory } = environment;
  try {
    const storage = await openStorage({ databaseUrl: environment.databaseUrl, dataDirectory, log, randomBytes, delay });
    closing.add('the database', storage.close);
    if (readOnly !== true) await migrateStorage(storage.url);
    const { db, close } = openDatabase(storage.url, { max: 2, applicationName: 'belay-operator' });
    closing.add('the connections to the database', () => close());
    const definitions = await readDefinitions(db, connectors);
    const context = withActor(
      {
        db,
        catalog: { current: () => definitions, client: () => undefined },
        // There is no queue: the next sweep of a worker finds the rows that became due.
        waker: { wake: () => {} },
        timing,
        log,
        ...machine,
        crashpoint: () => {},
        host: engineHost,
        program: { ...(await readProgram()), baseUrl: environment.baseUrl ?? '' },
      },
      { kind: 'operator', name },
    );
    return { context, close: () => closing.close() };
  } catch (error) {
    await closing.close();
    throw error;
  }
}
