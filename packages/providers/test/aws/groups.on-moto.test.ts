import * as vitest from 'vitest';
import { conformance } from '../../src/testkit/index.js';
import { nothing, openSubject, userOf } from './subject.js';

conformance(vitest, 'aws with groups', async () => {
  const { center, subject } = await openSubject({ group: 'no such group' }, { ...nothing, roles: ['group/Oncall'] });
  const exclusive = await center.group('Exclusive');
  await center.join(exclusive.id, (await center.user()).id);
  return {
    ...subject,
    async fresh() {
      const user = await center.user();
      return { id: `entitlement-${user.name}`, identity: user.name, access: { group: 'Exclusive' } };
    },
    at: {
      async rename(one) {
        center.newNames.set(await userOf(center, one), `new-${one.identity}`);
        return { ...one, identity: `new-${one.identity}` };
      },
      neighbours: async (one) => {
        const user = await userOf(center, one);
        return (await center.members(exclusive.id)).filter((member) => member !== user);
      },
      async stranger() {
        const user = await center.user();
        await center.join(exclusive.id, user.id);
        return { id: '', identity: user.name, access: { group: 'Exclusive' } };
      },
    },
  };
});
