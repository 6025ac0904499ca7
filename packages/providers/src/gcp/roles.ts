import { foldAddress } from '@belay/contract/address';
import { z } from 'zod';
import { LeftToOthers, Retryable, Terminal } from '../errors.js';
import { parseAnswer, timeOf } from '../http/answer.js';
import { path } from '../http/client.js';
import type { Entitlement } from '../port.js';
import { createTurns } from '../turns.js';
import { type RoleAccess, readAccess } from './access.js';
import type { GcpConfig } from './config.js';
import { type GoogleClients, type KindOfAccess, target } from './kind.js';
import {
  accountOf,
  addOwn,
  findOwn,
  type Grantee,
  gives,
  isOver,
  markOf,
  nameOthers,
  type Policy,
  policySchema,
  removeOwn,
  write,
} from './policy.js';

const projectSchema = z.object({ name: z.string().regex(/^projects\/\d+$/) });
const roleSchema = z.object({
  deleted: z.boolean().optional(),
  stage: z.string().optional(),
  includedPermissions: z.array(z.string()).optional(),
});
const pinned = z.strictObject({ user: z.string(), role: z.string(), project: z.string().regex(/^projects\/\d+$/) });

/**
 * Permissions with which a holder can give themselves more access, act as another account, or make credentials that
 * outlast the access.
 */
const dangers =
  /\.setIamPolicy$|^iam\.serviceAccounts\.(actAs|getAccessToken|getOpenIdToken|implicitDelegation|signBlob|signJwt)$|^iam\.serviceAccountKeys\.(create|upload)$|^iam\.roles\.(create|update|undelete)$|^iam\.workloadIdentityPool(s|Providers|ProviderKeys)\.(create|update|undelete)$|^(storage\.hmacKeys|apikeys\.keys)\.create$/;
/** How many times a change is tried when the policy changes at the same time. */
const tries = 5;

/** The project of a policy, and the account and role of Belay's binding in it. */
interface Place {
  project: string;
  grantee: Grantee;
}

