import { Retryable, Terminal } from '../errors.js';
import type { Held } from '../port.js';
import type { Assignment } from './access.js';
import { type Api, present, readPages } from './api.js';
import type { AwsConfig } from './config.js';
import { type Directory, refuseAccount, refuseSession } from './directory.js';
import { NotFound } from './faults.js';
import { createOperations, explainFailure, keyOf, type Operation, waitFor } from './operations.js';

/**
 * Creates the part that grants permission sets to users in accounts. `holds` reads the list of assignments, not an
 * operation's result.
 */
export function createAssignments(config: AwsConfig, api: Api, directory: Directory) {
  const operations = createOperations(api, config.instance);
  /** Assignments that this process created and has not deleted. Lists can lag, so a list without one must not end a revocation. */
  const created = new Set<string>();

  async function isListed(assignment: Assignment, signal: AbortSignal): Promise<boolean> {
    for await (const { id, type } of readPrincipals(assignment, signal)) {
      if (type === 'USER' && id === assignment.user) return true;
    }
    return false;
  }

  /** Yields the principals that a permission set is assigned to in an account; none when the permission set no longer exists. */
  function readPrincipals({ permission_set, account }: Omit<Assignment, 'user'>, signal: AbortSignal) {
    return readPages(async (NextToken) => {
      const input = { InstanceArn: config.instance, AccountId: account, PermissionSetArn: permission_set };
      const page = await api.find('sso:ListAccountAssignments', signal, ({ admin }, options) =>
        admin.listAccountAssignments({ ...input, MaxResults: 100, NextToken }, options),
      );
      if (!page) return { items: [], next: undefined };
      const items = present(page.AccountAssignments).map((each) => ({
        id: present(each.PrincipalId),
        type: each.PrincipalType,
      }));
      return { items, next: page.NextToken };
    });
  }

  /**
   * Throws `Pending` while an operation runs: a creation cannot be cancelled, and another operation beside it is a conflict.
   * Returns a creation that this process saw running and that has failed since, or undefined.
   */
  async function follow(assignment: Assignment, signal: AbortSignal): Promise<Operation | undefined> {
    const found = await operations.current(assignment, signal);
    if (!found) return undefined;
    waitFor(found);
    if (found.task === 'delete' || found.status === 'succeeded') return undefined;
    created.delete(keyOf(assignment));
    return found;
  }

  async function remove(assignment: Assignment, signal: AbortSignal): Promise<void> {
    try {
      const deleted = await operations.begin('delete', assignment, signal);
      created.delete(keyOf(assignment));
      waitFor(deleted);
      if (deleted.status === 'failed') throw explainFailure(deleted);
    } catch (error) {
      // Another client removed the assignment meanwhile; the caller reads the list to confirm.
      if (!(error instanceof NotFound)) throw error;
      created.delete(keyOf(assignment));
    }
  }

  return {
    readPrincipals,

    /** Operations are read first: when one ends between the two reads, the list already shows its result. */
    async holds(assignment: Assignment, signal: AbortSignal): Promise<Held> {
      if (await operations.isChanging(assignment, signal)) return 'changing';
      return isListed(assignment, signal);
    },

    async ensurePresent(assignment: Assignment, signal: AbortSignal): Promise<void> {
      const failed = await follow(assignment, signal);
      if (await isListed(assignment, signal)) return;
      if (failed) throw explainFailure(failed);
      const set = await directory.permissionSet(assignment.permission_set, signal);
      if (!set) throw new Terminal('The permission set does not exist');
      refuseAccount(config, await directory.instance(signal), assignment.account);
      refuseSession(config, set);
      created.add(keyOf(assignment));
      const operation = await operations.begin('create', assignment, signal);
      waitFor(operation);
      if (operation.status === 'succeeded') return;
      created.delete(keyOf(assignment));
      throw explainFailure(operation);
    },

    async ensureAbsent(assignment: Assignment, signal: AbortSignal): Promise<void> {
      await follow(assignment, signal);
      if (!created.has(keyOf(assignment)) && !(await isListed(assignment, signal))) return;
      await remove(assignment, signal);
      if (await isListed(assignment, signal)) throw new Retryable('AWS still lists the assignment after its deletion');
    },
  };
}
