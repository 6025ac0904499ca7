import { z } from 'zod';
import { Terminal } from '../errors.js';
import type { Access, AccessRequest, Named, Plan, PlanIssue } from '../port.js';
import { readGroup, readPermissionSet } from './config.js';

const account = /^account\/(\d{12})$/;

/** The access of this connector: a permission set in an account, or membership of a group. */
const access = z.union([
  z.strictObject({ permission_set: z.string(), account: z.string().regex(/^\d{12}$/) }),
  z.strictObject({ group: z.string() }),
]);

/** The same access by identifiers that do not change on a rename. `user` is the holder. */
const subject = z.union([
  z.strictObject({ permission_set: z.string().min(1), account: z.string().min(1), user: z.string().min(1) }),
  z.strictObject({ group: z.string().min(1), user: z.string().min(1) }),
]);

export type NamedAccess = z.infer<typeof access>;
export type Subject = z.infer<typeof subject>;
export type Assignment = Extract<Subject, { permission_set: string }>;
export type Membership = Extract<Subject, { group: string }>;

/** Returns one access for each permission set in each account, or one for each group. Reports every fault at once. */
export function planAccess(_config: unknown, { roles, permissions, resources }: AccessRequest): Plan {
  const sets = roles.filter((role) => readPermissionSet(role) !== undefined);
  const groups = roles.filter((role) => readGroup(role) !== undefined);
  const issues: PlanIssue[] = [
    ...reject(permissions.allow, 'permissions.allow', 'AWS permissions are in permission sets: inherit one of them'),
    ...reject(permissions.deny, 'permissions.deny', 'An assignment of AWS cannot deny permissions'),
    ...reject(resources.deny, 'resources.deny', 'An assignment of AWS cannot deny accounts'),
  ];
  if (roles.length === 0)
    issues.push({
      path: 'inherits',
      message: 'must name a permission set, such as permission-set/ReadOnly, or a group',
    });
  roles.forEach((role, index) => {
    if (!sets.includes(role) && !groups.includes(role))
      issues.push({ path: `inherits[${index}]`, message: 'must be permission-set/<name> or group/<name>' });
  });
  resources.allow.forEach((resource, index) => {
    if (!account.test(resource))
      issues.push({ path: `resources.allow[${index}]`, message: 'must be account/<the 12 digits of an AWS account>' });
  });
  if (sets.length > 0 && resources.allow.length === 0)
    issues.push({
      path: 'resources.allow',
      message: 'must name an account for the permission set: account/<12 digits>',
    });
  if (groups.length > 0 && resources.allow.length > 0) {
    const message = 'does not limit a group: put groups and permission sets into separate roles';
    issues.push({ path: 'resources.allow', message });
  }
  if (issues.length > 0) return { ok: false, issues };
  const accesses: Access[] = [
    ...sets.flatMap((set) =>
      resources.allow.map((resource) => ({
        permission_set: readPermissionSet(set) ?? '',
        account: account.exec(resource)?.[1] ?? '',
      })),
    ),
    ...groups.map((group) => ({ group: readGroup(group) ?? '' })),
  ];
  return { ok: true, accesses: [...new Map(accesses.map((each) => [JSON.stringify(each), each])).values()] };
}

function reject(list: readonly string[], at: string, message: string): PlanIssue[] {
  return list.map((_, index) => ({ path: `${at}[${index}]`, message }));
}

/** Returns an access by its names. Throws `Terminal` when the access does not belong to this connector. */
export function readAccess(named: Pick<Named, 'access'>): NamedAccess {
  const result = access.safeParse(named.access);
  if (!result.success) throw new Terminal('The access is not a permission set in an account, or a group');
  return result.data;
}

/** Returns the identifiers that an entitlement was pinned to. Throws `Terminal` when they are not those of this connector. */
export function readSubject(pinned: unknown): Subject {
  const result = subject.safeParse(pinned);
  if (!result.success) throw new Terminal('The stored identifiers are not those of a user and an access at AWS');
  return result.data;
}
