import { hostname } from 'node:os';
import type { Closing } from '@belay/program';
import { clock, delay, elapsed, random, randomBytes, readProgram, StartError } from '@belay/program';
import { readKeptConfiguration } from './configuration-file.js';
import { enrolFolder } from './enrol.js';
import { followServer } from './follow.js';
import { hashCredential, type Identity, readIdentity } from './identity.js';
import { createLocalLogins } from './logins.js';
import type { RunningAgent, StartAgentOptions } from './open-machine.js';
import { describeMachine, type Machine, openMachine } from './open-machine.js';
import { agentRouter } from './routers/roots.js';
import { chooseAddress, serveLocal } from './serve.js';
import { openUpstream } from './upstream.js';
import type { PinnedKey } from './verbs/statement.js';

/**
 * Composes agent mode (docs/architecture.md, section 3): the server's configuration by version, the sessions of this
 * machine in a sealed file, and a log in memory. Only an enrolment needs the server; other starts use the stored
 * configuration and contact the server afterwards. Throws `StartError`.
 */
export async function composeAgent(options: StartAgentOptions, closing: Closing): Promise<RunningAgent> {
  const { environment, log } = options;
  const machine = await openMachine(options, closing);
  const { folder, files, sessions, ledger } = machine;
  const identity = await requireIdentity(options, machine);
  const { port, baseUrl } = await chooseAddress(environment);
  const { server } = identity;
  const upstream = openUpstream(server);
  const following = followServer({
    folder,
    files,
    identity,
    kept: await readKeptConfiguration({ folder, files, log }, identity.key),
    upstream,
    sessions,
    ledger,
    log,
    environment: { name: identity.name, description: `${process.platform} ${process.arch}` },
    programVersion: (await readProgram()).version,
    interval: environment.syncInterval,
    clock,
    random,
    delay,
  });
  const logins = createLocalLogins({ server, baseUrl, label: `Belay agent on ${hostname()}`, randomBytes, elapsed });
  const context = await describeMachine(machine, {
    mode: 'agent',
    log,
    configuration: following.source,
    logins,
    skew: following.skew,
    upstream,
    baseUrl,
    server,
  });
  await serveLocal({ context, router: agentRouter, machine, host: environment.host, port, closing });
  following.start();
  closing.add('the requests to the server', following.stop);
  const version = following.source.current()?.catalog_version ?? 'none yet';
  return {
    url: baseUrl,
    mode: 'agent',
    banner: `\n  Belay agent ${context.program.version} is ready at ${baseUrl}\n\n  Server         ${server}\n  Configuration  ${version}\n  Store          ${sessions.health()}\n\n`,
    sync: following.sync,
    beginLogin: (provider) => logins.begin({ provider }),
    stop: () => closing.close(),
  };
}

/** Returns the identity of this agent: the stored one, or one that is enrolled now with the credential from the environment. */
async function requireIdentity(
  { environment }: StartAgentOptions,
  { folder, files }: Machine,
): Promise<Identity & { key: PinnedKey }> {
  const { credential } = environment;
  let identity = await readIdentity(folder, files);
  const server = environment.server ?? identity?.server;
  if (server !== undefined && identity !== undefined && identity.server !== server) {
    throw new StartError(
      `BELAY_SERVER: ${folder} belongs to ${identity.server}; set BELAY_DATA to another folder for ${server}`,
    );
  }
  const isNew = credential !== undefined && (!identity?.key || identity.enrolledWith !== hashCredential(credential));
  if (isNew) {
    if (server === undefined) throw new StartError('BELAY_SERVER is not set; set it to the address of the server');
    const name = environment.name ?? hostname();
    await enrolFolder({ dataDirectory: folder, server, credential, name }, files, clock);
    identity = await readIdentity(folder, files);
  }
  if (!identity?.key) {
    throw new StartError(
      'BELAY_AGENT_CREDENTIAL is not set and this machine is not enrolled; set it to the credential that `belay agent enroll` prints at the server',
    );
  }
  return { ...identity, key: identity.key };
}
