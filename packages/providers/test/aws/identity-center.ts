import { randomUUID } from 'node:crypto';
import {
  type Act,
  type Entry,
  type Exchange,
  findHeld,
  type Held,
  type Message,
  type Reply,
  startFront,
  startTarget,
} from '@belay/targets';
import { awsConnector, type ConnectorTools, type ProviderClient } from '../../src/index.js';

const region = 'eu-central-1';
const credentials = { access_key_id: 'AKIAGOOD', secret_access_key: 's3cret-access-key' };
/** Ids of accounts, which have 12 digits. The management account owns the instance at moto. */
export const accounts = ['111122223333', '444455556666'];
export const management = '123456789012';

type Body = Record<string, unknown>;
const changes = [
  'CreateAccountAssignment',
  'DeleteAccountAssignment',
  'CreateGroupMembership',
  'DeleteGroupMembership',
];
interface Operation {
  id: string;
  task: 'Creation' | 'Deletion';
  body: Body;
  status: 'IN_PROGRESS' | 'SUCCEEDED' | 'FAILED';
  /** When the operation ends, by the clock; infinite while a test delays it. */
  at: number;
  failure?: string;
}

/** Settings with which a test controls the emulated AWS. */
export interface Orders {
  /** How long operations take, in milliseconds. 0 ends them before the next request. */
  takes: number;
  /** Returns why an operation fails, or undefined. */
  failure(task: Operation['task'], body: Body): string | undefined;
  /** Operations that AWS denies to the credentials. */
  denied: Set<string>;
  /** The number of further members in every list of members, for tests with many people. */
  crowd: number;
  /** Groups that another directory owns. */
  provisioned: Set<string>;
}

/**
 * Starts an emulated IAM Identity Center. moto has the data. A proxy before moto (`half`) adds what moto lacks: operations that
 * take time and fail, conflicts, the lists of operations, checks of principals, accounts and credentials, pages, renames. `front`
 * is for faults between the connector and AWS; `judge`, directly before moto, records what really changes.
 */