/** Creates the part that grants roles on projects, each by one binding with a condition that ends it. */
export function createRoleAccess(config: GcpConfig, { policies, iam }: GoogleClients): KindOfAccess {
  /** Runs changes of one project's policy in turn, because a policy is replaced as a whole. */
  const inTurn = createTurns();
  /** The grants that this process began and has not revoked: a read that lags must not count as a revocation. */
  const begun = new Set<string>();

  const readRole = async (role: string, signal: AbortSignal) => {
    const found = await iam.find({ method: 'GET', path: `/v1/${role}`, schema: roleSchema }, signal);
    return found?.deleted ? null : found;
  };

  async function readProject(resource: string, signal: AbortSignal): Promise<string> {
    const id = resource.slice('projects/'.length);
    const call = { method: 'GET' as const, path: path`/v3/projects/${id}`, schema: projectSchema };
    return (await policies.ask(call, signal)).name;
  }

  function placeOf({ id, pin }: Entitlement): Place {
    const subject = pinned.safeParse(pin.subject);
    if (!subject.success) throw new Terminal('The stored identifiers are not those of this kind of access');
    const { user, role, project } = subject.data;
    return { project, grantee: { id, role, email: user } };
  }

  /** Returns a policy exactly as Google sent it, so that fields unknown to Belay are written back. */
  async function readPolicy(
    project: string,
    signal: AbortSignal,
  ): Promise<{ policy: Policy; now: number | undefined }> {
    const at = `/v3/${project}:getIamPolicy`;
    const json = { options: { requestedPolicyVersion: 3 } };
    const answer = await policies.send({ method: 'POST', path: at, json }, signal);
    parseAnswer(policySchema, answer.body, { service: 'Google Cloud', method: 'POST', path: at });
    return { policy: answer.body as Policy, now: timeOf(answer) };
  }

  /** Reads, changes and writes a policy, with its etag, and starts again when another writer changed it meanwhile. */
  async function change(
    project: string,
    signal: AbortSignal,
    edit: (policy: Policy, now: number | undefined) => Policy | undefined,
  ): Promise<void> {
    await inTurn(project, signal, async () => {
      for (let tried = 0; tried < tries; tried += 1) {
        const { policy, now } = await readPolicy(project, signal);
        const changed = edit(policy, now);
        if (!changed) return;
        const { status } = await policies.send(
          { method: 'POST', path: `/v3/${project}:setIamPolicy`, json: { policy: changed }, accept: [400, 409, 412] },
          signal,
        );
        if (status < 300) return;
        if (status === 400) {
          throw new Terminal(
            'Google Cloud does not accept the binding: the account does not exist, the role cannot be granted on a project, or a policy of the organization forbids it',
          );
        }
      }
      throw new Retryable('The policy of the project is being changed by others at the same time');
    });
  }

  /** Throws `Terminal` when the role does not exist or may not be granted. */
  async function checkRole(role: string, signal: AbortSignal): Promise<void> {
    const found = await readRole(role, signal);
    if (!found || found.stage === 'DISABLED')
      throw new Terminal('The role does not exist at Google Cloud, or is disabled');
    const isPrivileged = (found.includedPermissions ?? []).some((permission) => dangers.test(permission));
    if (isPrivileged && !config.allow_privileged_roles) {
      throw new Terminal('The role is privileged, and allow_privileged_roles is not set for this provider');
    }
  }

  const keyOf = ({ project, grantee: { id, role, email } }: Place) => JSON.stringify([project, id, role, email]);

  return {
    async pin(named, signal) {
      const { role, resource } = readAccess(named) as RoleAccess;
      const user = foldAddress(named.identity);
      if (user === undefined || !(await readRole(role, signal))) return null;
      return { user, role, project: await readProject(resource, signal) };
    },

    async holds(entitlement, signal) {
      const { project, grantee } = placeOf(entitlement);
      const { policy, now } = await readPolicy(project, signal);
      return gives(policy, grantee, now);
    },

    async ensurePresent(entitlement, until, signal) {
      const place = placeOf(entitlement);
      await checkRole(place.grantee.role, signal);
      await change(place.project, signal, (policy) => {
        const changed = addOwn(policy, place.grantee, until);
        if (changed) begun.add(keyOf(place));
        return changed;
      });
    },

    async ensureAbsent(entitlement, signal) {
      const place = placeOf(entitlement);
      const { project, grantee } = place;
      let isLitter = false;
      let others: string[] = [];
      try {
        await change(project, signal, (policy, now) => {
          const own = findOwn(policy, grantee);
          isLitter = own.length > 0 && own.every((one) => isOver(one, now));
          others = nameOthers(policy, grantee, now);
          // After a grant of this process, the policy is written even without a binding: Google rejects the etag of an old read.
          return removeOwn(policy, grantee) ?? (begun.has(keyOf(place)) ? write(policy) : undefined);
        });
        begun.delete(keyOf(place));
      } catch (error) {
        // A project that is being deleted rejects changes, and an expired binding gives no access.
        if (!(isLitter && error instanceof Terminal)) throw error;
      }
      if (others.length > 0)
        throw new LeftToOthers(`The role is also given by ${others.join(', ')}, which Belay does not remove`);
    },

    async *list(signal) {
      for (const id of config.projects) {
        const resource = `projects/${id}`;
        const project = await readProject(resource, signal);
        const { policy } = await readPolicy(project, signal);
        for (const binding of policy.bindings ?? []) {
          const mark = markOf(binding);
          if (mark === undefined) continue;
          const { role } = binding;
          for (const account of (binding.members ?? []).map(accountOf)) {
            if (!account) continue;
            const pin = { target, subject: { user: account.email, role, project } };
            yield { id: mark, identity: account.email, access: { role, resource }, pin };
          }
        }
      }
    },
  };
}
