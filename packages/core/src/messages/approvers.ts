import { foldAddress } from '@belay/contract/address';
import { type approvals, userIdentities, users } from '@belay/db';
import { eq, isNull } from 'drizzle-orm';
import type { Store } from '../context.js';
import { asPerson, toPerson, wasToldLately } from '../people/people.js';

/** A person with an address; without a user where only the configuration knows them. */
export interface Addressee {
  userId: string | null;
  address: string;
}

interface Known extends Addressee {
  folded: string;
  groups: readonly string[];
  recent: boolean;
}

/** Returns who may decide an approval, each person once. Groups count as they do for clicks: as told lately. */
export type FindApprovers = (approval: Pick<typeof approvals.$inferSelect, 'rule' | 'excluded'>) => Addressee[];

/** Reads the people whom providers have described, to find approvers among them. */
export async function readApprovers(ctx: Store): Promise<FindApprovers> {
  const rows = await ctx.db
    .select({ identity: userIdentities, recent: wasToldLately(ctx).mapWith(Boolean) })
    .from(userIdentities)
    .innerJoin(users, eq(users.id, userIdentities.userId))
    .where(isNull(users.deprovisionedAt));
  const known = rows.flatMap(({ identity, recent }): Known[] => {
    const { emailFolded: folded, email: address, userId } = identity;
    const { groups } = asPerson(ctx, toPerson(identity));
    return folded === null ? [] : [{ userId, address, folded, groups, recent }];
  });
  return ({ rule, excluded }) => {
    const never = new Set(excluded);
    const named = rule.users
      .filter((address) => !known.some(({ folded }) => folded === address))
      .map((address) => ({ userId: null, address, folded: foldAddress(address) ?? address }));
    const found = known.filter(
      ({ folded, groups, recent }) =>
        rule.users.includes(folded) || (recent && rule.groups.some((group) => groups.includes(group))),
    );
    const own = new Set(known.filter(({ folded }) => never.has(folded)).map(({ userId }) => userId));
    const permitted = [...named, ...found].filter(({ folded, userId }) => !never.has(folded) && !own.has(userId));
    return [
      ...new Map(permitted.map(({ userId, address, folded }) => [userId ?? folded, { userId, address }])).values(),
    ];
  };
}
