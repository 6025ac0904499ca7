import { isInAudience } from '@belay/contract/audience';
import { AccessError } from '@belay/contract/errors';
import type { PageOf } from '@belay/contract/paging';
import { pageOf } from '@belay/contract/paging';
import type { LocalConfiguration } from './configuration.js';
import type { LocalContext, LocalPerson } from './ports.js';

/** Returns the providers of the local configuration that this person may see (GET /providers). */
export function listLocalProviders(
  ctx: LocalContext,
  person: LocalPerson,
  input: { capability?: string[] | undefined },
) {
  const { catalog_version: version, providers } = inForce(ctx);
  const wanted = input.capability ?? [];
  const visible = Object.entries(providers.definitions).filter(
    ([, { enabled, permissions, capabilities }]) =>
      enabled &&
      isInAudience(person, permissions) &&
      (wanted.length === 0 || wanted.some((capability) => capabilities.includes(capability))),
  );
  return {
    version,
    providers: visible.map(([id, { name, description, provider, enabled, capabilities }]) => ({
      _id: id,
      _source: { id, name, description, provider, enabled, capabilities },
    })),
  };
}

/** Returns the roles that this person can request (GET /roles). Only the server knows what they grant at a provider. */
export function listLocalRoles(
  ctx: LocalContext,
  person: LocalPerson,
  input: { provider?: string[] | undefined } & PageOf,
) {
  const configuration = inForce(ctx);
  const wanted = input.provider ?? [];
  const visible = rolesFor(configuration, person).filter(
    ([, role]) => wanted.length === 0 || wanted.some((provider) => role.providers.includes(provider)),
  );
  const { page, next } = pageOf(visible, input, ['roles', configuration.catalog_version, wanted]);
  return {
    version: configuration.catalog_version,
    roles: Object.fromEntries(page.map(([name, role]) => [name, { role: { ...role, inherits: [], grants: [] } }])),
    next,
  };
}

/**
 * Returns the workflows of the roles that this person can request (GET /workflows); without a person, of the roles that are open to all
 * people.
 */
export function listLocalWorkflows(ctx: LocalContext, person: LocalPerson | undefined) {
  const configuration = inForce(ctx);
  const used = new Set(rolesFor(configuration, person).flatMap(([, role]) => role.workflows));
  const visible = Object.entries(configuration.workflows.definitions).filter(
    ([name, { enabled }]) => enabled && used.has(name),
  );
  return {
    version: configuration.catalog_version,
    workflows: Object.fromEntries(
      visible.map(([key, { name, description, enabled }]) => [key, { name, description, enabled }]),
    ),
  };
}

function rolesFor(configuration: LocalConfiguration, person: LocalPerson | undefined) {
  const somebody = person ?? { email: '', groups: [] };
  return Object.entries(configuration.roles.definitions).filter(
    ([, { enabled, permissions }]) => enabled && isInAudience(somebody, permissions),
  );
}

function inForce(ctx: LocalContext): LocalConfiguration {
  const configuration = ctx.configuration.current();
  if (!configuration)
    throw new AccessError('unavailable', 'There is no configuration yet: the server has not responded');
  return configuration;
}
