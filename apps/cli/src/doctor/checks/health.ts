import { type Check, failed, type Outcome, ok, skipped, warning } from '../check.js';

/** Every service of the server is well. */
export const health: Check = {
  name: 'health',
  run: async ({ server }) => {
    const { answer } = await server();
    if (answer === undefined) return skipped('the server does not respond');
    const bad = Object.entries(answer.health).filter(([, state]) => !/^(healthy|not configured|local)/.test(state));
    if (bad.length === 0) return ok(answer.status);
    return bad.map(([service, state]): Outcome => {
      const cure = 'see the server’s log; on its machine: belay doctor';
      return state.startsWith('unhealthy')
        ? failed(`${service}: ${state}`, cure)
        : warning(`${service}: ${state}`, cure);
    });
  },
};
