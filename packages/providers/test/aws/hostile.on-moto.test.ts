import * as vitest from 'vitest';
import { type Attack, hostileHolder, type Seat } from '../../src/testkit/index.js';
import { openIdentityCenter } from './identity-center.js';
import { authorizerOf, createEntitlements } from './subject.js';

/** A holder, with their user and permission set. moto has no sign-in, so the access counts as usable when moto lists it. */
interface Holder extends Seat {
  center: Awaited<ReturnType<typeof openIdentityCenter>>;
  user: { id: string; name: string };
  set: { arn: string };
}

const nothingLeft = async () => false;
const stop = async () => {};

/** What a holder with permissions in the directory, or their helper, can do while the access is held. */
const attacks: Record<string, Attack<Holder>> = {
  'is renamed': async ({ center, user }) => {
    center.newNames.set(user.id, `${user.name}-renamed`);
    return { reaches: nothingLeft, stop };
  },
  'gives their name to another user': async ({ center, user }) => {
    center.newNames.set(user.id, `${user.name}-before`);
    const other = await center.user();
    center.newNames.set(other.id, user.name);
    return { reaches: nothingLeft, stop };
  },
  'is deleted, which leaves the assignment': async ({ center, user }) => {
    await center.call('DeleteUser', { IdentityStoreId: center.store, UserId: user.id });
    return { reaches: nothingLeft, stop };
  },
  'assigns the same once more, to be deleted once': async ({ center, user, set }) => {
    await center.assign(set.arn, user.id);
    return { reaches: nothingLeft, stop };
  },
};

hostileHolder<Holder>(vitest, 'aws', {
  attacks,
  async open() {
    const center = await openIdentityCenter();
    const authorizer = authorizerOf(await center.client());
    const { assignment } = createEntitlements(center, authorizer);
    return {
      authorizer,
      async seat() {
        const { one, user, set } = await assignment();
        const canUse = async () => (await center.assigned(set.arn)).includes(user.id);
        return { ...{ center, user, set, canUse }, entitlement: one, close: stop };
      },
      close: center.close,
    };
  },
});
