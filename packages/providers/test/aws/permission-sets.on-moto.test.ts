import * as vitest from 'vitest';
import { conformance } from '../../src/testkit/index.js';
import { accounts } from './identity-center.js';
import { inAccount, nothing, openSubject, userOf } from './subject.js';

conformance(vitest, 'aws with permission sets', async () => {
  const { center, subject } = await openSubject(
    { permission_set: 'NoSuchSet', account: accounts[0] ?? '' },
    { ...nothing, roles: ['permission-set/ReadOnly', 'permission-set/Billing'], resources: inAccount },
  );
  const exclusive = await center.permissionSet('PT1H', 'Exclusive');
  const arns = new Map([['Exclusive', exclusive.arn]]);
  const others = async (not?: string) =>
    Promise.all(
      [...arns.values()].map(async (arn) => (await center.assigned(arn)).filter((principal) => principal !== not)),
    );
  const shared = await center.permissionSet('PT1H', 'Shared');
  arns.set('Shared', shared.arn);
  await center.assign(shared.arn, (await center.user()).id);
  await center.assign(shared.arn, (await center.group()).id, 'GROUP');
  return {
    ...subject,
    async fresh() {
      const user = await center.user();
      return {
        id: `entitlement-${user.name}`,
        identity: user.name,
        // Access in the exclusive set is listed; its neighbours are the other principals of both sets.
        access: { permission_set: 'Exclusive', account: accounts[0] ?? '' },
      };
    },
    at: {
      async rename(one) {
        center.newNames.set(await userOf(center, one), `new-${one.identity}`);
        return { ...one, identity: `new-${one.identity}` };
      },
      neighbours: async (one) => others(await userOf(center, one)),
      async stranger() {
        const user = await center.user();
        await center.assign(exclusive.arn, user.id);
        return { id: '', identity: user.name, access: { permission_set: 'Exclusive', account: accounts[0] ?? '' } };
      },
      async operate() {
        center.orders.takes = Number.POSITIVE_INFINITY;
        return async (ending) => {
          center.orders.takes = 0;
          for (const operation of center.operations.values()) {
            if (operation.status !== 'IN_PROGRESS') continue;
            if (ending === 'is cancelled') center.operations.delete(operation.id);
            if (ending === 'fails') operation.failure = 'Received a 403 status error: Access denied by IAM';
            if (ending !== 'is cancelled') await center.end(operation);
          }
        };
      },
    },
  };
});
