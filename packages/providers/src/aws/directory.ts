import { readDuration } from '../duration.js';
import { Terminal } from '../errors.js';
import { type Api, present, readPages } from './api.js';
import type { AwsConfig } from './config.js';

/** An instance of IAM Identity Center. Its properties never change. */
export interface Instance {
  arn: string;
  /** The identity store of its users and groups. */
  store: string;
  /** The account that owns the instance; for an organization's instance, the management account. */
  owner: string;
}

export interface PermissionSet {
  arn: string;
  name: string;
  description: string;
  /** How long its sessions last, in milliseconds; undefined when the duration from AWS cannot be parsed. */
  session: number | undefined;
}

export interface User {
  id: string;
  name: string;
  displayName: string;
  emails: string[];
}

/** The session duration of a permission set that does not set one. */
const usualSession = 'PT1H';
/** The names and addresses that AWS permits. No request is sent for others, because AWS would reject it. */
const unique = {
  userName: /^[\p{L}\p{M}\p{S}\p{N}\p{P}]{1,128}$/u,
  'emails.value': /^[\p{L}\p{M}\p{S}\p{N}\p{P}]{1,1024}$/u,
};
const groupName = /^[\p{L}\p{M}\p{S}\p{N}\p{P} ]{1,1024}$/u;

/** Reads the instance, its permission sets, users and groups. */
export interface Directory {
  instance(signal: AbortSignal): Promise<Instance>;
  permissionSets(signal: AbortSignal): AsyncGenerator<PermissionSet>;
  permissionSet(arn: string, signal: AbortSignal): Promise<PermissionSet | null>;
  findPermissionSet(name: string, signal: AbortSignal): Promise<string | null>;
  users(signal: AbortSignal): AsyncGenerator<User>;
  user(id: string, signal: AbortSignal): Promise<User | null>;
  findUser(attribute: keyof typeof unique, value: string, signal: AbortSignal): Promise<string | null>;
  groups(signal: AbortSignal): AsyncGenerator<{ id: string; name: string; description: string }>;
  findGroup(name: string, signal: AbortSignal): Promise<string | null>;
}

