import type { Connector } from './port.js';

export type ConnectorRegistry = ReadonlyMap<string, Connector>;

/** Creates a registry of connectors by type; throws when a type is registered twice. */
export function createRegistry(connectors: readonly Connector[]): ConnectorRegistry {
  const registry = new Map<string, Connector>();
  for (const connector of connectors) {
    if (registry.has(connector.type)) throw new Error(`Connector type registered twice: ${connector.type}`);
    registry.set(connector.type, connector);
  }
  return registry;
}
