import { askAgent } from '../../agent/ask-agent.js';
import { CliError } from '../../cli-error.js';
import { type Check, failed, type Outcome, ok, skipped, warning } from '../check.js';

/** Checks that the agent of this machine, if there is one, is healthy and has a configuration. */
export const agent: Check = {
  name: 'agent',
  run: async ({ shell, host, local }) => {
    let kept: Awaited<ReturnType<typeof shell.agentControl.status>> | undefined;
    try {
      kept = await shell.agentControl.status();
    } catch (error) {
      // The agent's folder exists, so an agent is expected here, unless BELAY_DATA is the folder of a server.
      if (error instanceof CliError && (await local()) === undefined)
        return failed(error.message, 'follow the message, then run: belay agent run');
      // An agent's variables only matter where an agent runs.
      if (host.variables.BELAY_MODE === 'agent') {
        const [message = '', cure] = (error instanceof Error ? error.message : String(error)).split(/: (.*)/);
        return failed(message, cure ?? 'correct it or unset it');
      }
    }
    const at = kept?.url ?? shell.agent;
    if (at === undefined) return skipped('disabled');
    const answer = await askAgent(at, shell.signal);
    if (answer === undefined) {
      const cure = 'start it: systemctl --user start belay-agent, or belay agent run';
      return kept?.enrolled
        ? failed(`it is enrolled but does not respond at ${at}`, cure)
        : skipped(`no agent at ${at}`);
    }
    const cure = `see its log: belay logs --url ${at}, or journalctl --user -u belay-agent`;
    const outcomes = Object.entries(answer.services)
      .filter(([, state]) => /^(degraded|unhealthy)/.test(state))
      .map(([service, state]): Outcome => warning(`its ${service} is ${state}`, cure));
    if (answer.clock !== undefined) {
      outcomes.push(
        failed(`its clock is ${answer.clock}`, 'synchronise the clock, for example with: timedatectl set-ntp true'),
      );
    }
    const { configuration } = answer;
    if (configuration === undefined) outcomes.push(failed('it has no configuration', 'enrol it: belay agent join'));
    const age = configuration && `configuration ${configuration.version}, confirmed ${configuration.age} ago`;
    return outcomes.length > 0 ? outcomes : ok(`${at} responds, version ${answer.version}, ${age}`);
  },
};
