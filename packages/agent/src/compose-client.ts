import { hostname } from 'node:os';
import { type Closing, elapsed, randomBytes, StartError } from '@belay/program';
import { requireServerAddress } from './environment.js';
import { createLocalLogins } from './logins.js';
import type { RunningAgent, StartAgentOptions } from './open-machine.js';
import { describeMachine, openMachine } from './open-machine.js';
import { clientRouter } from './routers/roots.js';
import { chooseAddress, serveLocal } from './serve.js';
import { openUpstream } from './upstream.js';

/**
 * Composes client mode (docs/architecture.md, section 3): the sessions of this machine and a log in memory, without a configuration. Throws
 * `StartError`.
 */
export async function composeClient(options: StartAgentOptions, closing: Closing): Promise<RunningAgent> {
  const { environment, log } = options;
  if (environment.server === undefined) {
    throw new StartError('BELAY_SERVER is not set; set it to the address of the server');
  }
  const server = requireServerAddress(environment.server);
  const machine = await openMachine(options, closing);
  const { port, baseUrl } = await chooseAddress(environment);
  const logins = createLocalLogins({ server, baseUrl, label: `Belay client on ${hostname()}`, randomBytes, elapsed });
  const context = await describeMachine(machine, {
    mode: 'client',
    log,
    configuration: {
      current: () => undefined,
      confirmedAt: () => undefined,
      receivedAt: () => undefined,
      server: () => 'not asked',
      key: () => undefined,
    },
    logins,
    skew: () => 0,
    upstream: openUpstream(server),
    baseUrl,
    server,
  });
  await serveLocal({ context, router: clientRouter, machine, host: environment.host, port, closing });
  return {
    url: baseUrl,
    mode: 'client',
    banner: `\n  Belay client ${context.program.version} is ready at ${baseUrl}\n\n  Server         ${server}\n  Store          ${machine.sessions.health()}\n\n`,
    sync: async () => {},
    beginLogin: (provider) => logins.begin({ provider }),
    stop: () => closing.close(),
  };
}
