import type { Access, AccessRequest, Connector, Plan } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';

/**
 * Returns a connector whose accesses are a role or permission on a resource, like those of Kubernetes or a cloud. A request gives
 * each of its roles and permissions on each of its resources; without a resource, on everything, so merging requests widens them.
 */
export function createPlacesConnector(type = 'places'): Connector {
  return { ...(createMemoryConnector() as Connector), type, plan: (_config, request) => planPlaces(request) };
}

function planPlaces({ roles, permissions, resources }: AccessRequest): Plan {
  const issues = resources.allow.flatMap((name, index) =>
    name.startsWith('!') ? [{ path: `resources.allow[${index}]`, message: 'is not a resource' }] : [],
  );
  if (roles.length + permissions.allow.length + resources.allow.length === 0) {
    issues.push({ path: 'inherits', message: 'asks for nothing' });
  }
  if (issues.length > 0) return { ok: false, issues };
  const named: Access[] = [
    ...roles.map((role) => ({ role })),
    ...permissions.allow.filter((one) => !permissions.deny.includes(one)).map((permission) => ({ permission })),
  ];
  const places = resources.allow.length === 0 ? ['everywhere'] : resources.allow;
  const allowed = places.filter((place) => !resources.deny.includes(place));
  return { ok: true, accesses: named.flatMap((one) => allowed.map((on) => ({ ...one, on }))) };
}
