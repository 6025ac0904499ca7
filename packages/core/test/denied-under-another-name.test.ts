import { compileCatalog, type DynamicRequest, requestDynamicElevation } from '@belay/core';
import { createRegistry, entraConnector, kubernetesConnector } from '@belay/providers';
import { approvalCatalog } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { composeRole } from '../src/plans/dynamic-role.js';
import { type Cast, openCast } from './support/stories.js';

const requesters = { groups: ['engineers'] };

describe('a denial in bounds', () => {
  let cast: Cast;
  beforeEach(async () => {
    const catalog = approvalCatalog() as { providers: { memory: object } };
    const dynamic = { groups: { allow: ['group/*'], deny: ['group/Admins'] }, workflows: ['approved'], requesters };
    cast = await openCast({
      catalog: { ...catalog, providers: { memory: { ...catalog.providers.memory, dynamic } } },
    });
    const role = (name: string, arn: string) => ({ name: `group/${name}`, arn, description: '' });
    cast.house.provider.options.roles = [role('Admins', '1'), role('id-of-admins', '1'), role('Readers', '2')];
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  const ask = (group: string) =>
    requestDynamicElevation(cast.ada, {
      providers: ['memory'],
      permissions: [],
      resources: [],
      groups: [`memory:group/${group}`],
      identities: [],
      reason: 'a ticket',
    } as unknown as DynamicRequest);

  it('counts for the group under each of its names', async () => {
    await expect(ask('Admins')).rejects.toMatchObject({ code: 'invalid' });
    await expect(ask('id-of-admins')).rejects.toMatchObject({
      code: 'invalid',
      issues: [{ path: 'groups', message: expect.stringContaining('under any name') }],
    });
    await expect(ask('Readers')).resolves.toBeDefined();
  });
});

const subscription = '/subscriptions/0b1f6471-1bf0-4dda-aec3-cb9272f09590';
const other = '/subscriptions/00000000-1bf0-4dda-aec3-cb9272f09590';

/** Returns which resources can be requested within bounds at a provider. */
async function requestable(provider: object, groups: string, { deny, asked }: { deny: string[]; asked: string[] }) {
  const catalog = approvalCatalog() as { workflows: object };
  const dynamic = {
    groups: { allow: [groups] },
    resources: { allow: asked, deny },
    workflows: ['approved'],
    requesters,
  };
  const compiled = await compileCatalog(
    { providers: { place: { ...provider, dynamic } }, roles: {}, workflows: catalog.workflows },
    { connectors: createRegistry([entraConnector, kubernetesConnector]), resolve: () => 'x' },
  );
  if (!compiled.ok) throw new Error(`not compiled: ${JSON.stringify(compiled.issues)}`);
  const person = { email: 'ada@example.com', groups: ['engineers'] };
  return asked.filter((resource) => {
    try {
      const request = { permissions: [], groups: [`place:${groups}`], resources: [resource] };
      composeRole({ ...compiled.catalog, version: 1 }, person, { providers: ['place'], asked: request as never });
      return true;
    } catch {
      return false;
    }
  });
}

describe('a denied resource', () => {
  const entra = {
    provider: 'entra',
    config: {
      tenant: '11111111-1bf0-4dda-aec3-cb9272f09590',
      client_id: '22222222-1bf0-4dda-aec3-cb9272f09590',
      client_secret: '${env:X}',
      scopes: [subscription, other, '/providers/Microsoft.Management/managementGroups/root'],
    },
  };
  const asked = [
    subscription,
    `${subscription}/resourceGroups/secret`,
    `${subscription}/resourceGroups/secret/providers/Microsoft.Storage/storageAccounts/one`,
    `${subscription}/resourceGroups/plain`,
    other,
    '/providers/Microsoft.Management/managementGroups/root',
  ];

  it('of Azure covers the scopes within it and the scopes that contain it, in any case', async () => {
    expect(await requestable(entra, 'azure-role/Reader', { deny: [subscription.toUpperCase()], asked })).toEqual([
      other,
    ]);
    const deny = [`${subscription}/resourcegroups/SECRET`];
    expect(await requestable(entra, 'azure-role/Reader', { deny, asked })).toEqual([
      `${subscription}/resourceGroups/plain`,
      other,
    ]);
    expect(
      await requestable(entra, 'azure-role/Reader', { deny: ['/subscriptions/*/resourceGroups/secret'], asked }),
    ).toEqual([`${subscription}/resourceGroups/plain`]);
    // A "*" within a segment may stand for more segments: in doubt, it is denied.
    expect(await requestable(entra, 'azure-role/Reader', { deny: ['/subscriptions/*secret'], asked })).toEqual([]);
    expect(
      await requestable(entra, 'azure-role/Reader', { deny: [`${subscription}/resourceGroups/sec*`], asked }),
    ).toEqual([`${subscription}/resourceGroups/plain`, other]);
    expect(
      await requestable(entra, 'azure-role/Reader', {
        deny: ['/providers/Microsoft.Management/managementGroups/root'],
        asked,
      }),
    ).toEqual([]);
  });

  it('of Kubernetes covers the cluster that contains it', async () => {
    const kubernetes = { provider: 'kubernetes', config: { url: 'https://k8s.example.com', token: '${env:X}' } };
    const all = ['cluster', 'namespace/prod', 'namespace/test'];
    expect(await requestable(kubernetes, 'cluster-role/view', { deny: ['namespace/prod'], asked: all })).toEqual([
      'namespace/test',
    ]);
  });
});
