import type { Approvers } from '@belay/contract/approvals';
import { notFound } from '@belay/contract/errors';
import type { Verdict } from '@belay/contract/fields';
import { limits } from '@belay/contract/limits';
import { decisions, userIdentities, users } from '@belay/db';
import { and, eq, isNull } from 'drizzle-orm';
import type { ActorStore } from '../context.js';
import { findExecution } from '../find-execution.js';
import { namesOfGroups, unmetCondition } from '../people/admission.js';
import { isNamedBy } from '../people/certain.js';
import { addressNaming, foldName } from '../people/names.js';
import { asPerson, toPerson } from '../people/people.js';
import { listUnseen } from '../people/unseen.js';
import { isExcluded } from './exclusion.js';
import { type FoundApproval, findApprovals } from './find.js';

type Approver = Approvers['people'][number];

/** The maximum number of identities that are read; `more` is set when there are more. */
const mostRead = 2_000;

/**
 * Returns who can decide on an approval, by name: the people known to Belay whom its rule names, except the requester
 * and those to be elevated; and the addresses and groups of the rule without any such person. Throws `not_found` for callers
 * who may not see the request.
 */
export async function listApprovers(ctx: ActorStore, { id }: { id: string }): Promise<Approvers> {
  const [approval] = await findApprovals(ctx.db, id);
  if (!approval) throw notFound('The approval');
  await findExecution(ctx, ctx.actor, approval.executionId);
  const { rule } = approval;
  const [read, made, unseen] = await Promise.all([
    readNamed(ctx, approval),
    readDecisions(ctx, approval.id),
    listUnseen(ctx, ctx.db, rule, mostRead),
  ]);
  const people = new Map<string, Approver>();
  for (const { id: personId, email, name, groups, named } of read.people) {
    const earlier = people.get(personId);
    people.set(personId, {
      ...(earlier ?? { email, name, verdict: made.get(personId) ?? null }),
      groups: named ? [] : [...new Set([...(earlier?.groups ?? []), ...groups])],
    });
  }
  const shown = unseen
    .filter(({ addresses }) => !addresses.some((one) => read.barred.has(one) || approval.excluded.includes(one)))
    .map(({ id: account, name, email, addresses, groups }) => {
      const named = rule.users.find((user) => addresses.includes(user));
      const theirs = rule.groups.filter((group) => groups.includes(group));
      return { account, name, email: named ?? email, addresses, groups: named === undefined ? theirs : [] };
    });
  for (const { account, name, email, groups } of shown) people.set(account, { email, name, verdict: null, groups });
  const known = [...people.values()].sort((a, b) => a.name.localeCompare(b.name) || a.email.localeCompare(b.email));
  const seen = new Set([
    ...read.barred,
    ...read.people.map(({ email }) => foldName(email)),
    ...shown.flatMap(({ addresses }) => addresses),
  ]);
  const peopled = new Set([...read.people, ...shown].flatMap(({ groups }) => groups));
  return {
    people: known.slice(0, limits.approvers),
    more: read.more || known.length > limits.approvers,
    unknown: {
      users: rule.users.filter((user) => !seen.has(foldName(user))),
      groups: rule.groups.filter((group) => !peopled.has(group)),
    },
  };
}

/**
 * Returns each identity that the rule names under the configuration in force, with those of its groups that the rule names; and
 * the addresses of those who may not decide on this approval.
 */
async function readNamed(ctx: ActorStore, { rule, excluded, ownerId }: FoundApproval) {
  const addresses = rule.users.map(foldName);
  const own = namesOfGroups(ctx.catalog.current(), rule.groups);
  const rows = await ctx.db
    .select({ identity: userIdentities })
    .from(userIdentities)
    .innerJoin(users, eq(users.id, userIdentities.userId))
    .where(and(isNull(users.deprovisionedAt), isNamedBy({ addresses, groups: own })))
    .orderBy(userIdentities.userId)
    .limit(mostRead + 1);
  const catalog = ctx.catalog.current();
  const barred = new Set<string>();
  const people = rows.slice(0, mostRead).flatMap(({ identity }) => {
    const person = asPerson(ctx, toPerson(identity));
    if (person.id === ownerId || isExcluded([person], { excluded })) {
      barred.add(addressNaming(person));
      return [];
    }
    if (!catalog.authenticators.includes(identity.provider) || unmetCondition(catalog, identity)) return [];
    const named = addresses.includes(addressNaming(person));
    const groups = rule.groups.filter((group) => person.groups.includes(group));
    return named || groups.length > 0 ? [{ ...person, groups, named }] : [];
  });
  return { people, barred, more: rows.length > mostRead };
}

async function readDecisions(ctx: ActorStore, approvalId: string): Promise<Map<string, Verdict>> {
  const made = await ctx.db
    .select({ approver: decisions.approverId, verdict: decisions.verdict })
    .from(decisions)
    .where(eq(decisions.approvalId, approvalId));
  return new Map(made.map(({ approver, verdict }) => [approver, verdict]));
}
