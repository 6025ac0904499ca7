import type { Connector } from '@belay/providers';
import { createMemoryConnector, createMemoryProvider, type MemoryProvider } from '@belay/providers/testkit';
import { approvalCatalog, type HouseOptions } from '@belay/testkit/house';

/** A provider in memory whose connector can stand by, and the calls that it received. */
export interface Keeper {
  state: MemoryProvider;
  calls: ('standBy' | 'standDown')[];
  /** Runs inside each `standBy`. */
  during: (() => Promise<void>) | undefined;
}

function keeperConnector(type: string, keeper: Keeper): Connector {
  const inner = createMemoryConnector(keeper.state);
  const connector: Connector = {
    ...inner,
    type,
    create: (config, tools) => {
      const client = inner.create(config as never, tools);
      if (!client.authorizer) throw new Error('The memory connector has an authorizer');
      const standBy = async () => {
        keeper.calls.push('standBy');
        await keeper.during?.();
      };
      const standDown = async () => void keeper.calls.push('standDown');
      return { ...client, authorizer: { ...client.authorizer, standBy, standDown } };
    },
  };
  return connector;
}

/** Returns options of a house with such providers: `reader` is granted at the first, `elsewhere` at the second. */
export function keeperHouse(names: readonly [string, string, ...string[]]): {
  options: HouseOptions;
  keepers: Keeper[];
} {
  const keepers = names.map(
    (): Keeper => ({ state: createMemoryProvider({ now: () => new Date(0) }), calls: [], during: undefined }),
  );
  const catalog = approvalCatalog() as { roles: { reader: object } };
  const roles = {
    reader: { ...catalog.roles.reader, providers: [names[0]], inherits: [`${names[0]}:read`] },
    elsewhere: { ...catalog.roles.reader, providers: [names[1]], inherits: [`${names[1]}:read`] },
  };
  const providers = Object.fromEntries(names.map((name) => [name, { provider: name, description: name }]));
  return {
    options: {
      catalog: { ...catalog, roles, providers },
      connectors: names.map((name, index) => keeperConnector(name, keepers[index] as Keeper)),
    },
    keepers,
  };
}
