import type { HttpClient } from '../http/client.js';
import type { Access, Obstacle, Weakness } from '../port.js';
import { bindingsPath, rolePath, type Target, targetOf } from './access.js';
import { makeBinding } from './authorizer.js';
import type { KubernetesConfig } from './config.js';
import { group, isPrivileged, roleSchema } from './objects.js';
import { findMissing } from './reviews.js';

/** The verbs that a grant and its revocation need on a binding. */
const verbs = ['get', 'create', 'patch', 'delete'];
const guide = 'bind the ClusterRole of docs/connectors/kubernetes.md to it';
/** The identity of no person: its binding is only tried (`dryRun`), and never stored. */
const tried = { id: '', user: 'belay-dry-run' };

/** Returns the accesses whose grant the cluster or this connector would reject, each with its cure. */
export async function findObstacles(
  client: HttpClient,
  { accesses, config }: { accesses: readonly Access[]; config: KubernetesConfig },
  signal: AbortSignal,
): Promise<Obstacle[]> {
  const found = await Promise.all(
    accesses.map(async (access): Promise<Obstacle[]> => {
      const obstacle = await findOne(client, targetOf({ access }), config, signal);
      return obstacle ? [{ access, ...obstacle }] : [];
    }),
  );
  return found.flat();
}

async function findOne(
  client: HttpClient,
  target: Target,
  config: KubernetesConfig,
  signal: AbortSignal,
): Promise<Weakness | undefined> {
  const { kind, role: name, namespace } = target;
  const role = await client.find({ method: 'GET', path: rolePath(target), schema: roleSchema }, signal);
  if (!role) return { message: `the ${kind} ${name} does not exist`, cure: 'create it, or offer another role' };
  if (!config.allow_privileged_roles && isPrivileged(role.rules, target)) {
    return {
      message: `the ${kind} ${name} is privileged, so it is not granted`,
      cure: 'offer a role whose holder can give themselves nothing, or set allow_privileged_roles for the provider',
    };
  }
  const scope = namespace === undefined ? 'the cluster' : `the namespace ${namespace}`;
  const resource = namespace === undefined ? 'clusterrolebindings' : 'rolebindings';
  const needed = verbs.map((verb) => ({ verb, resource, group, ...(namespace === undefined ? {} : { namespace }) }));
  const missing = await findMissing(client, needed, signal);
  if (missing.length > 0) return { message: `the connector may not ${missing.join(', ')} in ${scope}`, cure: guide };
  const { status } = await client.send(
    {
      method: 'POST',
      path: bindingsPath(target),
      query: { dryRun: 'All' },
      json: makeBinding(tried, target, new Date(0)),
      accept: [403, 404],
    },
    signal,
  );
  if (status === 404) return { message: `${scope} does not exist`, cure: 'create it, or offer another one' };
  if (status !== 403) return undefined;
  return {
    message: `the connector may not bind the ${kind} ${name} in ${scope}`,
    cure: `permit it the verb bind on ${name}`,
  };
}
