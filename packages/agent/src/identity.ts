import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { StartError } from '@belay/program';
import { z } from 'zod';
import type { Files } from './files.js';

const schema = z.object({
  version: z.literal(1),
  /** The server's address. */
  server: z.string(),
  /** The agent's own credential, created here before the server received it. */
  credential: z.string(),
  /**
   * The hash of the one-time credential that the enrolment used, so that a start with the same one in its environment does not enrol again.
   */
  enrolledWith: z.string(),
  name: z.string(),
  /** The server's key that signs configurations; null until the enrolment is complete. */
  key: z.object({ kid: z.string(), x: z.string(), since: z.string().exactOptional() }).nullable(),
});

/** The agent's identity at its server. Secret. */
export type Identity = z.infer<typeof schema>;

const pathOf = (folder: string) => join(folder, 'identity.json');
const joiningPathOf = (folder: string) => join(folder, 'joining.json');

/**
 * Returns the identity of the agent; undefined when this folder was never enrolled. Throws `StartError` for a damaged
 * file.
 */
export async function readIdentity(folder: string, files: Files): Promise<Identity | undefined> {
  return read(pathOf(folder), files);
}

/** Returns the identity of an enrolment that is not complete; undefined when none was started. Throws like `readIdentity`. */
export async function readJoining(folder: string, files: Files): Promise<Identity | undefined> {
  return read(joiningPathOf(folder), files);
}

/** Stores what is needed to continue an enrolment, beside the identity, which stays in force until the enrolment is complete. */
export async function writeJoining(folder: string, files: Files, identity: Identity): Promise<void> {
  await write(joiningPathOf(folder), files, identity);
}

/** Puts an identity in force and removes the file of the enrolment that led to it. */
export async function writeIdentity(folder: string, files: Files, identity: Identity): Promise<void> {
  await write(pathOf(folder), files, identity);
  await rm(joiningPathOf(folder), { force: true });
}

async function read(path: string, files: Files): Promise<Identity | undefined> {
  const text = (await files.read(path))?.toString('utf8');
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new StartError(`${path} is damaged; remove it and enrol this agent again (belay agent enroll)`, { cause });
  }
}

async function write(path: string, files: Files, identity: Identity): Promise<void> {
  await files.replace(path, `${JSON.stringify(identity, null, 2)}\n`);
}

/** Returns the hash that is stored of a one-time credential. */
export function hashCredential(credential: string): string {
  return createHash('sha256').update(credential).digest('base64url');
}
