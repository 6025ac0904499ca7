import { isSameAddress } from '@belay/contract/address';
import { z } from 'zod';
import { Terminal } from '../errors.js';

const bindingSchema = z.object({
  role: z.string(),
  members: z.array(z.string()).optional(),
  condition: z.object({ title: z.string().optional(), expression: z.string() }).optional(),
});

/** The etag is required, because a policy is never written without it. */
export const policySchema = z.object({
  etag: z.string().min(1),
  bindings: z
    .array(bindingSchema)
    // In versions below 3, Google returns such role names in place of conditions.
    .refine((list) => list.every(({ role }) => !role.includes('_withcond_')))
    .optional(),
});
export type Policy = z.infer<typeof policySchema>;
export type Binding = z.infer<typeof bindingSchema>;

/** The account and the role of an entitlement, and its identifier, which is in the title of its binding. */
export interface Grantee {
  id: string;
  role: string;
  email: string;
}

const titleOf = (id: string) => `belay-${id}`;
/** Google's limits for one policy. */
const mostConditional = 20;
const mostPrincipals = 1_500;

/** Returns the identifier of the entitlement in a binding's title, or undefined when Belay did not make the binding. */
export function markOf({ condition }: Binding): string | undefined {
  return condition && /^belay-(.+)$/s.exec(condition.title ?? '')?.[1];
}

/** Returns the account of a member, and whether the account is deleted; undefined for groups and others. */
export function accountOf(member: string): { email: string; deleted: boolean } | undefined {
  const [, deleted, email = ''] = /^(deleted:)?user:([^?]*)(?:\?uid=\d+)?$/.exec(member) ?? [];
  return email === '' ? undefined : { email, deleted: deleted !== undefined };
}

/** Returns when a binding ends, from a condition as Belay writes it; undefined for every other binding. */
function endOf({ condition }: Binding): number | undefined {
  const time = /^request\.time < timestamp\("([^"]+)"\)$/.exec(condition?.expression ?? '')?.[1];
  const end = Date.parse(time ?? '');
  return Number.isNaN(end) ? undefined : end;
}

/** Returns whether a binding is the one of an entitlement: by its title alone, because an account is renamed, and a holder may change the rest. */
function isOwn({ condition }: Binding, { id }: Grantee): boolean {
  return condition?.title === titleOf(id);
}

/** Returns whether a binding has ended by the provider's clock; false when that time is not known. */
export function isOver(binding: Binding, now: number | undefined): boolean {
  const end = endOf(binding);
  return end !== undefined && now !== undefined && end <= now;
}

/** Returns the bindings that Belay made for this grantee. */
export function findOwn({ bindings = [] }: Policy, grantee: Grantee): Binding[] {
  return bindings.filter((one) => isOwn(one, grantee));
}

/** Returns whether the grantee has the role now, by Belay's binding or any other binding of their account. */
export function gives(policy: Policy, grantee: Grantee, now: number | undefined): boolean {
  return findOwn(policy, grantee).some((one) => !isOver(one, now)) || nameOthers(policy, grantee, now).length > 0;
}

/** Returns how the other bindings are called that give the grantee's account the role now. */
export function nameOthers({ bindings = [] }: Policy, grantee: Grantee, now: number | undefined): string[] {
  const isTheirs = (member: string) => {
    const account = accountOf(member);
    return account !== undefined && !account.deleted && isSameAddress(account.email, grantee.email);
  };
  return bindings
    .filter((one) => one.role === grantee.role && !isOwn(one, grantee) && !isOver(one, now))
    .filter(({ members = [] }) => members.some(isTheirs))
    .map(({ condition }) =>
      condition ? `a binding with the condition "${condition.title ?? ''}"` : 'a binding without a condition',
    )
    .sort();
}

/**
 * Returns the policy with one binding of Belay that ends at `until` or later, or undefined when it already has that binding. Throws
 * `Terminal` when the policy would exceed Google's limits.
 */
export function addOwn(policy: Policy, grantee: Grantee, until: Date): Policy | undefined {
  const own = findOwn(policy, grantee);
  const [first] = own;
  // The binding has the new name of an account that was renamed since.
  const [only, ...more] = first?.members ?? [];
  const member = more.length === 0 && only !== undefined && !accountOf(only)?.deleted ? only : `user:${grantee.email}`;
  const end = Math.max(until.getTime(), ...own.map((one) => endOf(one) ?? 0));
  const isWhole = own.length === 1 && first?.members?.length === 1 && only === member;
  if (isWhole && first && endOf(first) === end) return undefined;

  const others = (policy.bindings ?? []).filter((one) => !isOwn(one, grantee));
  const conditional = others.filter(
    ({ role, members = [], condition }) => condition && role === grantee.role && members.includes(member),
  );
  if (conditional.length >= mostConditional) {
    throw new Terminal('The account has 20 conditional bindings of the role, the most that a policy allows');
  }
  const principals = others.reduce((sum, { members = [] }) => sum + members.length, 0);
  if (principals >= mostPrincipals) {
    throw new Terminal('The policy of the project is full: it has 1,500 principals, the most that Google Cloud allows');
  }
  const expression = `request.time < timestamp("${new Date(end).toISOString()}")`;
  const binding = { role: grantee.role, members: [member], condition: { title: titleOf(grantee.id), expression } };
  return write(policy, [...others, binding]);
}

/** Returns the policy without Belay's binding, or undefined when it has no such binding. */
export function removeOwn(policy: Policy, grantee: Grantee): Policy | undefined {
  const { bindings = [] } = policy;
  const others = bindings.filter((one) => !isOwn(one, grantee));
  return others.length === bindings.length ? undefined : write(policy, others);
}

/** Returns the policy with these bindings, in version 3: in lower versions, Google drops all conditions. */
export function write(policy: Policy, bindings = policy.bindings ?? []): Policy & { version: 3 } {
  return { ...policy, version: 3, bindings };
}
