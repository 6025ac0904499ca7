import { createCipheriv, createDecipheriv } from 'node:crypto';
import { join } from 'node:path';
import { AccessError } from '@belay/contract/errors';
import type { Logger } from '@belay/program';
import { z } from 'zod';
import type { Files } from './files.js';
import type { StoreKey } from './store-key.js';
import type { KeptSession, SessionStore } from './verbs/ports.js';

const schema = z.object({
  sessions: z.array(
    z.object({
      provider: z.string(),
      version: z.number().int(),
      expiry: z.string(),
      session: z.string(),
      person: z.object({ email: z.string(), name: z.string(), groups: z.array(z.string()), provider: z.string() }),
      token: z.string().optional(),
      storedAt: z.string(),
    }),
  ),
});

export interface SessionStoreOptions {
  folder: string;
  files: Files;
  key: StoreKey;
  log: Logger;
  clock(): Date;
  randomBytes(size: number): Buffer;
}

/** The purpose of the seal: a file of another kind that is sealed with the same key is rejected. */
const purpose = Buffer.from('belay sessions 1');

/**
 * Opens the sessions of this machine, in one sealed file. Every change replaces the whole file, and counts only when it is on the disk. A
 * file that cannot be opened is renamed; the store then starts empty and reports it in its health.
 */
export async function openSessionStore(options: SessionStoreOptions): Promise<SessionStore> {
  const { folder, files, key, log, clock, randomBytes } = options;
  const path = join(folder, 'sessions');
  let trouble: string | undefined;
  let held = new Map<string, KeptSession>();
  const found = await files.read(path);
  if (found !== undefined) {
    const opened = unseal(found, key.key);
    if (opened) held = opened;
    else {
      const aside = `${path}.damaged-${clock().toISOString().replace(/[:.]/g, '-')}`;
      await files.rename(path, aside);
      trouble = `degraded: the sessions could not be opened; they were moved to ${aside}, and the store is empty`;
      log.error(
        { aside },
        'the sessions of this machine could not be opened; they were moved aside, and the store is empty',
      );
    }
  }

  // Changes run one after another, so that each starts from the result of the previous one.
  let last: Promise<unknown> = Promise.resolve();
  function change(make: (next: Map<string, KeptSession>) => void): Promise<void> {
    const done = last.then(async () => {
      const next = new Map(held);
      make(next);
      // A session that the next start cannot parse would make the whole file unreadable; a server of another version may send one.
      const read = schema.safeParse({ sessions: [...next.values()] });
      if (!read.success) {
        throw new AccessError(
          'unavailable',
          'The session has a format that this program cannot read; nothing was changed',
          {
            cause: read.error,
          },
        );
      }
      try {
        await files.replace(path, seal(next, key.key, randomBytes(12)));
      } catch (cause) {
        log.error({ error: cause }, 'the sessions of this machine could not be written');
        throw new AccessError('unavailable', 'The session could not be written to the disk; nothing was changed', {
          cause,
        });
      }
      held = next;
    });
    last = done.catch(() => {});
    return done;
  }

  return {
    all: () => [...held.values()],
    put: (session) => change((next) => void next.set(session.provider, session)),
    async remove(provider) {
      let there = false;
      await change((next) => {
        there = next.delete(provider);
      });
      return there;
    },
    async replace(kept, next) {
      let there = false;
      await change((sessions) => {
        there = sessions.get(kept.provider) === kept;
        if (!there) return;
        if (next === undefined) sessions.delete(kept.provider);
        else sessions.set(kept.provider, next);
      });
      return there;
    },
    health: () =>
      trouble ?? `healthy: sealed with a key in ${key.kept === 'keyring' ? 'the keyring' : 'a file of mode 0600'}`,
  };
}

function seal(sessions: ReadonlyMap<string, KeptSession>, key: Buffer, nonce: Buffer): string {
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(purpose);
  const sealed = [cipher.update(JSON.stringify({ sessions: [...sessions.values()] }), 'utf8'), cipher.final()];
  return `belay1.${Buffer.concat([nonce, ...sealed, cipher.getAuthTag()]).toString('base64url')}\n`;
}

function unseal(content: Buffer, key: Buffer): Map<string, KeptSession> | undefined {
  try {
    const [version, body = ''] = content.toString('utf8').trim().split('.');
    const bytes = Buffer.from(body, 'base64url');
    if (version !== 'belay1' || bytes.length < 28) return undefined;
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 }).setAAD(purpose);
    decipher.setAuthTag(bytes.subarray(-16));
    const opened = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('utf8');
    return new Map(schema.parse(JSON.parse(opened)).sessions.map((session) => [session.provider, session]));
  } catch {
    return undefined;
  }
}
