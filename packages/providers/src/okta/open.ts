import { Terminal } from '../errors.js';
import type { ConnectorTools, ProviderClient, Weakness } from '../port.js';
import { type Api, openApi } from './api.js';
import { createAuthorizer } from './authorizer.js';
import type { OktaConfig } from './config.js';
import { createIdentities } from './identities.js';
import { findGroup } from './subject.js';

/** Opens the client of an organization at Okta. */
export async function openOkta(config: OktaConfig, tools: ConnectorTools): Promise<ProviderClient> {
  const api = await openApi(config, tools);
  return {
    authorizer: createAuthorizer(config, api),
    identities: createIdentities(config, api),
    check: (signal) => check(api, signal),
    weaknesses: (signal) => findWeaknesses(config, api, signal),
    close: () => api.close(),
  };
}

/**
 * Throws a `Terminal` that names what the service app lacks: missing scopes first, then a permission of its admin role.
 */
async function check(api: Api, signal: AbortSignal): Promise<void> {
  await api.organization(signal);
  const missing = await api.missingScopes(signal);
  if (missing.length > 0) throw new Terminal(`Okta does not grant the connector the scope ${missing.join(', ')}`);
  await attempt('list groups', api.groups({}, signal).next());
  await attempt('list users', api.users({}, signal).next());
  await attempt('list group rules', api.filledByRules(signal));
}

async function attempt(what: string, call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof Terminal)) throw error;
    throw new Terminal(`Okta does not permit the connector to ${what}: its admin role lacks this`, { cause: error });
  }
}

async function findWeaknesses(config: OktaConfig, api: Api, signal: AbortSignal): Promise<Weakness[]> {
  const found: Weakness[] = [];
  const filled = await api.filledByRules(signal);
  for (const name of config.exclusive) {
    const group = await findGroup(api, name, signal);
    if (!group) {
      found.push({
        message: `exclusive: the group ${name} does not exist`,
        cure: 'Write the name that it has now, or remove it from the list',
      });
    } else if (group.type !== 'OKTA_GROUP' || filled.has(group.id)) {
      found.push({
        message: `exclusive: the group ${name} is also filled by a group rule, an application or a directory`,
        cure: 'Make a group of its own for Belay, or remove it from the list',
      });
    }
  }
  return found;
}
