import type { AccountAssignmentOperationStatus } from '@aws-sdk/client-sso-admin';
import { Pending, Retryable, Terminal } from '../errors.js';
import type { Assignment } from './access.js';
import { type Api, present, readPages } from './api.js';
import { AwsFault } from './faults.js';

export type Task = 'create' | 'delete';

/** An operation of AWS for one assignment. It continues after the call that began it has returned. */
export interface Operation {
  id: string;
  task: Task;
  status: 'running' | 'succeeded' | 'failed';
  failureReason: string;
}

/** After how many milliseconds a running operation is read again: most take a few seconds. */
const look = 2_000;

/** Begins creations and deletions of assignments, and follows them to their end. */
export interface Operations {
  /** Begins an operation. Returns its status so far. */
  begin(task: Task, assignment: Assignment, signal: AbortSignal): Promise<Operation>;
  /**
   * Returns the operation that is running for an assignment, even when another process began it. Otherwise returns, once, the ended
   * operation that this process last saw running; or null.
   */
  current(assignment: Assignment, signal: AbortSignal): Promise<Operation | null>;
  /** Returns whether an operation is running for an assignment. Leaves an ended operation for `current`. */
  isChanging(assignment: Assignment, signal: AbortSignal): Promise<boolean>;
}

export function createOperations(api: Api, instance: string): Operations {
  /** The operations that this process saw running, by assignment. It finds those of other processes in the lists of AWS. */
  const begun = new Map<string, { task: Task; id: string }>();

  async function describe(task: Task, id: string, signal: AbortSignal) {
    if (task === 'create') {
      const found = await api.find('sso:DescribeAccountAssignmentCreationStatus', signal, ({ admin }, options) =>
        admin.describeAccountAssignmentCreationStatus(
          { InstanceArn: instance, AccountAssignmentCreationRequestId: id },
          options,
        ),
      );
      return found && present(found.AccountAssignmentCreationStatus);
    }
    const found = await api.find('sso:DescribeAccountAssignmentDeletionStatus', signal, ({ admin }, options) =>
      admin.describeAccountAssignmentDeletionStatus(
        { InstanceArn: instance, AccountAssignmentDeletionRequestId: id },
        options,
      ),
    );
    return found && present(found.AccountAssignmentDeletionStatus);
  }

  function listRunning(task: Task, signal: AbortSignal) {
    return readPages(async (NextToken) => {
      const input = { InstanceArn: instance, Filter: { Status: 'IN_PROGRESS' as const }, MaxResults: 100, NextToken };
      if (task === 'create') {
        const page = await api.ask('sso:ListAccountAssignmentCreationStatus', signal, ({ admin }, options) =>
          admin.listAccountAssignmentCreationStatus(input, options),
        );
        return { items: page.AccountAssignmentsCreationStatus, next: page.NextToken };
      }
      const page = await api.ask('sso:ListAccountAssignmentDeletionStatus', signal, ({ admin }, options) =>
        admin.listAccountAssignmentDeletionStatus(input, options),
      );
      return { items: page.AccountAssignmentsDeletionStatus, next: page.NextToken };
    });
  }

  /** The lists do not name the assignment, so each running operation is read; AWS runs about ten at a time. */
  async function findRunning(task: Task, assignment: Assignment, signal: AbortSignal): Promise<Operation | null> {
    for await (const { RequestId } of listRunning(task, signal)) {
      const id = present(RequestId);
      const found = await describe(task, id, signal);
      if (!found || !isOf(found, assignment)) continue;
      const operation = toOperation(task, id, found);
      if (operation.status === 'running') return operation;
    }
    return null;
  }

  async function read(assignment: Assignment, signal: AbortSignal): Promise<Operation | null> {
    const own = begun.get(keyOf(assignment));
    const found = own && (await describe(own.task, own.id, signal));
    if (own && found) return toOperation(own.task, own.id, found);
    return (await findRunning('create', assignment, signal)) ?? findRunning('delete', assignment, signal);
  }

  return {
    async begin(task, assignment, signal) {
      const status = await send(api, instance, task, assignment, signal);
      const id = present(status.RequestId);
      begun.set(keyOf(assignment), { task, id });
      const operation = toOperation(task, id, status);
      if (operation.status !== 'running') {
        begun.delete(keyOf(assignment));
        return operation;
      }
      const now = await describe(task, id, signal);
      const after = now ? toOperation(task, id, now) : operation;
      if (after.status !== 'running') begun.delete(keyOf(assignment));
      return after;
    },

    async current(assignment, signal) {
      const found = await read(assignment, signal);
      if (found?.status === 'running') begun.set(keyOf(assignment), { task: found.task, id: found.id });
      else begun.delete(keyOf(assignment));
      return found;
    },

    isChanging: async (assignment, signal) => (await read(assignment, signal))?.status === 'running',
  };
}

async function send(api: Api, instance: string, task: Task, assignment: Assignment, signal: AbortSignal) {
  const input = {
    InstanceArn: instance,
    PermissionSetArn: assignment.permission_set,
    TargetType: 'AWS_ACCOUNT' as const,
    TargetId: assignment.account,
    PrincipalType: 'USER' as const,
    PrincipalId: assignment.user,
  };
  if (task === 'create') {
    const answer = await api.ask('sso:CreateAccountAssignment', signal, ({ admin }, options) =>
      admin.createAccountAssignment(input, options),
    );
    return present(answer.AccountAssignmentCreationStatus);
  }
  const answer = await api.ask('sso:DeleteAccountAssignment', signal, ({ admin }, options) =>
    admin.deleteAccountAssignment(input, options),
  );
  return present(answer.AccountAssignmentDeletionStatus);
}

/** Throws `Pending` while the operation is running. */
export function waitFor({ task, status }: Operation): void {
  if (status !== 'running') return;
  const doing = task === 'create' ? 'creating' : 'deleting';
  throw new Pending(`AWS is ${doing} the assignment of the permission set`, { afterMilliseconds: look });
}

const reasons: [RegExp, string][] = [
  [/access ?denied|not authorized|403/i, 'it was denied access to the account'],
  [/quota|limit ?exceeded/i, 'a quota of the account is used up'],
  [/suspended|closed/i, 'the account is suspended or closed'],
  [/not ?found|does ?n.t exist|not exist|404/i, 'it did not find the account, the permission set or the user'],
];

/** Returns the error of an operation that AWS could not carry out. The text from AWS is in the cause only. */
export function explainFailure({ task, failureReason }: Operation): Retryable | Terminal {
  const why = reasons.find(([pattern]) => pattern.test(failureReason))?.[1] ?? 'the operation failed';
  const cause = new AwsFault(failureReason, { operation: `${task} of an account assignment` });
  if (task === 'create') return new Terminal(`AWS could not assign the permission set: ${why}`, { cause });
  return new Retryable(`AWS could not delete the assignment of the permission set: ${why}`, { cause });
}

function toOperation(
  task: Task,
  id: string,
  { Status, FailureReason = '' }: AccountAssignmentOperationStatus,
): Operation {
  // An unknown status does not show that the operation has ended.
  const status = Status === 'SUCCEEDED' ? 'succeeded' : Status === 'FAILED' ? 'failed' : 'running';
  return { id, task, status, failureReason: FailureReason };
}

function isOf(found: AccountAssignmentOperationStatus, { permission_set, account, user }: Assignment): boolean {
  return found.PermissionSetArn === permission_set && found.TargetId === account && found.PrincipalId === user;
}

export function keyOf(subject: object): string {
  return JSON.stringify(Object.entries(subject).sort(([one], [other]) => (one < other ? -1 : 1)));
}
