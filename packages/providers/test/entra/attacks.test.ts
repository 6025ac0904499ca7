import * as vitest from 'vitest';
import { type Foothold, hostileHolder, type NamedEntitlement, type Seat } from '../../src/testkit/index.js';
import { startTenant, type Tenant } from './tenant.js';
import type { PlaceName } from './world.js';

interface EntraSeat extends Seat {
  tenant: Tenant;
  place: PlaceName;
  userId: string;
  what: string;
}

const kinds = { group: 'groups', directory: 'directory_roles', azure: 'azure_roles' };
const footholdOf = ({ tenant, place, userId, what }: EntraSeat): Foothold => ({
  reaches: async () => tenant.held(place, { userId, what }),
  stop: async () => {},
});

const attacks = {
  'has their account renamed, and another one gets the name': async (seat: EntraSeat) => {
    const user = seat.tenant.users.get(seat.userId);
    const name = user?.userPrincipalName ?? '';
    if (user) user.userPrincipalName = `renamed-${name}`;
    seat.tenant.user({ userPrincipalName: name });
    return footholdOf(seat);
  },
  'has the group or role renamed': async (seat: EntraSeat) => {
    for (const group of seat.tenant.groups.values()) group.displayName = `renamed ${group.id}`;
    for (const role of seat.tenant.directoryRoles.values()) role.displayName = `renamed ${role.id}`;
    for (const role of seat.tenant.azureRoles.values()) role.roleName = `renamed ${role.id}`;
    return footholdOf(seat);
  },
  'has an administrator make every schedule last': async (seat: EntraSeat) => {
    for (const schedule of seat.tenant.schedules) if (schedule.user === seat.userId) schedule.end = undefined;
    return footholdOf(seat);
  },
  'has their account disabled and made a guest': async (seat: EntraSeat) => {
    const user = seat.tenant.users.get(seat.userId);
    if (user) Object.assign(user, { accountEnabled: false, userType: 'Guest' });
    return footholdOf(seat);
  },
  'has the group made role-assignable and the roles privileged': async (seat: EntraSeat) => {
    for (const group of seat.tenant.groups.values()) group.isAssignableToRole = true;
    for (const role of seat.tenant.azureRoles.values()) role.actions = ['*'];
    return footholdOf(seat);
  },
  'is made a member plainly as well': async (seat: EntraSeat) => {
    if (seat.place === 'group') seat.tenant.members.add(`${seat.what} ${seat.userId}`, seat.tenant.clock.now);
    return footholdOf(seat);
  },
};

for (const place of ['group', 'directory', 'azure'] as const) {
  for (const scheduled of [false, true]) {
    hostileHolder<EntraSeat>(vitest, `entra, ${kinds[place]}, ${scheduled ? 'with' : 'without'} an end`, {
      attacks,
      watchSeconds: 1,
      async open() {
        const tenant = await startTenant();
        const authorizer = await tenant.authorizer(scheduled ? { pim: [kinds[place]] } : {});
        return {
          authorizer,
          async seat() {
            const { userId, what, ...ref } = await tenant.fresh(place);
            const entitlement: NamedEntitlement = ref;
            const canUse = async () => tenant.held(place, { userId, what });
            return { entitlement, tenant, place, userId, what, canUse, close: async () => {} };
          },
          close: async () => tenant[Symbol.asyncDispose](),
        };
      },
    });
  }
}