export async function openIdentityCenter() {
  const moto = await startTarget('moto');
  const clock = { now: Date.UTC(2030, 0, 1) };
  const now = () => clock.now;
  const judge = await startFront({ to: moto.url, now });
  for (const operation of changes) {
    const when = ({ headers }: Message) => operationOf(headers['x-amz-target']) === operation;
    judge.on({ when }, { name: operation, run: (exchange) => exchange.forward() });
  }
  const operations = new Map<string, Operation>();
  const calls: string[] = [];
  const newNames = new Map<string, string>();
  const orders: Orders = {
    takes: 0,
    failure: () => undefined,
    denied: new Set(),
    crowd: 0,
    provisioned: new Set(),
  };

  /** Calls moto as an administrator, without the proxy that adds what moto lacks. */
  async function call<T = Record<string, never>>(operation: string, body: Body = {}): Promise<T> {
    const { status, text } = await post(judge.url, operation, body);
    if (status !== 200) throw new Error(`${operation}: ${status} ${text}`);
    return JSON.parse(text) as T;
  }

  const { Instances } = await call<{ Instances: { InstanceArn: string; IdentityStoreId: string }[] }>('ListInstances');
  const { InstanceArn: instance = '', IdentityStoreId: store = '' } = Instances[0] ?? {};

  const readAssignments = async ({ AccountId, PermissionSetArn }: Body) => {
    const found: { PrincipalId: string; PrincipalType: string }[] = [];
    for (let NextToken: string | undefined; ; ) {
      const page = await call<{ AccountAssignments: typeof found; NextToken?: string }>('ListAccountAssignments', {
        ...{ InstanceArn: instance, AccountId, PermissionSetArn, MaxResults: 100 },
        ...(NextToken && { NextToken }),
      });
      found.push(...page.AccountAssignments);
      NextToken = page.NextToken;
      if (!NextToken) return found;
    }
  };
  const isAssigned = async (body: Body) =>
    (await readAssignments({ ...body, AccountId: body.TargetId })).some((one) => one.PrincipalId === body.PrincipalId);
  const exists = (operation: string, body: Body) =>
    call(operation, body).then(
      () => true,
      () => false,
    );

  /** Ends the operations that are due. Their change is sent to moto only then. */
  async function settle(): Promise<void> {
    for (const operation of operations.values()) {
      if (operation.status === 'IN_PROGRESS' && operation.at <= now()) await end(operation);
    }
  }

  async function end(operation: Operation): Promise<void> {
    const { task, body } = operation;
    const assigned = await isAssigned(body);
    operation.failure ??= orders.failure(task, body) ?? (await refusal(task, body, assigned));
    operation.status = operation.failure === undefined ? 'SUCCEEDED' : 'FAILED';
    if (operation.status === 'FAILED') return;
    if (task === 'Creation' && !assigned) await call('CreateAccountAssignment', body);
    if (task === 'Deletion') await call('DeleteAccountAssignment', body);
  }

  async function refusal(task: Operation['task'], body: Body, assigned: boolean): Promise<string | undefined> {
    if (task === 'Deletion') return assigned ? undefined : 'Received a 404 status error: Assignment not found';
    const ids = { IdentityStoreId: store, UserId: body.PrincipalId };
    if (!(await exists('DescribeUser', ids)))
      return `Received a 404 status error: Principal ${body.PrincipalId} not found`;
    return [...accounts, management].includes(String(body.TargetId)) ? undefined : 'The account does not exist';
  }

  async function begin(task: Operation['task'], body: Body): Promise<Reply> {
    if (!(await exists('DescribePermissionSet', { InstanceArn: instance, PermissionSetArn: body.PermissionSetArn }))) {
      return fault('ResourceNotFoundException');
    }
    const running = [...operations.values()].filter(({ status }) => status === 'IN_PROGRESS');
    const same = running.some((one) => JSON.stringify(one.body) === JSON.stringify(body));
    if (same || running.length >= 10) return fault('ConflictException');
    const operation: Operation = { id: randomUUID(), task, body, status: 'IN_PROGRESS', at: now() + orders.takes };
    operations.set(operation.id, operation);
    return ok({ [`AccountAssignment${task}Status`]: describe(operation) });
  }

  const describe = ({ id, status, failure, body }: Operation) => ({
    ...{ RequestId: id, Status: status, CreatedDate: now() / 1_000, ...body },
    ...(failure !== undefined && { FailureReason: failure }),
  });

  function describeOne(task: Operation['task'], id: unknown): Reply {
    const found = operations.get(String(id));
    return found?.task === task
      ? ok({ [`AccountAssignment${task}Status`]: describe(found) })
      : fault('ResourceNotFoundException');
  }

  function listOperations(task: Operation['task'], body: Body): Reply {
    const wanted = (body.Filter as { Status?: string } | undefined)?.Status;
    const found = [...operations.values()].filter(
      (one) => one.task === task && (wanted === undefined || one.status === wanted),
    );
    const rows = found.map(({ id, status }) => ({ RequestId: id, Status: status }));
    return paged(`AccountAssignments${task}Status`, rows, body);
  }

  const crowd = () =>
    Array.from({ length: orders.crowd }, (_, index) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`);

  async function listAssignments(body: Body): Promise<Reply> {
    const ids = { InstanceArn: instance, PermissionSetArn: body.PermissionSetArn };
    if (!(await exists('DescribePermissionSet', ids))) return fault('ResourceNotFoundException');
    const others = crowd().map((PrincipalId) => ({ ...body, PrincipalId, PrincipalType: 'USER' }));
    return paged('AccountAssignments', [...others, ...(await readAssignments(body))], body);
  }

  async function listAccounts({ PermissionSetArn, ...body }: Body): Promise<Reply> {
    const found = await Promise.all(
      [...accounts, management].map(async (AccountId) => ({
        AccountId,
        used: (await readAssignments({ AccountId, PermissionSetArn })).length > 0,
      })),
    );
    return paged(
      'AccountIds',
      found.flatMap(({ AccountId, used }) => (used ? [AccountId] : [])),
      body,
    );
  }

  async function listMembers(body: Body): Promise<Reply> {
    const GroupId = String(body.GroupId);
    if (!(await exists('DescribeGroup', { IdentityStoreId: store, GroupId }))) return notFound('GROUP');
    const members: unknown[] = crowd().map((UserId) => ({ GroupId, MembershipId: UserId, MemberId: { UserId } }));
    for (let NextToken: string | undefined; ; ) {
      const page = await call<{ GroupMemberships: unknown[]; NextToken?: string }>('ListGroupMemberships', {
        ...{ IdentityStoreId: store, GroupId, MaxResults: 100 },
        ...(NextToken && { NextToken }),
      });
      members.push(...page.GroupMemberships);
      NextToken = page.NextToken;
      if (!NextToken) return paged('GroupMemberships', members, body);
    }
  }

  const isMember = (body: Body) => exists('GetGroupMembershipId', body);

  async function checkGroup(body: Body): Promise<Reply | undefined> {
    const { UserId } = body.MemberId as { UserId: string };
    const groups = (body.GroupIds as string[] | undefined) ?? [body.GroupId];
    if (!(await exists('DescribeUser', { IdentityStoreId: store, UserId }))) return notFound('USER');
    for (const GroupId of groups) {
      if (!(await exists('DescribeGroup', { IdentityStoreId: store, GroupId }))) return notFound('GROUP');
    }
    return undefined;
  }

  /** Puts changed names into a reply of moto, which cannot rename. */
  function renamed(reply: Reply): Reply {
    const body = JSON.parse(String(reply.body)) as Body;
    const change = (one: Body) => {
      const name = newNames.get(String(one.UserId ?? one.GroupId));
      if (name !== undefined) one[one.UserId === undefined ? 'DisplayName' : 'UserName'] = name;
      if (orders.provisioned.has(String(one.GroupId))) one.ExternalIds = [{ Issuer: 'https://idp.example', Id: 'x' }];
    };
    for (const one of [body, ...((body.Users ?? body.Groups ?? []) as Body[])]) change(one);
    return { ...reply, body };
  }

  async function findByName(
    { AlternateIdentifier }: Body,
    forward: () => Promise<Reply>,
    kind: string,
  ): Promise<Reply> {
    const { UniqueAttribute } = AlternateIdentifier as {
      UniqueAttribute: { AttributePath: string; AttributeValue: string };
    };
    const { AttributePath, AttributeValue } = UniqueAttribute;
    if (AttributePath === 'emails.value') return forward();
    for (const [id, name] of newNames) if (name === AttributeValue) return ok({ [kind]: id, IdentityStoreId: store });
    const reply = await forward();
    const id = reply.status === 200 ? String((JSON.parse(String(reply.body)) as Body)[kind]) : '';
    return newNames.has(id) ? notFound(kind === 'UserId' ? 'USER' : 'GROUP') : reply;
  }

  const answers: Record<string, (body: Body, exchange: Exchange) => Promise<Reply> | Reply> = {
    CreateAccountAssignment: (body) => begin('Creation', body),
    DeleteAccountAssignment: (body) => begin('Deletion', body),
    DescribeAccountAssignmentCreationStatus: (body) => describeOne('Creation', body.AccountAssignmentCreationRequestId),
    DescribeAccountAssignmentDeletionStatus: (body) => describeOne('Deletion', body.AccountAssignmentDeletionRequestId),
    ListAccountAssignmentCreationStatus: (body) => listOperations('Creation', body),
    ListAccountAssignmentDeletionStatus: (body) => listOperations('Deletion', body),
    ListAccountAssignments: listAssignments,
    ListAccountsForProvisionedPermissionSet: listAccounts,
    ListGroupMemberships: listMembers,
    DescribeUser: async (_, { forward }) => renamed(await forward()),
    DescribeGroup: async (_, { forward }) => renamed(await forward()),
    ListUsers: async (_, { forward }) => renamed(await forward()),
    ListGroups: async (_, { forward }) => renamed(await forward()),
    GetUserId: (body, { forward }) => findByName(body, forward, 'UserId'),
    GetGroupId: (body, { forward }) => findByName(body, forward, 'GroupId'),
    IsMemberInGroups: async (body, { forward }) => (await checkGroup(body)) ?? forward(),
    CreateGroupMembership: async (body, { forward }) => {
      const missing = await checkGroup(body);
      if (missing) return missing;
      return (await isMember(body))
        ? fault('ConflictException', { Reason: 'UNIQUENESS_CONSTRAINT_VIOLATION' })
        : forward();
    },
  };

  const likeAws: Act = {
    name: 'like AWS',
    async run(exchange) {
      await settle();
      const { request } = exchange;
      const operation = operationOf(request.headers['x-amz-target']);
      calls.push(operation);
      const key = /Credential=(\w+)\//.exec(request.headers.authorization ?? '')?.[1];
      if (key === 'AKIAEXPIRED') return fault('ExpiredTokenException');
      if (key !== credentials.access_key_id) return fault('UnrecognizedClientException');
      if (orders.denied.has(operation)) return fault('AccessDeniedException');
      const known = answers[operation];
      return known ? known(JSON.parse(request.body) as Body, exchange) : exchange.forward();
    },
  };
  const half = await startFront({ to: judge.url, now });
  half.on({}, likeAws);
  const front = await startFront({ to: half.url, now });
  const clients: ProviderClient[] = [];
  let made = 0;

  const center = {
    ...{ clock, instance, store, orders, operations, front, judge, call, settle, end, newNames },
    config: { region, instance, ...credentials },
    async client(config: Body = {}, tools: Partial<ConnectorTools> = {}): Promise<ProviderClient> {
      const parsed = awsConnector.config.parse({ ...center.config, endpoint: front.url, ...config });
      const client = await awsConnector.create(parsed, { now, log: () => {}, ...tools });
      clients.push(client);
      return client;
    },
    /** Makes a permission set, with sessions of one hour by default, and returns its name and ARN. */
    async permissionSet(SessionDuration = 'PT1H', name = `Set-${++made}`) {
      const input = { Name: name, Description: `Set ${name}`, InstanceArn: instance, SessionDuration };
      const answer = await call<{ PermissionSet: { PermissionSetArn: string } }>('CreatePermissionSet', input);
      return { name, arn: answer.PermissionSet.PermissionSetArn };
    },
    async user(name = `user-${++made}`, email = `${name}@example.com`, ...others: string[]) {
      const { UserId } = await call<{ UserId: string }>('CreateUser', {
        ...{ IdentityStoreId: store, UserName: name, DisplayName: name, Name: { GivenName: 'x', FamilyName: 'y' } },
        Emails: [{ Value: email, Primary: true }, ...others.map((Value) => ({ Value, Primary: false }))],
      });
      return { name, id: UserId };
    },
    async group(name = `Group ${++made}`) {
      const { GroupId } = await call<{ GroupId: string }>('CreateGroup', { IdentityStoreId: store, DisplayName: name });
      return { name, id: GroupId };
    },
    /** Assigns a permission set without the connector. */
    assign: (PermissionSetArn: string, PrincipalId: string, PrincipalType = 'USER', TargetId = accounts[0]) =>
      call('CreateAccountAssignment', {
        ...{ InstanceArn: instance, PermissionSetArn, PrincipalId, PrincipalType, TargetId, TargetType: 'AWS_ACCOUNT' },
      }),
    join: (GroupId: string, UserId: string) =>
      call('CreateGroupMembership', { IdentityStoreId: store, GroupId, MemberId: { UserId } }),
    /** Returns the principals of a permission set in an account, once for each assignment. */
    assigned: async (PermissionSetArn: string, AccountId = accounts[0]) =>
      (await readAssignments({ AccountId, PermissionSetArn })).map((one) => one.PrincipalId),
    members: async (GroupId: string) => {
      const input = { IdentityStoreId: store, GroupId, MaxResults: 100 };
      const page = await call<{ GroupMemberships: { MemberId: { UserId: string } }[] }>('ListGroupMemberships', input);
      return page.GroupMemberships.map((one) => one.MemberId.UserId);
    },
    /** Returns when moto held which assignments and memberships. */
    held: (): Held[] => findHeld(judge.journal, effectOf),
    /** The operations that reached AWS, in their order. */
    calls,
    async close() {
      for (const client of clients) await client.close();
      for (const one of [front, half, judge, moto]) await one[Symbol.asyncDispose]();
    },
  };
  return center;
}

export type IdentityCenter = Awaited<ReturnType<typeof openIdentityCenter>>;

/** Returns the operation that a request calls: `AWSIdentityStore.ListUsers` is `ListUsers`. */
export function operationOf(target: string | undefined): string {
  return target?.split('.').at(-1) ?? '';
}

/** Returns the access that a request to moto changes, and whether it grants that access. */
function effectOf({ act, body, target }: Entry) {
  if (!changes.includes(act)) return undefined;
  const { TargetId, PermissionSetArn, PrincipalId, ...sent } = (body ?? {}) as Body;
  const { MembershipId } = { ...sent, ...(target?.body as Body) };
  const key = String(MembershipId ?? [TargetId, PermissionSetArn, PrincipalId].join(' '));
  return { key, held: act.startsWith('Create') };
}

async function post(url: string, operation: string, body: Body) {
  const store = body.IdentityStoreId !== undefined;
  const service = store ? 'identitystore' : 'sso';
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': `${store ? 'AWSIdentityStore' : 'SWBExternalService'}.${operation}`,
      authorization: `AWS4-HMAC-SHA256 Credential=AKIATEST/20300101/${region}/${service}/aws4_request, SignedHeaders=host, Signature=x`,
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

function ok(body: Body): Reply {
  return { status: 200, body };
}

/** Returns an error in the form of AWS. */
export function fault(type: string, more: Body = {}): Reply {
  return { status: 400, body: { __type: type, Message: 'arn:aws:secret-words-of-aws', ...more } };
}

function notFound(ResourceType: string): Reply {
  return fault('ResourceNotFoundException', { ResourceType });
}

/** Returns a page of a list, with at most 100 items; its tokens are numbers. */
function paged(name: string, items: readonly unknown[], { NextToken, MaxResults = 100 }: Body): Reply {
  const from = Number(NextToken ?? 0);
  const to = from + Math.min(100, Number(MaxResults));
  return ok({ [name]: items.slice(from, to), ...(to < items.length && { NextToken: String(to) }) });
}
