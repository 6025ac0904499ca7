import { join } from 'node:path';
import type { Logger } from '@belay/program';
import type { Files } from './files.js';
import { acceptConfiguration, type LocalConfiguration } from './verbs/configuration.js';
import type { PinnedKey } from './verbs/statement.js';

export interface KeptConfiguration {
  configuration: LocalConfiguration;
  digest: string;
  receivedAt: Date;
}

const pathOf = (folder: string) => join(folder, 'configuration.json');

/** Stores the server's response unchanged, so that its signature remains valid. */
export async function writeConfiguration(
  folder: string,
  files: Files,
  answer: unknown,
  receivedAt: Date,
): Promise<void> {
  await files.replace(pathOf(folder), JSON.stringify({ received_at: receivedAt.toISOString(), answer }));
}

/** Returns the last configuration, checked like a new response of the server. Ignores one that fails the check; it is requested again. */
export async function readKeptConfiguration(
  options: { folder: string; files: Files; log: Logger },
  key: PinnedKey,
): Promise<KeptConfiguration | undefined> {
  const { folder, files, log } = options;
  const text = (await files.read(pathOf(folder)))?.toString('utf8');
  if (text === undefined) return undefined;
  try {
    const { received_at, answer } = JSON.parse(text) as { received_at: string; answer: unknown };
    const { configuration, digest } = await acceptConfiguration(answer, { key, version: undefined });
    return { configuration, digest, receivedAt: new Date(received_at) };
  } catch (error) {
    log.warn({ error }, 'the stored configuration failed its check; it is requested from the server again');
    return undefined;
  }
}
