import { compileCatalog } from '@belay/core';
import { createRegistry } from '@belay/providers';
import { createMemoryConnector, createMemoryProvider } from '@belay/providers/testkit';
import { approvalCatalog } from '@belay/testkit/house';
import { expect, it } from 'vitest';

it('warns of a role that permits more time than the server', async () => {
  const connectors = createRegistry([createMemoryConnector(createMemoryProvider({ now: () => new Date(0) }))]);
  const warningsOf = async (max_duration: string, server: object = {}) => {
    const catalog = approvalCatalog({ role: { max_duration } });
    const compiled = await compileCatalog({ ...catalog, server }, { connectors, resolve: () => undefined });
    return compiled.ok ? compiled.catalog.warnings : compiled.issues;
  };
  expect(await warningsOf('P7D')).toEqual([
    {
      path: 'roles.reader.max_duration',
      message: expect.stringContaining('PT24H, the default of server.max_duration'),
    },
  ]);
  expect(await warningsOf('P7D', { max_duration: 'P2D' })).toMatchObject([{ message: expect.stringContaining('P2D') }]);
  expect(await warningsOf('P7D', { max_duration: 'P7D' })).toEqual([]);
});
