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
  /** The one-time credential that `belay agent enroll` printed. */
  credential: string;
  /** The name of this machine at the server; undefined for its host name. */
  name?: string | undefined;
  /** Stops the enrolment; the next call continues it. */
  signal?: AbortSignal | undefined;
}

export interface EnrolledAgent {
  server: string;
  name: string;
  /** The version of the configuration that came with the enrolment. */
  catalogVersion: string;
  /** The id of the server's key that is trusted from now on. */
  key: string;
}

/**
 * Enrols this machine with a server: preflight, replacing the one-time credential with the agent's own, register, postflight. After that,
 * `runAgent` needs neither an address nor a credential. Throws `StartError`; then it can be called again.
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

/** Enrols like `enrolAgent`, in a folder that this process has already locked. */
export async function enrolFolder(options: EnrolOptions, files: Files, now: () => Date): Promise<EnrolledAgent> {
  const { dataDirectory: folder, credential } = options;
  const server = requireServerAddress(options.server);
  const name = options.name ?? hostname();
  const before = await readIdentity(folder, files);
  // Checked before the credential is sent, so that it is not used up.
  if (before?.key && before.server !== server) {
    throw new StartError(
      `${folder} belongs to ${before.server}; set BELAY_DATA to another folder for ${server}, or remove this one`,
    );
  }
  const enrolledWith = hashCredential(credential);
  // The agent's own credential is on the disk before the server receives it: after an interruption, one of the two
  // credentials is valid.
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
        // The credential is used, expired or unknown. If this machine used it in an interrupted attempt, the
        // registration succeeds.
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
