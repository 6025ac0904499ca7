import { askAgent } from '../agent/ask-agent.js';
import { addCommand, type Parent } from '../command.js';
import { describeTimeLeft } from '../duration.js';
import { exitCodes } from '../exit-codes.js';

/** Declares the command `belay agent status`, which shows the agent of this machine; exits with 7 when none runs. */
export function addAgentStatus(parent: Parent): void {
  addCommand(parent, {
    name: 'status',
    description: 'show the agent of this machine: health, version, age of its configuration, sessions',
    examples: ['agent status', 'agent status --json'],
    run: async ({ options, output, shell }) => {
      const { dataDirectory, pid, url, server, name, enrolled } = await shell.agentControl.status();
      const at = options.server ?? url ?? shell.agent;
      const answer = at === undefined ? undefined : await askAgent(at, shell.signal);
      const status = {
        running: answer !== undefined,
        url: answer === undefined ? null : (at ?? null),
        pid: pid ?? null,
        enrolled,
        server: server ?? null,
        name: name ?? null,
        data_directory: dataDirectory,
        answer: answer ?? null,
      };
      output.result(status, () => {
        const trouble = Object.entries(answer?.services ?? {}).filter(([, state]) =>
          /^(degraded|unhealthy)/.test(state),
        );
        const sessions = Object.entries(answer?.sessions ?? {}).map(
          ([provider, { version, expiry }]) =>
            `${provider} (version ${version}, ${describeTimeLeft(expiry, shell.clock())} left)`,
        );
        return output.fields({
          agent: answer === undefined ? 'not running' : `${answer.status}, at ${at}`,
          version: answer?.version,
          process: pid,
          enrolled: enrolled ? `with ${server} as ${name}` : 'no',
          configuration: answer?.configuration && `${answer.configuration.version}, ${answer.configuration.age} old`,
          server: answer?.configuration?.server,
          clock: answer?.clock,
          trouble: trouble.map(([service, state]) => `${service}: ${state}`).join('; '),
          sessions: answer && (sessions.join(', ') || 'none'),
          'data folder': dataDirectory,
        });
      });
      if (answer === undefined) {
        output.note(
          enrolled ? 'start it with: belay agent run, or belay agent install' : 'first run: belay agent join',
        );
      }
      return answer === undefined ? exitCodes.unavailable : exitCodes.ok;
    },
  });
}
