import { decideApproval, getExecution, listAccess, listInbox, requestElevation } from '@belay/core';
import type { Connector, ReadyConnector } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { approvalCatalog, createHouse } from '@belay/testkit/house';
import { describe, expect, it } from 'vitest';

const sentence = 'What the holder builds stays.';

/** Returns a connector which reports that holders can leave something behind. */
function leavingConnector(): Connector {
  const memory = createMemoryConnector() as ReadyConnector;
  return {
    ...memory,
    type: 'leaving',
    create(config, tools) {
      const client = memory.create(config, tools);
      if (!client.authorizer) return client;
      return { ...client, authorizer: { ...client.authorizer, leavesBehind: sentence } };
    },
  };
}

function catalogWith(type: string): object {
  const catalog = approvalCatalog() as { providers: object };
  return { ...catalog, providers: { memory: { provider: type, description: 'A provider where things stay' } } };
}

describe('what a revocation does not remove', () => {
  it('is shown to the approver and to the requester', async () => {
    await using house = await createHouse({ connectors: [leavingConnector()], catalog: catalogWith('leaving') });
    const ada = await house.person('ada', ['engineers']);
    const grace = await house.person('grace', ['approvers']);
    const { output } = await requestElevation(ada, {
      role: 'reader',
      reason: 'a ticket',
      duration: 'PT30M',
      workflow: 'approved',
    });
    await house.work();
    const [item] = (await listInbox(grace)).approvals;
    expect(item?.grants).toMatchObject([{ residual: 'PT0S', leaves_behind: sentence }]);
    await decideApproval(grace, {
      id: item?.id ?? '',
      verdict: 'approve',
      request_digest: item?.request_digest,
      via: 'api',
    });
    await house.work();
    expect((await listAccess(ada)).access).toMatchObject([{ leaves_behind: sentence }]);
    expect((await getExecution(ada, { id: output.execution_id })).grants).toMatchObject([{ leaves_behind: sentence }]);
  });

  it('is null where a revocation removes everything', async () => {
    await using house = await createHouse();
    const ada = await house.person('ada', ['engineers']);
    const { output } = await requestElevation(ada, {
      role: 'reader',
      reason: 'a ticket',
      duration: 'PT30M',
      workflow: 'automatic',
    });
    await house.work();
    expect((await listAccess(ada)).access).toMatchObject([{ leaves_behind: null }]);
    expect((await getExecution(ada, { id: output.execution_id })).grants).toMatchObject([{ leaves_behind: null }]);
  });
});
