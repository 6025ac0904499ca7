import * as vitest from 'vitest';
import { hostileHolder } from '../../src/testkit/index.js';
import { authorizerOf, entitlement, openOrganization } from './github.js';

const team = { role: 'team/oncall' };

hostileHolder(vitest, 'github', {
  // CI runs all tries.
  brief: !process.env.CI,
  async open() {
    const world = await openOrganization();
    const opened = authorizerOf(await world.client());
    let count = 0;
    return {
      authorizer: opened,
      async seat() {
        // An earlier attack may have renamed the team.
        world.github.world.renameTeam('oncall', 'oncall');
        const { login, id } = await world.person();
        return {
          login,
          world,
          entitlement: entitlement(id, team),
          async canUse() {
            count += 1;
            const body = { message: 'try', content: 'eA==' };
            const at = `/repos/acme/shop/contents/attempt-${count}`;
            return (await world.github.call(login, 'PUT', at, body)).status === 201;
          },
          close: async () => {},
        };
      },
      close: () => world.close(),
    };
  },
  attacks: {
    'takes another login': async ({ login, world, canUse }) => {
      world.github.world.renameUser(login, `${login}-2`);
      return { reaches: canUse, stop: async () => {} };
    },
    'takes another login, and another person takes theirs': async ({ login, world, canUse }) => {
      const other = await world.person();
      world.github.world.renameUser(login, `${login}-2`);
      world.github.world.renameUser(other.login, login);
      return { reaches: canUse, stop: async () => {} };
    },
    'has the team renamed': async ({ world, canUse }) => {
      world.github.world.renameTeam('oncall', 'on-duty');
      return { reaches: canUse, stop: async () => {} };
    },
    'is made a maintainer of the team': async ({ login, world, canUse }) => {
      await world.admin('PUT', `/orgs/acme/teams/oncall/memberships/${login}`, { role: 'maintainer' });
      return { reaches: canUse, stop: async () => {} };
    },
    'hides the account from GitHub': async ({ login, world, canUse }) => {
      world.github.world.hideUser(login);
      return { reaches: canUse, stop: async () => {} };
    },
  },
});
