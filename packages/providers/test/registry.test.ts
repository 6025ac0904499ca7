import { describe, expect, it } from 'vitest';
import { createRegistry, oidcConnector, postgresConnector } from '../src/index.js';
import { createMemoryConnector } from '../src/testkit/index.js';

describe('the registry', () => {
  it('finds connectors by type, each with the capabilities that it declares', async () => {
    const registry = createRegistry([postgresConnector, oidcConnector, createMemoryConnector()]);
    expect([...registry.keys()]).toEqual(['postgres', 'oidc', 'memory']);
    const configs: Record<string, unknown> = {
      postgres: { url: 'postgres://user@127.0.0.1:1/database', email_domains: ['example.com'] },
      oidc: { issuer: 'https://id.example.com', client_id: 'belay' },
      memory: {},
    };
    for (const [type, connector] of registry) {
      // No server listens at these addresses: creating a client must not wait for the network.
      const client = await connector.create(connector.config.parse(configs[type]), { now: Date.now, log: () => {} });
      for (const capability of connector.capabilities) expect(client[capability]).toBeDefined();
      expect(connector.plan !== undefined).toBe(connector.capabilities.includes('authorizer'));
    }
  });

  it('rejects a type that is registered twice', () => {
    expect(() => createRegistry([oidcConnector, oidcConnector])).toThrow('oidc');
  });
});
