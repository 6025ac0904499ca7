import * as vitest from 'vitest';
import type { Access } from '../../src/index.js';
import { type Attack, hostileHolder, type Seat } from '../../src/testkit/index.js';
import { type Google, startGoogle } from './google.js';

/** An account with a role on a project or with a membership, and a helper who may change both. */
interface Holder extends Seat {
  google: Google;
  /** The address of the account, which an attack may change. */
  own: { email: string };
  entitlementId: string;
  canReach(email: string): boolean;
}

const stop = async () => {};
const idOf = (google: Google, email: string) =>
  google.users.find((one) => one.email === email && !one.deleted)?.id ?? '';
const bindingOf = ({ google, entitlementId }: Holder) => {
  const found = google.shop.bindings.find(({ condition }) => condition?.title === `belay-${entitlementId}`);
  if (!found?.condition) throw new Error('no binding');
  return { ...found, condition: found.condition };
};

/** Attacks with both kinds of access. */
const withAccounts: Record<string, Attack<Holder>> = {
  'is renamed': async ({ google, own }) => {
    const before = own.email;
    own.email = `renamed-${before}`;
    google.rename(before, own.email);
    return { reaches: async () => false, stop };
  },
  'is renamed, and another account takes the address': async ({ google, own, canReach }) => {
    const before = own.email;
    own.email = `renamed-${before}`;
    google.rename(before, own.email);
    google.user(before);
    return { reaches: async () => canReach(before), stop };
  },
  'is deleted, and another account takes the address': async ({ google, own, canReach }) => {
    google.deleteUser(own.email);
    google.user(own.email);
    return { reaches: async () => canReach(own.email), stop };
  },
};

const withRoles: Record<string, Attack<Holder>> = {
  ...withAccounts,
  'has the end of the binding put off': async (seat) => {
    const { google } = seat;
    const { condition, ...binding } = bindingOf(seat);
    const expression = condition.expression.replace(/"[^"]*"/, '"2999-01-01T00:00:00Z"');
    google.shop.bindings = google.shop.bindings.map((one) =>
      one.condition?.title === condition.title ? { ...binding, condition: { ...condition, expression } } : one,
    );
    return { reaches: async () => false, stop };
  },
  'has the binding repeated with another end': async (seat) => {
    const { condition, ...binding } = bindingOf(seat);
    const expression = condition.expression.replace(/"[^"]*"/, '"2998-01-01T00:00:00Z"');
    seat.google.shop.bindings.push({ ...binding, condition: { ...condition, expression } });
    return { reaches: async () => false, stop };
  },
};

const withGroups: Record<string, Attack<Holder>> = {
  ...withAccounts,
  'has the end of the membership removed': async ({ google, own }) => {
    google.oncall.members.set(idOf(google, own.email), [{ name: 'MEMBER' }]);
    return { reaches: async () => false, stop };
  },
  'is made an owner of the group': async ({ google, own }) => {
    google.oncall.members.set(idOf(google, own.email), [{ name: 'MEMBER' }, { name: 'OWNER' }]);
    return { reaches: async () => false, stop };
  },
};

for (const [kind, attacks] of Object.entries({ roles: withRoles, groups: withGroups })) {
  hostileHolder<Holder>(vitest, `gcp with ${kind}`, {
    // CI runs all tries.
    brief: !process.env.CI,
    attacks,
    async open() {
      const google = await startGoogle();
      const authorizer = await google.authorizer();
      let made = 0;
      return {
        authorizer,
        async seat() {
          made += 1;
          const [own, role] = [{ email: google.user() }, google.role()];
          const canReach = (email: string) =>
            kind === 'roles' ? google.can(email, role) : google.oncall.members.has(idOf(google, email));
          const access: Access =
            kind === 'roles' ? { role, resource: 'projects/shop' } : { group: 'oncall@example.com' };
          return {
            ...{ google, own, canReach, entitlementId: `entitlement-${made}` },
            entitlement: { id: `entitlement-${made}`, identity: own.email, access },
            canUse: async () => canReach(own.email),
            close: stop,
          };
        },
        close: async () => google[Symbol.asyncDispose](),
      };
    },
  });
}
