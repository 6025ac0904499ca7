import { Retryable, Terminal } from '../errors.js';
import type { Held } from '../port.js';
import type { Assignment } from './access.js';
import { type Api, present, readPages } from './api.js';
import type { AwsConfig } from './config.js';
import type { Directory } from './directory.js';
import { NotFound } from './faults.js';
import { createOperations, explainFailure, waitFor } from './operations.js';
import { refuseAccount, refuseSession } from './refusals.js';

/** Creates the part that grants permission sets to users in accounts. The list of assignments counts, not the result of an operation. */
export function createAssignments(config: AwsConfig, api: Api, directory: Directory) {
  const operations = createOperations(api, config.instance);

  async function isListed(assignment: Assignment, signal: AbortSignal): Promise<boolean> {
    for await (const { id, type } of readPrincipals(assignment, signal)) {
      if (type === 'USER' && id === assignment.user) return true;
    }
    return false;
  }

  /** Yields the principals that a permission set is assigned to in an account; none when it no longer exists. */
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

  async function remove(assignment: Assignment, signal: AbortSignal): Promise<void> {
    try {
      const deleted = await operations.begin('delete', assignment, signal);
      waitFor(deleted);
      if (deleted.status === 'failed') throw explainFailure(deleted);
    } catch (error) {
      // Removed by another meanwhile: the list says whether it is so.
      if (!(error instanceof NotFound)) throw error;
    }
  }

  return {
    readPrincipals,

    /** An operation is looked for first: one that ends between the two reads is then in the list. */
    async holds(assignment: Assignment, signal: AbortSignal): Promise<Held> {
      if (await operations.isChanging(assignment, signal)) return 'changing';
      return isListed(assignment, signal);
    },

    async ensurePresent(assignment: Assignment, signal: AbortSignal): Promise<void> {
      const running = await operations.current(assignment, signal);
      if (running) waitFor(running);
      if (await isListed(assignment, signal)) return;
      if (running?.task === 'create' && running.status === 'failed') throw explainFailure(running);
      const set = await directory.permissionSet(assignment.permission_set, signal);
      if (!set) throw new Terminal('The permission set does not exist');
      refuseAccount(config, await directory.instance(signal), assignment.account);
      refuseSession(config, set);
      const created = await operations.begin('create', assignment, signal);
      waitFor(created);
      if (created.status === 'failed') throw explainFailure(created);
    },

    async ensureAbsent(assignment: Assignment, signal: AbortSignal): Promise<void> {
      const running = await operations.current(assignment, signal);
      // A creation cannot be cancelled, and a deletion beside it is a conflict.
      if (running) waitFor(running);
      if (!(await isListed(assignment, signal))) return;
      await remove(assignment, signal);
      if (await isListed(assignment, signal)) throw new Retryable('AWS still lists the assignment after its deletion');
    },
  };
}
