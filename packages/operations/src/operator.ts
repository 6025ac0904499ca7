import { AccessError } from '@belay/contract/errors';
import { type ActorStore, engineHost, type Logger, readDefinitions, timing, withActor } from '@belay/core';
import { migrateDatabase, openDatabase } from '@belay/db';
import { createClosing, delay, machine, randomBytes, readProgram } from '@belay/program';
import { connectors } from './connectors.js';
import type { Environment } from './environment.js';
import { openStorage } from './open-storage.js';

export interface OperatorOptions {
  environment: Environment;
  /** Who works, for the ledger: the account of the operating system, say. */
  name: string;
  log: Logger;
  /** For commands that only read: what they find is of their own version, or they fail. */
  readOnly?: boolean;
}

export interface OperatorContext {
  context: ActorStore;
  /** Gives everything back; an embedded database stays up when a server uses it. */
  close(): Promise<void>;
}

/**
 * Returns the error that a verb threw on purpose, or undefined for any other. For programs that are bundled: their own
 * copy of the class is not the one that core throws.
 */
export function accessErrorOf(error: unknown): AccessError | undefined {
  return error instanceof AccessError ? error : undefined;
}

/**
 * Opens what an operator's command needs: the database of this installation, whether or not a server runs on it. It has
 * no queue, network or secrets, and of the configuration only what it says of providers: such commands write rows and
 * nothing else. Throws `StartError`.
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
    if (readOnly !== true) await migrateDatabase(storage.url, machine);
    const { db, close } = openDatabase(storage.url, { max: 2, applicationName: 'belay-operator' });
    closing.add('the connections to the database', () => close());
    const definitions = await readDefinitions(db, connectors);
    const context = withActor(
      {
        db,
        catalog: { current: () => definitions, client: () => undefined },
        // There is no queue: a worker finds what these commands make due at its next sweep.
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
