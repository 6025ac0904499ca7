import { type approvals, type Transaction, userIdentities, users } from '@belay/db';
import { eq } from 'drizzle-orm';
import { isExcluded } from '../approvals/exclusion.js';
import type { Person, Store } from '../context.js';
import { namesOfGroups } from '../people/admission.js';
import { isNamedBy } from '../people/certain.js';
import { addressNaming, foldName } from '../people/names.js';
import { asPerson, toPerson, wasToldLately } from '../people/people.js';
import { listUnseen } from '../people/unseen.js';

/** A person with an address. `userId` is null when no known person has the address. */
export interface Addressee {
  userId: string | null;
  address: string;
}

interface Known extends Addressee {
  folded: string;
  person: Person;
  groups: readonly string[];
  recent: boolean;
  /**
   * The person has left. They stay in this list, so that an address of theirs in a workflow does not count as that of an unknown person.
   */
  left: boolean;
}

/**
 * Returns who may decide an approval, each person once. Groups count, as for clicks, only when their provider has described the person
 * recently.
 */
export type FindApprovers = (approval: Asked) => Addressee[];

type Asked = Pick<typeof approvals.$inferSelect, 'rule' | 'excluded'>;

/** Returns a function that finds the approvers of some approvals. Reads only the people whom these approvals name or exclude. */
export async function readApprovers(ctx: Store, tx: Transaction, asked: readonly Asked[]): Promise<FindApprovers> {
  const addresses = asked.flatMap(({ rule, excluded }) => [...rule.users, ...excluded]);
  const groups = asked.flatMap(({ rule }) => rule.groups);
  const names = namesOfGroups(ctx.catalog.current(), [...new Set(groups)]);
  const rows = await tx
    .select({ identity: userIdentities, recent: wasToldLately(ctx).mapWith(Boolean), leftAt: users.deprovisionedAt })
    .from(userIdentities)
    .innerJoin(users, eq(users.id, userIdentities.userId))
    .where(isNamedBy({ addresses, groups: names }));
  const known = rows.flatMap(({ identity, recent, leftAt }): Known[] => {
    const { email: address, userId } = identity;
    const person = asPerson(ctx, toPerson(identity));
    const folded = addressNaming(person);
    const { groups } = person;
    return folded === '' ? [] : [{ userId, address, folded, person, groups, recent, left: leftAt !== null }];
  });
  const unseen = await listUnseen(ctx, tx, { users: [], groups });
  return ({ rule, excluded }) => {
    const never = new Set(excluded);
    const named = [
      ...rule.users.filter((address) => !known.some(({ folded }) => folded === address)),
      ...unseen
        .filter((one) => rule.groups.some((group) => one.groups.includes(group)))
        .filter(({ addresses }) => !addresses.some((one) => never.has(one)))
        .map(({ email }) => email),
    ].map((address) => ({ userId: null, address, folded: foldName(address) }));
    const found = known.filter(
      ({ folded, groups, recent, left }) =>
        !left && (rule.users.includes(folded) || (recent && rule.groups.some((group) => groups.includes(group)))),
    );
    const own = new Set(known.filter(({ person }) => isExcluded([person], { excluded })).map(({ userId }) => userId));
    const permitted = [...named, ...found].filter(({ folded, userId }) => !never.has(folded) && !own.has(userId));
    return [
      ...new Map(permitted.map(({ userId, address, folded }) => [userId ?? folded, { userId, address }])).values(),
    ];
  };
}
