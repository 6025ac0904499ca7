import type { ConnectorTools, ProviderClient } from '../port.js';
import { openApi } from './api.js';
import { createAuthorizer } from './authorizer.js';
import { check } from './check.js';
import type { AwsConfig } from './config.js';
import { createDirectory } from './directory.js';
import { createIdentities } from './identities.js';

/** Opens the client of an instance of IAM Identity Center. */
export function openAws(config: AwsConfig, tools: ConnectorTools): ProviderClient {
  const api = openApi(config, tools);
  const directory = createDirectory(api, config.instance);
  return {
    authorizer: createAuthorizer(config, api, directory),
    identities: createIdentities(config, directory),
    check: (signal) => check(api, directory, signal),
    close: async () => api.close(),
  };
}
