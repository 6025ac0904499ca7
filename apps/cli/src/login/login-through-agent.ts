import { printable } from '@belay/contract/printable';
import { CliError, usage } from '../cli-error.js';
import type { CommonOptions, Invocation } from '../command.js';
import { findAgent, readAgentSessions } from '../find-agent.js';

interface Options {
  provider?: string;
  browser: boolean;
  device?: boolean;
}

/** How long a person can take to sign in, and how often the agent is polled, in milliseconds. */
const patience = 10 * 60_000;
const pause = 1_000;

/**
 * Signs in through the agent of this machine: the agent's page leads to the server and back, and the agent keeps the session. Resolves when
 * the agent has a new session. Throws `unavailable` when no agent runs, `aborted` when the time is over.
 */
export async function loginThroughAgent({
  options,
  output,
  shell,
}: Pick<Invocation<Options & CommonOptions>, 'options' | 'output' | 'shell'>): Promise<undefined> {
  if (options.device === true) throw usage('--agent and --device cannot be used together');
  const { signal } = shell;
  const at = options.server ?? shell.agent;
  const agent = at === undefined ? undefined : await findAgent(at, signal);
  if (agent === undefined)
    throw new CliError('unavailable', 'no agent runs on this machine; start it: belay agent run');
  const before = await readAgentSessions(agent.url, signal);
  const address = new URL('/auth', agent.url);
  if (options.provider !== undefined) address.searchParams.set('provider', options.provider);
  output.notice(`Sign in at: ${address}`);
  if (options.browser) shell.openBrowser(address.href);
  for (let waited = 0; waited < patience; waited += pause) {
    await shell.delay(pause, signal);
    const sessions = await readAgentSessions(agent.url, signal);
    const made = [...sessions].find(([provider, version]) => before.get(provider) !== version)?.[0];
    if (made === undefined) continue;
    output.result({ agent: agent.url, provider: made }, () =>
      printable(`the agent at ${agent.url} now has a session with ${made}`),
    );
    return undefined;
  }
  throw new CliError('aborted', 'not signed in: the sign-in was not completed in time');
}
