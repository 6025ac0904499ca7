import { awsConnector, type Connector } from '@belay/providers';
import { accounts, openIdentityCenter } from '../../providers/test/aws/identity-center.js';
import { namesAt } from './support/names-at.js';

for (const kind of ['permission set', 'group'] as const) {
  namesAt(`AWS, by ${kind}`, async () => {
    const center = await openIdentityCenter();
    const [user, set, group] = [
      await center.user('ada', 'ada@example.com'),
      await center.permissionSet(),
      await center.group('Oncall'),
    ];
    let made = 0;
    return {
      connector: awsConnector as Connector,
      provider: { provider: 'aws', config: { ...center.config, endpoint: center.front.url } },
      role:
        kind === 'group'
          ? { inherits: [`target:group/${group.name}`] }
          : { inherits: [`target:permission-set/${set.name}`], resources: { allow: [`account/${accounts[0]}`] } },
      time: new Date(center.clock.now).toISOString(),
      holds: async () => [...(await center.members(group.id)), ...(await center.assigned(set.arn))].includes(user.id),
      async rename() {
        made += 1;
        center.newNames.set(user.id, `ada-${made}`);
        return {};
      },
      [Symbol.asyncDispose]: () => center.close(),
    };
  });
}
