import { untilAborted } from '../abort.js';
import { OtherTarget } from '../errors.js';
import type { Access, Authorizer, Entitlement, Pin } from '../port.js';
import { createTurns } from '../turns.js';
import { type NamedAccess, readAccess, readSubject, type Subject } from './access.js';
import { type Api, present, readPages } from './api.js';
import { createAssignments } from './assignments.js';
import { type AwsConfig, readGroup, readPermissionSet } from './config.js';
import type { Directory, Instance } from './directory.js';
import { createMemberships } from './memberships.js';
import { keyOf } from './operations.js';

/** With more users than this, the list of all users is read instead of each user. */
const fewNames = 50;

/** Creates the authorizer for account assignments of permission sets and for group membership. */
export function createAuthorizer(config: AwsConfig, api: Api, directory: Directory): Authorizer {
  const assignments = createAssignments(config, api, directory);
  const memberships = createMemberships(config, api, directory);
  const turns = createTurns();
  // One assignment has one operation at a time, also while the caller of an earlier one no longer waits for it.
  const inTurn = <T>(subject: Subject, signal: AbortSignal, work: () => Promise<T>) =>
    untilAborted(turns(keyOf(subject), signal, work), signal);
  const targetOf = ({ arn, store }: Instance) => `${arn} ${store}`;
  const readTarget = async (signal: AbortSignal) => targetOf(await directory.instance(signal));

  async function findSubject(named: NamedAccess, identity: string, signal: AbortSignal): Promise<Subject | null> {
    const [user, id] = await Promise.all([
      directory.findUser('userName', identity, signal),
      'group' in named
        ? directory.findGroup(named.group, signal)
        : directory.findPermissionSet(named.permission_set, signal),
    ]);
    if (user === null || id === null) return null;
    return 'group' in named ? { group: id, user } : { permission_set: id, account: named.account, user };
  }

  /** Returns the identifiers of an entitlement. Throws `OtherTarget` when it is pinned at another instance. */
  async function resolve({ pin }: Entitlement, signal: AbortSignal): Promise<Subject> {
    if (pin.target !== (await readTarget(signal))) throw new OtherTarget();
    return readSubject(pin.subject);
  }

  /** Yields the accounts in which a permission set is assigned to anyone. */
  function readAccounts(PermissionSetArn: string, signal: AbortSignal) {
    return readPages(async (NextToken) => {
      const page = await api.ask('sso:ListAccountsForProvisionedPermissionSet', signal, ({ admin }, options) =>
        admin.listAccountsForProvisionedPermissionSet(
          { InstanceArn: config.instance, PermissionSetArn, MaxResults: 100, NextToken },
          options,
        ),
      );
      return { items: page.AccountIds, next: page.NextToken };
    });
  }

  async function findExclusive(role: string, signal: AbortSignal): Promise<{ access: Access; subject: Subject }[]> {
    const found: { access: Access; subject: Subject }[] = [];
    const [set, group] = [readPermissionSet(role), readGroup(role)];
    if (group !== undefined) {
      const id = await directory.findGroup(group, signal);
      if (id === null) return found;
      for await (const user of memberships.readMembers(id, signal)) {
        found.push({ access: { group }, subject: { group: id, user } });
      }
      return found;
    }
    const arn = await directory.findPermissionSet(set ?? '', signal);
    if (arn === null) return found;
    for await (const account of readAccounts(arn, signal)) {
      for await (const { id: user, type } of assignments.readPrincipals({ permission_set: arn, account }, signal)) {
        if (type !== 'USER') continue;
        found.push({ access: { permission_set: set ?? '', account }, subject: { permission_set: arn, account, user } });
      }
    }
    return found;
  }

  /** Returns a function from a user's identifier to the user name; for a deleted user, it returns the identifier. */
  async function readNames(ids: ReadonlySet<string>, signal: AbortSignal): Promise<(id: string) => string> {
    const names = new Map<string, string>();
    if (ids.size > fewNames) for await (const { id, name } of directory.users(signal)) names.set(id, name);
    else for (const id of ids) names.set(id, (await directory.user(id, signal))?.name ?? id);
    return (id) => names.get(id) ?? id;
  }

  return {
    residual: config.max_session_duration,
    // A group is granted only when the sessions of its permission sets are within the same limit.
    residualOf: () => config.max_session_duration,
    leavesBehind:
      'Sessions in an AWS account that were opened before the access ended continue until they expire; no API call of AWS ends them earlier.',
    knows: true,

    target: readTarget,

    async pin(named, signal): Promise<Pin | null> {
      const subject = await findSubject(readAccess(named), named.identity, signal);
      return subject && { target: await readTarget(signal), subject };
    },

    async holds(entitlement, signal) {
      const subject = await resolve(entitlement, signal);
      return 'group' in subject ? memberships.holds(subject, signal) : assignments.holds(subject, signal);
    },

    async ensurePresent(entitlement, _until, signal) {
      const subject = await resolve(entitlement, signal);
      await inTurn(subject, signal, () =>
        'group' in subject ? memberships.ensurePresent(subject, signal) : assignments.ensurePresent(subject, signal),
      );
    },

    async ensureAbsent(entitlement, signal) {
      const subject = await resolve(entitlement, signal);
      await inTurn(subject, signal, () =>
        'group' in subject ? memberships.ensureAbsent(subject, signal) : assignments.ensureAbsent(subject, signal),
      );
    },

    async *list(signal) {
      const target = await readTarget(signal);
      const found: { access: Access; subject: Subject }[] = [];
      for (const role of config.exclusive) found.push(...(await findExclusive(role, signal)));
      const nameOf = await readNames(new Set(found.map(({ subject }) => subject.user)), signal);
      for (const { access, subject } of found) {
        yield { id: '', identity: nameOf(subject.user), access, pin: { target, subject } };
      }
    },

    async roles(signal) {
      const found: { name: string; arn: string; description: string }[] = [];
      for await (const { arn, name, description } of directory.permissionSets(signal)) {
        found.push({ name: `permission-set/${name}`, arn, description });
      }
      for await (const { id, name, description } of directory.groups(signal)) {
        found.push({ name: `group/${name}`, arn: present(id), description });
      }
      return found;
    },

    // Permissions are in permission sets (see planAccess), so none can be requested alone.
    permissions: async () => [],
  };
}
