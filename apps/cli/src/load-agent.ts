import { CliError, usage } from './cli-error.js';
import type { AgentControl } from './shell.js';

/** The parts of the process that the agent's own program uses. */
export type AgentProcess = Parameters<typeof import('@belay/agent').runAgent>[0];

/** Returns the control of the agent's own program, which is loaded at its first use. */
export function loadAgent(host: AgentProcess): AgentControl {
  const load = () => import('@belay/agent');
  const variables = (given: Record<string, string | undefined> = {}) => ({
    ...host.env,
    ...given,
    BELAY_MODE: 'agent',
  });

  return {
    run: async (given) => {
      const { runAgent } = await load();
      await runAgent({
        env: variables(given),
        stdout: host.stdout,
        stderr: host.stderr,
        cwd: () => host.cwd(),
        on: (signal, handle) => host.on(signal, handle),
        exit: (code) => host.exit(code),
      });
    },
    status: async () => {
      const { parseLocalEnvironment, readAgentStatus } = await load();
      const { dataDirectory } = parseLocalEnvironment(variables());
      const read = readAgentStatus(dataDirectory).catch((error: unknown) => {
        throw new CliError('failed', error instanceof Error ? error.message : String(error), { cause: error });
      });
      const { pid, url, server, name, enrolled } = await read;
      return { dataDirectory, pid, url, server, name, enrolled };
    },
    join: async ({ server, credential, name, signal }) => {
      const { enrolAgent, parseLocalEnvironment, StartError } = await load();
      if (!/^belay-agent\.[\w-]{43}$/.test(credential)) {
        throw usage('not an agent credential; use the one that `belay agent enroll` printed');
      }
      try {
        const { dataDirectory } = parseLocalEnvironment(variables({ BELAY_AGENT_CREDENTIAL: undefined }));
        const done = await enrolAgent({ dataDirectory, server, credential, name, signal });
        return { server: done.server, name: done.name, catalog_version: done.catalogVersion };
      } catch (error) {
        if (!(error instanceof StartError)) throw error;
        if (signal.aborted) throw new CliError('aborted', 'interrupted; the same credential can be used again');
        const { cause } = error;
        const isAway = cause instanceof Error && 'code' in cause && cause.code === 'unavailable';
        if (isAway) throw new CliError('unavailable', error.message, { cause: error });
        throw new CliError('failed', error.message, { cause: error });
      }
    },
  };
}
