import { findAgent } from '../../find-agent.js';
import { type Check, failed, type Outcome, ok, skipped, warning } from '../check.js';

/** The agent of this machine, when there is one, is well and has a configuration of today. */
export const agent: Check = {
  name: 'agent',
  run: async ({ shell }) => {
    if (shell.agent === undefined) return skipped('not looked for');
    const found = await findAgent(shell.agent, shell.signal);
    if (found === undefined) return skipped(`none at ${shell.agent}; to have one: belay agent install`);
    const { createClient } = await import('@belay/sdk');
    const client = createClient({ url: found.url, retry: { attempts: 1 } });
    const outcomes: Outcome[] = [];
    const cure = `see its log: belay logs --url ${found.url}, or journalctl --user -u belay-agent`;
    try {
      const [ready, health] = await Promise.all([
        client.system.ready({ signal: shell.signal }),
        client.system.health({ signal: shell.signal }),
      ]);
      if (ready.status !== 'ready') outcomes.push(failed(`the agent at ${found.url} is not ready`, cure));
      for (const [service, state] of Object.entries(health.services)) {
        if (/^(degraded|unhealthy)/.test(state)) outcomes.push(warning(`the agent’s ${service}: ${state}`, cure));
      }
    } catch (error) {
      outcomes.push(failed(`the agent at ${found.url}: ${error instanceof Error ? error.message : error}`, cure));
    }
    return outcomes.length > 0 ? outcomes : ok(`${found.url} answers, version ${found.version}`);
  },
};
