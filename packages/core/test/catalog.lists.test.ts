import {
  getExecution,
  listAccess,
  listProviders,
  listWorkflows,
  requestDynamicElevation,
  requestElevation,
  searchRoles,
  suggestElevation,
} from '@belay/core';
import { approvalCatalog } from '@belay/testkit/house';
import { describe, expect, it } from 'vitest';
import { approve, ask, openCast } from './support/stories.js';

interface Document {
  providers: Record<string, object>;
  roles: Record<string, object>;
  workflows: Record<string, object>;
}

function changed(edit: (document: Document) => void): Document {
  const document = approvalCatalog() as Document;
  edit(document);
  return document;
}

describe('lists of a stored catalog', () => {
  it('are ordered by name, in any order of the keys in the database', async () => {
    // As jsonb keeps them, the shortest name comes first.
    const names = ['billing-read-only', 'admin-all', 'root', 'z'];
    const catalog = changed((document) => {
      for (const name of names) {
        document.roles[name] = { ...document.roles.reader };
        document.workflows[name] = { ...document.workflows.automatic };
        document.providers[name] = { ...document.providers.memory };
        Object.assign(document.roles[name] as object, { workflows: [name] });
      }
    });
    for (const [name, workflow] of Object.entries(catalog.workflows)) {
      const copy = structuredClone(workflow) as { workflow: { document: { name: string } } };
      copy.workflow.document.name = name;
      catalog.workflows[name] = copy;
    }
    await using cast = await openCast({ catalog });
    const sorted = (more: string[]) => [...names, ...more].sort();
    expect(Object.keys((await searchRoles(cast.ada, {})).roles)).toEqual(sorted(['reader']));
    expect(Object.keys(listWorkflows(cast.ada).workflows)).toEqual(sorted(['approved', 'automatic']));
    expect(listProviders(cast.ada, {}).providers.map(({ _id }) => _id)).toEqual(sorted(['login', 'memory']));
  });
});

describe('a role whose workflow is disabled', () => {
  const disabled = changed((document) => {
    Object.assign(document.workflows.approved as object, { enabled: false });
    document.providers.memory = {
      provider: 'memory',
      dynamic: { groups: { allow: ['read'] }, workflows: ['approved'], requesters: { groups: ['engineers'] } },
    };
  });

  it('is rejected with the reason, and never granted through its next workflow instead', async () => {
    await using cast = await openCast({ catalog: disabled });
    const { ada, house } = cast;
    for (const workflow of [undefined, 'approved']) {
      const request = requestElevation(ada, { role: 'reader', reason: 'a ticket', ...(workflow && { workflow }) });
      await expect(request).rejects.toMatchObject({
        code: 'invalid',
        issues: [{ path: 'workflow', message: 'the workflow "approved" is disabled; use another one: automatic' }],
      });
    }
    const dynamic = requestDynamicElevation(ada, { providers: ['memory'], groups: ['read'], reason: 'a ticket' });
    await expect(dynamic).rejects.toMatchObject({
      code: 'invalid',
      issues: [{ path: 'workflow', message: 'the workflow "approved" is disabled' }],
    });
    await house.work();
    expect(house.provider.held()).toEqual([]);
    expect((await suggestElevation(ada, { reason: 'may read memory' })).status).toBe('no_match');
    const { output } = await requestElevation(ada, { role: 'reader', reason: 'a ticket', workflow: 'automatic' });
    await house.work();
    expect((await listAccess(ada)).access.map(({ execution_id }) => execution_id)).toEqual([output.execution_id]);
  });

  it('is not granted when the workflow was disabled while the request waited', async () => {
    await using cast = await openCast();
    const { ada, grace, house } = cast;
    const id = await ask(house, ada);
    await house.applyCatalog(disabled);
    await approve(grace, id).catch(() => undefined);
    await house.work();
    expect(house.provider.held()).toEqual([]);
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'faulted' });
  });
});
