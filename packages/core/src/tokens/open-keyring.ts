import { AccessError } from '@belay/contract/errors';
import { isOutage, outageMessage } from '@belay/contract/outage';
import { type Database, encryptionKeys } from '@belay/db';
import { Retryable, within } from '@belay/providers';
import { and, desc, eq, isNull, ne, sql } from 'drizzle-orm';
import type { Logger, Store } from '../context.js';
import { type Keyring, readSecrets } from '../keyring.js';
import { noteOutage } from '../outage.js';
import type { KeyWrapping } from './data-key.js';
import { makeDataKey, unwrapDataKey } from './data-key.js';

export interface OpenKeyringOptions {
  db: Database;
  log: Logger;
  wrapping: KeyWrapping;
  /** `BELAY_SECRET` and the earlier secrets: they only open what they sealed, and seal nothing new. */
  secrets: readonly string[];
  randomBytes(size: number): Uint8Array;
  delay: Store['delay'];
  /** The process's own clock, in milliseconds. */
  now(): number;
}

export interface LiveKeyring extends Keyring {
  find(kid: string): Promise<Uint8Array | undefined>;
  /** Uses the newest key in this process. */
  refresh(): Promise<void>;
  /** Follows rotations until `close`. */
  follow(): void;
  close(): Promise<void>;
}

/** How long a call of the service may take, retries included, in milliseconds. */
const patience = 15_000;
/** How long after a rotation a process may still seal with the previous key, in milliseconds. */
const refreshEvery = 30_000;
/** How long a key that could not be unwrapped is not requested again, in milliseconds: any sender can name its id. */
const failureAge = 30_000;

/**
 * Opens the keyring that a key management service protects: data keys are stored wrapped in the database, and each process unwraps
 * a key once. When two processes make the first start at the same time, one creates the key and both use it. Throws the error of
 * the service when the current key cannot be unwrapped or created. A retired key that cannot be unwrapped is left out and logged.
 */
export async function openKeyring(options: OpenKeyringOptions): Promise<LiveKeyring> {
  const { db, log, wrapping } = options;
  const secrets = new Map<string, Uint8Array>();
  const failed = new Map<string, { at: number; outage: Retryable | undefined }>();
  const notNow = (cause: Retryable) => new AccessError('unavailable', 'Try again in a moment', { cause });
  const ended = new AbortController();
  let following: Promise<void> = Promise.resolve();
  let current = '';

  const inUse = and(eq(encryptionKeys.service, wrapping.name), isNull(encryptionKeys.retiredAt));
  const readInUse = async () => (await db.select().from(encryptionKeys).where(inUse))[0];
  const unwrap = (row: typeof encryptionKeys.$inferSelect) =>
    unwrapDataKey(wrapping.service, row, within(ended.signal, patience));

  async function take(row: typeof encryptionKeys.$inferSelect): Promise<Uint8Array> {
    const material = secrets.get(row.kid) ?? (await unwrap(row));
    secrets.set(row.kid, material);
    if (row.retiredAt === null) current = row.kid;
    return material;
  }

  const note = (error: unknown) => noteOutage({ log, clock: () => new Date(options.now()) }, error);

  async function readKey(kid: string) {
    const sought = and(eq(encryptionKeys.kid, kid), eq(encryptionKeys.service, wrapping.name));
    try {
      return (await db.select().from(encryptionKeys).where(sought))[0];
    } catch (cause) {
      if (!isOutage(cause)) throw cause;
      note(cause);
      throw new AccessError('unavailable', outageMessage, { cause });
    }
  }

  async function refresh(): Promise<void> {
    const row = await readInUse();
    if (row && row.kid !== current) await take(row);
  }

  if ((await readInUse()) === undefined) {
    const made = await makeDataKey(wrapping, options.randomBytes, AbortSignal.timeout(patience));
    await db.insert(encryptionKeys).values(made).onConflictDoNothing();
  }
  await refresh();
  if (current === '') throw new Error('The current key was removed while it was read');
  const retired = await db
    .select()
    .from(encryptionKeys)
    .where(and(eq(encryptionKeys.service, wrapping.name), ne(encryptionKeys.kid, current)))
    .orderBy(desc(encryptionKeys.createdAt));
  for (const row of retired) {
    await take(row).catch((error: unknown) =>
      log.warn({ kid: row.kid, error }, 'a retired key cannot be unwrapped: tokens that it sealed cannot be opened'),
    );
  }
  await warnOfForeign(options);
  for (const [kid, material] of options.secrets.length === 0 ? [] : readSecrets(options.secrets)) {
    secrets.set(kid, material);
  }

  return {
    get current() {
      return current;
    },
    secrets,
    async find(kid) {
      if (typeof kid !== 'string' || !/^[A-Za-z0-9_-]{8}$/.test(kid)) return undefined;
      const earlier = failed.get(kid);
      if (earlier && earlier.at > options.now() - failureAge) {
        if (earlier.outage) throw notNow(earlier.outage);
        return undefined;
      }
      const row = await readKey(kid);
      if (!row) return undefined;
      try {
        return await take(row);
      } catch (cause) {
        const outage = cause instanceof Retryable ? cause : undefined;
        failed.set(kid, { at: options.now(), outage });
        log.warn({ kid, error: cause }, 'a key that another process created cannot be unwrapped');
        if (outage) throw notNow(outage);
        return undefined;
      }
    },
    refresh,
    follow() {
      following = (async () => {
        while (!ended.signal.aborted) {
          try {
            await options.delay(refreshEvery, ended.signal);
            await refresh();
          } catch (error) {
            if (ended.signal.aborted) continue;
            if (isOutage(error)) note(error);
            else log.warn({ error }, 'the newest key cannot be used');
          }
        }
      })();
    },
    async close() {
      ended.abort();
      await following;
    },
  };
}

/**
 * Warns about keys that another service or another of its keys wrapped, so that the operator who changed the configuration knows
 * the consequences.
 */
async function warnOfForeign({ db, log, wrapping }: OpenKeyringOptions): Promise<void> {
  const [foreign] = await db
    .select({ count: sql<number>`count(*)::int` })
    .from(encryptionKeys)
    .where(ne(encryptionKeys.service, wrapping.name));
  if (!foreign || foreign.count === 0) return;
  log.warn(
    { keys: foreign.count },
    'keys that another service or key wrapped are left out: tokens that they sealed cannot be opened, and people sign in again',
  );
}
