import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createFile, readIfPresent, replaceFile } from '@belay/host';
import { StartError } from '@belay/program';
import { z } from 'zod';

/**
 * The data of `BELAY_DATA/demo.json` (mode 0600): the addresses for `npm run demo`, and the secrets that must be the same at the next start
 * and in every process.
 */
const demoSettings = z.object({
  base_url: z.string(),
  issuer: z.string(),
  people: z.array(
    z.object({ name: z.string(), email: z.string(), groups: z.array(z.string()), database_url: z.string() }),
  ),
  control: z.object({ url: z.string(), secret: z.string() }),
  secrets: z.object({
    client_secret: z.string(),
    cookie_key: z.string(),
    connector_password: z.string(),
    /** By the person's subject. */
    passwords: z.record(z.string(), z.string()),
    jwks: z.object({ keys: z.array(z.record(z.string(), z.json())) }),
  }),
});

export type DemoSettings = z.infer<typeof demoSettings>;

function pathOf(dataDirectory: string): string {
  return join(dataDirectory, 'demo.json');
}

/** Reads the demo's settings; undefined when there are none yet. Throws `StartError` when they are damaged. */
export async function readDemoSettings(dataDirectory: string): Promise<DemoSettings | undefined> {
  const path = pathOf(dataDirectory);
  const text = (await readIfPresent(path))?.toString('utf8');
  if (text === undefined) return undefined;
  try {
    return demoSettings.parse(JSON.parse(text));
  } catch (cause) {
    throw new StartError(`${path} is damaged; delete it and start again to create a new one`, { cause });
  }
}

/**
 * Stores settings that were created for a first start, and returns the ones in force: of processes that start at the same time, one creates
 * them and the others use them. `token` names the temporary file.
 */
export async function keepFirstDemoSettings(
  dataDirectory: string,
  made: DemoSettings,
  token: string,
): Promise<DemoSettings> {
  await mkdir(dataDirectory, { recursive: true });
  if (await createFile(pathOf(dataDirectory), JSON.stringify(made, null, 2), { token })) return made;
  return (await readDemoSettings(dataDirectory)) ?? made;
}

/** Replaces the settings completely: a reader sees either the old or the new ones. */
export async function writeDemoSettings(dataDirectory: string, settings: DemoSettings, token: string): Promise<void> {
  await replaceFile(pathOf(dataDirectory), JSON.stringify(settings, null, 2), { token });
}
