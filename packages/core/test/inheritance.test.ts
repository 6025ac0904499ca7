import { compileCatalog, getExecution, requestDynamicElevation } from '@belay/core';
import { type Connector, createRegistry } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { approvalCatalog, createHouse } from '@belay/testkit/house';
import { describe, expect, it } from 'vitest';
import { createPlacesConnector } from './support/places-connector.js';

const connectors = createRegistry([createMemoryConnector() as Connector, createPlacesConnector()]);
const resources = (...allow: string[]) => ({ resources: { allow } });
const permissions = (...allow: string[]) => ({ permissions: { allow } });

/** Returns what `name` gives at each provider, as text, or the faults of the configuration. */
async function given(roles: Record<string, object>, name: string, at = ['k8s']): Promise<unknown> {
  const catalog = approvalCatalog() as { roles: object };
  const document = {
    ...catalog,
    providers: { memory: { provider: 'memory' }, k8s: { provider: 'places' }, cloud: { provider: 'places' } },
    roles: Object.fromEntries(
      Object.entries(roles).map(([one, more]) => [one, { providers: at, workflows: ['approved'], ...more }]),
    ),
  };
  const result = await compileCatalog(document, { connectors, resolve: () => undefined });
  if (!result.ok) return result.issues.map(({ path, message }) => `${path}: ${message}`);
  const accesses = [...(result.catalog.roles.get(name)?.accesses ?? [])];
  const texts = accesses.map(([id, list]) => [
    id,
    list.map(({ role, permission, on }) => `${role ?? permission} ${on ?? ''}`.trim()).sort(),
  ]);
  return texts.length === 1 ? texts[0]?.[1] : Object.fromEntries(texts);
}