export function createDirectory(api: Api, arn: string): Directory {
  let known: Instance | undefined;
  /** The names of permission sets by ARN, kept because they cannot be changed. */
  const names = new Map<string, string>();

  async function instance(signal: AbortSignal): Promise<Instance> {
    if (known) return known;
    const instances = readPages(async (NextToken) => {
      const page = await api.ask('sso:ListInstances', signal, ({ admin }, options) =>
        admin.listInstances({ NextToken }, options),
      );
      return { items: page.Instances, next: page.NextToken };
    });
    for await (const found of instances) {
      if (found.InstanceArn !== arn) continue;
      known = { arn, store: present(found.IdentityStoreId), owner: present(found.OwnerAccountId) };
      return known;
    }
    throw new Terminal("The instance of IAM Identity Center is not visible to the connector's credentials");
  }

  const readArns = (signal: AbortSignal) =>
    readPages(async (NextToken) => {
      const page = await api.ask('sso:ListPermissionSets', signal, ({ admin }, options) =>
        admin.listPermissionSets({ InstanceArn: arn, MaxResults: 100, NextToken }, options),
      );
      return { items: page.PermissionSets, next: page.NextToken };
    });

  async function permissionSet(PermissionSetArn: string, signal: AbortSignal): Promise<PermissionSet | null> {
    const found = await api.find('sso:DescribePermissionSet', signal, ({ admin }, options) =>
      admin.describePermissionSet({ InstanceArn: arn, PermissionSetArn }, options),
    );
    if (!found) return null;
    const { Name, Description = '', SessionDuration } = present(found.PermissionSet);
    const name = present(Name);
    names.set(PermissionSetArn, name);
    return {
      arn: PermissionSetArn,
      name,
      description: Description,
      session: readDuration(SessionDuration ?? usualSession),
    };
  }

  async function* permissionSets(signal: AbortSignal): AsyncGenerator<PermissionSet> {
    for await (const each of readArns(signal)) {
      const found = await permissionSet(each, signal);
      if (found) yield found;
    }
  }

  async function findPermissionSet(name: string, signal: AbortSignal): Promise<string | null> {
    const unread: string[] = [];
    for await (const each of readArns(signal)) {
      if (names.get(each) === name) return each;
      if (!names.has(each)) unread.push(each);
    }
    await Promise.all(unread.map((each) => permissionSet(each, signal)));
    return unread.find((each) => names.get(each) === name) ?? null;
  }

  async function* users(signal: AbortSignal): AsyncGenerator<User> {
    const { store: IdentityStoreId } = await instance(signal);
    const found = readPages(async (NextToken) => {
      const page = await api.ask('identitystore:ListUsers', signal, ({ store }, options) =>
        store.listUsers({ IdentityStoreId, MaxResults: 100, NextToken }, options),
      );
      return { items: page.Users, next: page.NextToken };
    });
    for await (const each of found) yield toUser(each);
  }

  return {
    instance,
    permissionSets,
    permissionSet,
    findPermissionSet,
    users,

    async user(UserId, signal) {
      const { store: IdentityStoreId } = await instance(signal);
      const found = await api.find('identitystore:DescribeUser', signal, ({ store }, options) =>
        store.describeUser({ IdentityStoreId, UserId }, options),
      );
      return found && toUser(found);
    },

    async findUser(AttributePath, AttributeValue, signal) {
      if (!unique[AttributePath].test(AttributeValue)) return null;
      const { store: IdentityStoreId } = await instance(signal);
      const AlternateIdentifier = { UniqueAttribute: { AttributePath, AttributeValue } };
      const found = await api.find('identitystore:GetUserId', signal, ({ store }, options) =>
        store.getUserId({ IdentityStoreId, AlternateIdentifier }, options),
      );
      return found && present(found.UserId);
    },

    async *groups(signal) {
      const { store: IdentityStoreId } = await instance(signal);
      const found = readPages(async (NextToken) => {
        const page = await api.ask('identitystore:ListGroups', signal, ({ store }, options) =>
          store.listGroups({ IdentityStoreId, MaxResults: 100, NextToken }, options),
        );
        return { items: page.Groups, next: page.NextToken };
      });
      for await (const { GroupId, DisplayName, Description = '' } of found) {
        yield { id: present(GroupId), name: DisplayName ?? '', description: Description };
      }
    },

    async findGroup(name, signal) {
      if (!groupName.test(name)) return null;
      const { store: IdentityStoreId } = await instance(signal);
      const AlternateIdentifier = { UniqueAttribute: { AttributePath: 'displayName', AttributeValue: name } };
      const found = await api.find('identitystore:GetGroupId', signal, ({ store }, options) =>
        store.getGroupId({ IdentityStoreId, AlternateIdentifier }, options),
      );
      return found && present(found.GroupId);
    },
  };
}

function toUser(found: {
  UserId?: string | undefined;
  UserName?: string | undefined;
  DisplayName?: string | undefined;
  Emails?: { Value?: string | undefined }[] | undefined;
}): User {
  const id = present(found.UserId);
  const name = found.UserName ?? id;
  const emails = (found.Emails ?? []).map(({ Value = '' }) => Value).filter((email) => email !== '');
  return { id, name, displayName: found.DisplayName ?? name, emails };
}

/** Throws `Terminal` for the management account, unless the configuration permits it. */
export function refuseAccount(config: AwsConfig, { owner }: Instance, account: string): void {
  if (account !== owner || config.allow_management_account) return;
  throw new Terminal(
    'The account is the management account of the organization; to permit this, set allow_management_account for the provider',
  );
}

/** Throws `Terminal` when sessions of a permission set could outlive the access by more than the configuration states. */
export function refuseSession(config: AwsConfig, { session }: PermissionSet): void {
  const longest = readDuration(config.max_session_duration) ?? 0;
  if (session !== undefined && session <= longest) return;
  throw new Terminal(
    `Sessions of the permission set last longer than max_session_duration (${config.max_session_duration}); ` +
      'shorten them, or raise max_session_duration for the provider',
  );
}
