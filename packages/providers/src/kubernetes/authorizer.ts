import { z } from 'zod';
import { LeftToOthers, OtherTarget, Retryable, Terminal } from '../errors.js';
import { type HttpClient, path } from '../http/client.js';
import type { Authorizer, Entitlement } from '../port.js';
import { accessOf, bindingName, bindingsPath, rbac, rolePath, type Target, targetOf } from './access.js';
import type { KubernetesConfig } from './config.js';
import {
  type Binding,
  bindingSchema,
  gives,
  givesOnly,
  group,
  isPrivileged,
  labels,
  roleList,
  roleSchema,
  untilAnnotation,
} from './objects.js';
import { readAll, readBindings } from './read.js';

const namespaceSchema = z.object({ metadata: z.object({ uid: z.string().min(1) }) });
/** The user, and the uids of the role and the namespace. */
const pinned = z.strictObject({ user: z.string(), role: z.string(), scope: z.string() });
type Subject = z.infer<typeof pinned>;
const wholeCluster = 'cluster';
/** The values that a label can have (at most 63 characters); other identifiers are not written into the label. */
const labelValue = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

/** Creates the authorizer: one RoleBinding or ClusterRoleBinding for each entitlement. */
export function createAuthorizer(config: KubernetesConfig, client: HttpClient): Authorizer {
  /** Every cluster has the namespace. Throws `Retryable` without it: two clusters must not have the same fingerprint. */
  async function readTarget(signal: AbortSignal): Promise<string> {
    const found = await readNamespace('kube-system', signal);
    if (!found) throw new Retryable('The cluster did not return the namespace kube-system, which identifies it');
    return found.metadata.uid;
  }

  function readNamespace(name: string, signal: AbortSignal) {
    return client.find({ method: 'GET', path: path`/api/v1/namespaces/${name}`, schema: namespaceSchema }, signal);
  }

  /** Returns the identifiers of an entitlement. Throws `OtherTarget` at another cluster than the one where it is pinned. */
  async function readPin({ pin }: Entitlement, signal: AbortSignal): Promise<Subject> {
    if (pin.target !== (await readTarget(signal))) throw new OtherTarget();
    const subject = pinned.safeParse(pin.subject);
    if (!subject.success) throw new Terminal('The stored identifiers are not those of a user and a role of a cluster');
    return subject.data;
  }

  const readRole = (target: Target, signal: AbortSignal) =>
    client.find({ method: 'GET', path: rolePath(target), schema: roleSchema }, signal);

  const readBinding = (at: string, signal: AbortSignal) =>
    client.find({ method: 'GET', path: at, schema: bindingSchema }, signal);

  async function findPin(user: string, target: Target, signal: AbortSignal) {
    const [role, namespace] = await Promise.all([
      readRole(target, signal),
      target.namespace === undefined ? undefined : readNamespace(target.namespace, signal),
    ]);
    if (!role || namespace === null) return null;
    const subject: Subject = { user, role: role.metadata.uid, scope: namespace?.metadata.uid ?? wholeCluster };
    return { target: await readTarget(signal), subject };
  }

  /** Throws `Terminal` when the role or the namespace does not exist, is not the pinned one, or the role may not be granted. */
  async function checkRole(subject: Subject, target: Target, signal: AbortSignal): Promise<void> {
    if (subject.user === '' || subject.user.startsWith('system:'))
      throw new Terminal('The identity is not a user of the cluster');
    const role = await readRole(target, signal);
    if (!role) throw new Terminal('The role does not exist in the cluster');
    if (subject.role !== role.metadata.uid)
      throw new Terminal('The role was deleted and created again since the request');
    if (!config.allow_privileged_roles && isPrivileged(role.rules, target)) {
      throw new Terminal('The role is privileged, and allow_privileged_roles is not set for this provider');
    }
    const namespace = target.namespace === undefined ? undefined : await readNamespace(target.namespace, signal);
    if (subject.scope !== (namespace === undefined ? wholeCluster : namespace?.metadata.uid))
      throw new Terminal('The namespace was deleted or created again since the request');
  }

  /** Deletes exactly this object: one that was created again meanwhile has another uid and is kept. */
  async function remove(at: string, { metadata }: Binding, signal: AbortSignal): Promise<void> {
    const preconditions = { uid: metadata.uid };
    await client.send({ method: 'DELETE', path: at, json: { preconditions }, accept: [404] }, signal);
  }

  async function extend(at: string, { metadata }: Binding, until: Date, signal: AbortSignal): Promise<void> {
    const before = Date.parse(metadata.annotations?.[untilAnnotation] ?? '');
    if (before >= until.getTime()) return;
    const { uid, resourceVersion } = metadata;
    const change = { metadata: { uid, resourceVersion, annotations: { [untilAnnotation]: until.toISOString() } } };
    const headers = { 'content-type': 'application/merge-patch+json' };
    await client.send({ method: 'PATCH', path: at, json: change, headers }, signal);
  }

  /** Deletes a binding that has Belay's name but another content, because `roleRef` cannot be changed. */
  async function clearAway(at: string, found: Binding, signal: AbortSignal): Promise<void> {
    if (found.metadata.labels?.[labels.manager] !== 'belay') {
      throw new Terminal('A binding with this name exists that Belay did not create');
    }
    await remove(at, found, signal);
  }

  /** Returns whether a user has a role: by Belay's binding, or by any other, also one for the whole cluster (standing access). */
  async function isBound(user: string, target: Target, signal: AbortSignal): Promise<boolean> {
    const own = await readBinding(`${bindingsPath(target)}/${bindingName(user, target)}`, signal);
    if (own && gives(own, target, user)) return true;
    return (await listOthers(user, target, signal)).length > 0;
  }

  /** Returns the other bindings that give a user the role, also those for the whole cluster. */
  async function listOthers(user: string, target: Target, signal: AbortSignal): Promise<string[]> {
    const names: string[] = [];
    const scopes = target.namespace === undefined ? [{}] : [{ namespace: target.namespace }, {}];
    for (const scope of scopes) {
      if (target.kind === 'Role' && !('namespace' in scope)) continue;
      for await (const found of readBindings(client, bindingsPath(scope), {}, signal)) {
        const { name, namespace } = found.metadata;
        const isOwn = name === bindingName(user, target) && namespace === target.namespace;
        if (isOwn || !gives(found, target, user)) continue;
        names.push(namespace === undefined ? `ClusterRoleBinding ${name}` : `RoleBinding ${namespace}/${name}`);
      }
    }
    return names;
  }

  return {
    // Each API server learns of the deletion by a watch, within moments.
    residual: 'PT10S',
    leavesBehind:
      'Streams that are open (exec, attach, port-forward, watch) continue until they are closed, and tokens of service accounts that were created meanwhile stay valid.',
    knows: true,
    // The API server responds after the change is in etcd, and reads from a quorum.
    neverLate: true,

    target: readTarget,

    pin: (named, signal) => findPin(named.identity, targetOf(named), signal),

    async holds(entitlement, signal) {
      const { user } = await readPin(entitlement, signal);
      for (const target of targetsOf(entitlement)) if (await isBound(user, target, signal)) return true;
      return false;
    },

    async ensurePresent(entitlement, until, signal) {
      const subject = await readPin(entitlement, signal);
      const { user } = subject;
      const target = targetOf(entitlement.name);
      await checkRole(subject, target, signal);
      const at = `${bindingsPath(target)}/${bindingName(user, target)}`;
      const json = makeBinding({ id: entitlement.id, user }, target, until);
      const create = () => client.send({ method: 'POST', path: bindingsPath(target), json, accept: [409] }, signal);
      if ((await create()).status !== 409) return;
      const found = await readBinding(at, signal);
      if (found && givesOnly(found, target, user)) return extend(at, found, until, signal);
      if (found) await clearAway(at, found, signal);
      if ((await create()).status === 409) throw new Retryable('The binding was changed at the same time');
    },

    async ensureAbsent(entitlement, signal) {
      const { user } = await readPin(entitlement, signal);
      const others: string[] = [];
      for (const target of targetsOf(entitlement)) {
        const at = `${bindingsPath(target)}/${bindingName(user, target)}`;
        const found = await readBinding(at, signal);
        if (found) {
          await remove(at, found, signal);
          // A finalizer can keep an object, and so the access, after its deletion.
          if (await readBinding(at, signal)) throw new Retryable('The binding still exists after its deletion');
        }
        others.push(...(await listOthers(user, target, signal)));
      }
      if (others.length > 0) {
        const names = [...new Set(others)].sort().join(', ');
        throw new LeftToOthers(`The access is also given by ${names}, which Belay does not delete`);
      }
    },

    async *list(signal) {
      const query = { labelSelector: `${labels.manager}=belay` };
      for (const at of [`${rbac}/rolebindings`, `${rbac}/clusterrolebindings`]) {
        for await (const found of readBindings(client, at, query, signal)) {
          const { kind, name: role } = found.roleRef;
          const { namespace, labels: own } = found.metadata;
          if (kind !== 'Role' && kind !== 'ClusterRole') continue;
          const target: Target = { kind, role, ...(namespace === undefined ? {} : { namespace }) };
          for (const { name: identity } of found.subjects.filter((one) => one.kind === 'User')) {
            const pin = await findPin(identity, target, signal);
            const id = own?.[labels.entitlement] ?? '';
            if (pin) yield { id, identity, access: accessOf(target), pin };
          }
        }
      }
    },

    async roles(signal) {
      const found: { name: string; arn: string; description: string }[] = [];
      for await (const { metadata } of readAll(client, `${rbac}/clusterroles`, {}, roleList, signal)) {
        if (metadata.name.startsWith('system:')) continue;
        const name = `cluster-role/${metadata.name}`;
        found.push({ name, arn: name, description: '' });
      }
      return found;
    },

    // Permissions are in roles (see planBindings), so none can be requested alone.
    permissions: async () => [],
  };
}

/** Returns the roles and scopes that an entitlement was committed with. Kubernetes finds a binding and its role by their names alone. */
function targetsOf({ names }: Entitlement): Target[] {
  const targets = names.map(targetOf);
  return [...new Map(targets.map((target) => [JSON.stringify(accessOf(target)), target])).values()];
}

/** Returns the binding of an entitlement, in the form of the API. */
export function makeBinding({ id, user }: { id: string; user: string }, target: Target, until: Date) {
  return {
    apiVersion: `${group}/v1`,
    kind: target.namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: {
      name: bindingName(user, target),
      labels: { [labels.manager]: 'belay', ...(labelValue.test(id) ? { [labels.entitlement]: id } : {}) },
      annotations: { [untilAnnotation]: until.toISOString() },
    },
    roleRef: { apiGroup: group, kind: target.kind, name: target.role },
    subjects: [{ apiGroup: group, kind: 'User', name: user }],
  };
}