describe('roles and resources that belong together stay together', () => {
  const shop = { inherits: ['k8s:view'], ...resources('shop') };
  const dev = { inherits: ['k8s:admin'], ...resources('dev') };

  it('gives what each parent gives, and never the product of them', async () => {
    expect(await given({ shop, dev, both: { inherits: ['shop', 'dev'] } }, 'both')).toEqual(['admin dev', 'view shop']);
  });

  it('keeps the permissions of a parent with its resources as well', async () => {
    const roles = {
      shop: { ...permissions('read'), ...resources('shop') },
      dev: { ...permissions('write'), ...resources('dev') },
      both: { inherits: ['shop', 'dev', 'k8s:list'], ...permissions('count'), ...resources('stats') },
    };
    expect(await given(roles, 'both')).toEqual(['count stats', 'list stats', 'read shop', 'write dev']);
  });

  it('never widens what a parent gives by the resources of its child', async () => {
    expect(await given({ dev, child: { inherits: ['dev', 'k8s:view'], ...resources('shop') } }, 'child')).toEqual([
      'admin dev',
      'view shop',
    ]);
  });

  it('gives the resources of the nearest role to a parent that has none', async () => {
    const roles = {
      viewer: { inherits: ['k8s:view'] },
      team: { inherits: ['viewer'], ...resources('shop') },
      lead: { inherits: ['team', 'viewer'], ...resources('stats') },
    };
    expect(await given(roles, 'viewer')).toEqual(['view everywhere']);
    expect(await given(roles, 'team')).toEqual(['view shop']);
    expect(await given(roles, 'lead')).toEqual(['view shop', 'view stats']);
  });

  it('lets a denial anywhere in the family win everywhere', async () => {
    const roles = {
      shop: { ...permissions('read', 'write'), ...resources('shop', 'secrets') },
      dev: { ...permissions('write'), resources: { allow: ['dev', 'secrets'], deny: ['secrets'] } },
      careful: { permissions: { deny: ['write'] }, inherits: ['k8s:list'], ...resources('stats') },
      all: { inherits: ['shop', 'dev', 'careful'] },
    };
    expect(await given(roles, 'all')).toEqual(['list stats', 'read shop']);
    expect(await given({ ...roles, all: { inherits: ['shop', 'dev'] } }, 'all')).toEqual([
      'read shop',
      'write dev',
      'write shop',
    ]);
  });

  it('inherits nothing at a provider that the parent is not for', async () => {
    const roles = {
      dev: { providers: ['k8s'], ...permissions('write'), ...resources('dev') },
      far: { providers: ['cloud'], inherits: ['dev'], ...permissions('read'), ...resources('dev') },
      child: { inherits: ['dev', 'far', 'cloud:list'] },
    };
    expect(await given(roles, 'child', ['k8s', 'cloud'])).toEqual({
      k8s: ['write dev'],
      cloud: ['list everywhere', 'read dev'],
    });
  });

  it('sends a resource that names its provider to that one only', async () => {
    const role = {
      inherits: ['memory:reader', 'k8s:view', 'cloud:view'],
      resources: { allow: ['k8s:shop', 'cloud:arn:bucket', 'cloud:shop'], deny: ['cloud:shop'] },
    };
    expect(await given({ role }, 'role', ['memory', 'k8s', 'cloud'])).toEqual({
      memory: ['reader'],
      k8s: ['view shop'],
      cloud: ['view arn:bucket'],
    });
    // A prefix that is not a provider is part of the name.
    expect(await given({ role: { inherits: ['k8s:view'], ...resources('arn:bucket') } }, 'role')).toEqual([
      'view arn:bucket',
    ]);
  });

  it('names the role and the place of each fault, once', async () => {
    const roles = {
      base: { inherits: ['k8s:view'], ...resources('good', '!bad') },
      one: { inherits: ['base'] },
      two: { inherits: ['base'] },
    };
    expect(await given(roles, 'two')).toEqual(['roles.base.resources.allow[1]: is not a resource (provider "k8s")']);
  });

  it('rejects resources that go with nothing, and those of a provider that the role is not for', async () => {
    expect(await given({ base: shop, child: { inherits: ['base'], ...resources('dev') } }, 'child')).toEqual([
      'roles.child.resources: must be used with a role or a permission (provider "k8s")',
    ]);
    expect(await given({ role: { inherits: ['k8s:view'], ...resources('cloud:shop', 'k8s:') } }, 'role')).toEqual([
      'roles.role.resources.allow[0]: the role is not for the provider "cloud"',
      'roles.role.resources.allow[1]: must name a resource',
    ]);
  });

  it('takes a family with many ways to one parent in its stride', async () => {
    const roles: Record<string, object> = { l0: { inherits: ['k8s:view'] } };
    for (let level = 1; level <= 40; level += 1) {
      roles[`l${level}`] = { inherits: [`a${level}`, `b${level}`] };
      for (const side of ['a', 'b']) roles[`${side}${level}`] = { inherits: [`l${level - 1}`] };
    }
    expect(await given(roles, 'l40')).toEqual(['view everywhere']);
  });

  it('sends a resource of a dynamic request that names its provider to that one only', async () => {
    const dynamic = (allow: string[]) => ({
      permissions: { allow: ['read'] },
      resources: { allow },
      workflows: ['automatic'],
      requesters: { groups: ['engineers'] },
    });
    const catalog = {
      ...approvalCatalog(),
      providers: {
        memory: { provider: 'memory' },
        k8s: { provider: 'places', dynamic: dynamic(['shop']) },
        cloud: { provider: 'places', dynamic: dynamic(['bucket']) },
      },
    };
    await using house = await createHouse({ catalog, connectors: [createPlacesConnector()] });
    const ada = await house.person('ada', ['engineers']);
    const ask = (resources: string[], providers = ['k8s', 'cloud']) =>
      requestDynamicElevation(ada, { providers, permissions: ['read'], resources, reason: 'a test' });
    const { output } = await ask(['k8s:shop', 'cloud:bucket']);
    await house.work();
    const { grants } = await getExecution(ada, { id: output.execution_id });
    expect(grants.map(({ provider, access }) => ({ provider, access }))).toEqual(
      expect.arrayContaining([
        { provider: 'k8s', access: { permission: 'read', on: 'shop' } },
        { provider: 'cloud', access: { permission: 'read', on: 'bucket' } },
      ]),
    );
    expect(grants).toHaveLength(2);
    const both = { code: 'invalid', issues: [{ path: 'resources[0]' }, { path: 'resources[1]' }] };
    await expect(ask(['shop', 'bucket'])).rejects.toMatchObject(both);
    await expect(ask(['cloud:shop'])).rejects.toMatchObject({ issues: [{ path: 'resources[0]' }] });
    await expect(ask(['cloud:bucket'], ['k8s'])).rejects.toMatchObject({ issues: [{ path: 'resources[0]' }] });
  });
});
