import { hostname } from 'node:os';
import { AccessError } from '@belay/contract/errors';
import { removeUnfinished } from '@belay/host';
import { clock, oneLine, randomBytes, readProgram, StartError } from '@belay/program';
import { writeConfiguration } from './configuration-file.js';
import { explainDisk, holdFolder } from './data-folder.js';
import { requireServerAddress } from './environment.js';
import { createFiles, type Files, prepareFolder } from './files.js';
import { hashCredential, type Identity, readIdentity, readJoining, writeIdentity, writeJoining } from './identity.js';
import { openUpstream } from './upstream.js';
import { acceptConfiguration } from './verbs/configuration.js';

export interface EnrolOptions {
  dataDirectory: string;
  /** The server's address. */
  server: string;
  /** What `belay agent enroll` printed; good once. */
  credential: string;
  /** What this machine is called at the server; undefined for its host name. */
  name?: string | undefined;
  /** Gives up; what was done by then is gone on with the next time. */
  signal?: AbortSignal | undefined;
}

export interface EnrolledAgent {
  server: string;
  name: string;
  /** Of the configuration that came with it. */
  catalogVersion: string;
  /** The server's key that is trusted from now on. */
  key: string;
}

/**
 * Enrols this machine with a server: preflight, a credential of our own in the place of the one-time one, register,
 * postflight. From then on `runAgent` needs neither address nor credential. Throws `StartError`; it may be called
 * again.
 */
export async function enrolAgent(options: EnrolOptions): Promise<EnrolledAgent> {
  const { dataDirectory: folder } = options;
  const randomName = () => randomBytes(9).toString('base64url');
  try {
    await prepareFolder(folder);
    const release = await holdFolder(folder, randomName);
    try {
      await removeUnfinished(folder);
      return await enrolFolder(options, createFiles(randomName), clock);
    } finally {
      await release();
    }
  } catch (error) {
    throw explainDisk(error, folder);
  }
}

/** Returns the same, for a folder that is held already. */
export async function enrolFolder(options: EnrolOptions, files: Files, now: () => Date): Promise<EnrolledAgent> {
  const { dataDirectory: folder, credential } = options;
  const server = requireServerAddress(options.server);
  const name = options.name ?? hostname();
  const before = await readIdentity(folder, files);
  // The credential never reached the server, perhaps because of a wrong address, so it is not used up.
  if (before?.key && before.server !== server) {
    throw new StartError(
      `${folder} belongs to ${before.server}; set BELAY_DATA to another folder for ${server}, or remove this one`,
    );
  }
  const enrolledWith = hashCredential(credential);
  // Ours is on the disk before the server is told of it: whenever this is cut off, one of the two is good.
  const begun = [before, await readJoining(folder, files)];
  const resumed = begun.find((each) => each?.enrolledWith === enrolledWith && each.server === server);
  const identity: Identity = {
    version: 1,
    server,
    credential: resumed?.credential ?? `belay-agent.${randomBytes(32).toString('base64url')}`,
    enrolledWith,
    name,
    key: null,
  };
  await writeJoining(folder, files, identity);
  const upstream = openUpstream(server, { signal: options.signal });
  const environment = { name, description: describeMachine() };
  const { version } = await readProgram();
  const report = { environment, version };
  try {
    await upstream.preflight(credential, report).then(
      () => upstream.adopt(credential, identity.credential),
      (error: unknown) => {
        // Used up: by this machine, in an earlier attempt that was cut off, or by another one. Registering will tell.
        if (!(error instanceof AccessError) || error.code !== 'unauthenticated') throw error;
      },
    );
    const answer = await upstream.register(identity.credential, environment);
    const { configuration, key } = await acceptConfiguration(answer, { key: undefined, version: undefined });
    await writeConfiguration(folder, files, answer, now());
    await writeIdentity(folder, files, { ...identity, key });
    const catalogVersion = configuration.catalog_version;
    await upstream.postflight(identity.credential, { ...report, catalog_version: catalogVersion });
    return { server, name, catalogVersion, key: key.kid };
  } catch (cause) {
    throw new StartError(`This agent could not be enrolled: ${explain(cause)}`, { cause });
  }
}

function explain(error: unknown): string {
  if (error instanceof AccessError && error.code === 'unauthenticated') {
    return 'the credential is unknown, used or expired; create another with `belay agent enroll`';
  }
  return oneLine(error);
}

function describeMachine(): string {
  return `${process.platform} ${process.arch}, Node ${process.versions.node}`;
}
