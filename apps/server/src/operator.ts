import { type ActorContext, createKeyring, type Logger, timing, withActor } from '@belay/core';
import { migrateDatabase, openDatabase } from '@belay/db';
import { createClosing } from './closing.js';
import type { Environment } from './env.js';
import { clock, delay, newId, randomBytes } from './machine.js';
import { openStorage } from './open-storage.js';
import { readProgram } from './program.js';
import { readSecret } from './secret.js';

export interface OperatorOptions {
  environment: Environment;
  /** Who works, for the ledger: the account of the operating system, say. */
  name: string;
  log: Logger;
}

export interface OperatorContext {
  context: ActorContext;
  /** Gives everything back; an embedded database stays up when a server uses it. */
  close(): Promise<void>;
}

/**
 * Opens what an operator's command needs: the database of this installation, whether or not a server runs on it. It
 * has no catalog, queue or network: such commands write rows and nothing else. Throws `StartError`.
 */
export async function openOperatorContext({ environment, name, log }: OperatorOptions): Promise<OperatorContext> {
  const closing = createClosing(log);
  const { dataDirectory } = environment;
  const unavailable = () => {
    throw new Error('An operator command has neither catalog nor network');
  };
  try {
    const storage = await openStorage({ databaseUrl: environment.databaseUrl, dataDirectory, log, randomBytes, delay });
    closing.add('The database', storage.close);
    const { embedded } = storage;
    const secret = await readSecret({ given: environment.secret, embedded, dataDirectory, randomBytes });
    await migrateDatabase(storage.url);
    const { db, close } = openDatabase(storage.url, { max: 2, applicationName: 'belay-operator' });
    closing.add('The connections to the database', () => close());
    const context = withActor(
      {
        db,
        catalog: { current: unavailable, client: () => undefined },
        waker: { wake: () => {} },
        keyring: createKeyring([secret]),
        evaluate: unavailable,
        timing,
        log,
        newId,
        randomBytes,
        clock,
        delay,
        fetch: unavailable,
        crashpoint: () => {},
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
