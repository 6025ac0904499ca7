import { findHeld, loseAnswer, meanwhile, misbehave, rewrite, throttle } from '@belay/targets';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OtherTarget, Retryable, Terminal } from '../../src/errors.js';
import type { ProviderClient } from '../../src/index.js';
import { type ByNames, byNames, type NamedEntitlement } from '../../src/testkit/index.js';
import { everythingIn, faultOf } from '../support/tools.js';
import { openCluster, rbac } from './cluster.js';

const calm = () => new AbortController().signal;
const until = new Date('2100-01-01T00:00:00.000Z');
const rita = { id: 'entitlement-1', identity: 'rita' };

type Cluster = Awaited<ReturnType<typeof openCluster>>;
let cluster: Cluster;
let client: ProviderClient;

beforeAll(async () => {
  cluster = await openCluster();
  client = await cluster.client();
});
afterAll(() => cluster?.close());

const authorizerOf = ({ authorizer }: ProviderClient): ByNames => {
  if (!authorizer) throw new Error('no authorizer');
  return byNames(authorizer);
};
const one = async (rules?: unknown[]): Promise<NamedEntitlement & { namespace: string; role: string }> => {
  const [role, namespace] = [await cluster.role(rules), await cluster.namespace()];
  return { ...rita, access: { role: `cluster-role/${role}`, scope: `namespace/${namespace}` }, namespace, role };
};
const bindingsIn = async (namespace: string) =>
  (await cluster.admin('GET', `${rbac}/namespaces/${namespace}/rolebindings`)).items as {
    metadata: { name: string; uid: string; labels: Record<string, string>; annotations: Record<string, string> };
    roleRef: { name: string };
  }[];
const bind = (namespace: string, name: string, role: string, user = 'rita') =>
  cluster.admin('POST', `${rbac}/namespaces/${namespace}/rolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  });

describe('the kubernetes connector, from the side of the person', () => {
  it('makes the same request be rejected, permitted, and rejected again, and changes it for no other person', async () => {
    const it = await one();
    const authorizer = authorizerOf(client);
    expect(await cluster.canList('rita', it.namespace)).toBe(false);
    await authorizer.ensurePresent(it, until, calm());
    await expect.poll(() => cluster.canList('rita', it.namespace)).toBe(true);
    expect(await cluster.canList('omar', it.namespace)).toBe(false);
    expect(await cluster.canList('rita', 'default')).toBe(false);
    await authorizer.ensureAbsent(it, calm());
    await expect.poll(() => cluster.canList('rita', it.namespace)).toBe(false);
  });

  it('gives the role in the whole cluster where that is the scope', async () => {
    const it = { ...(await one()), access: { role: `cluster-role/${await cluster.role()}`, scope: 'cluster' } };
    const authorizer = authorizerOf(client);
    await authorizer.ensurePresent(it, until, calm());
    await expect.poll(() => cluster.canList('rita', 'default')).toBe(true);
    await authorizer.ensureAbsent(it, calm());
    await expect.poll(() => cluster.canList('rita', 'default')).toBe(false);
  });
});

describe('one binding for each entitlement', () => {
  it('has the mark, the entitlement and the end, which is extended and never shortened', async () => {
    const it = await one();
    const authorizer = authorizerOf(client);
    const end = async () => (await bindingsIn(it.namespace))[0]?.metadata.annotations['belay.dev/until'];
    await authorizer.ensurePresent(it, new Date('2030-01-01T00:00:00Z'), calm());
    const [made, ...others] = await bindingsIn(it.namespace);
    expect(others).toEqual([]);
    expect(made?.metadata.name).toMatch(/^belay-[0-9a-f]{40}$/);
    expect(made?.metadata.labels).toEqual({
      'app.kubernetes.io/managed-by': 'belay',
      'belay.dev/entitlement': 'entitlement-1',
    });
    await authorizer.ensurePresent(it, new Date('2029-01-01T00:00:00Z'), calm());
    expect(await end()).toBe('2030-01-01T00:00:00.000Z');
    await authorizer.ensurePresent(it, new Date('2031-01-01T00:00:00Z'), calm());
    expect(await end()).toBe('2031-01-01T00:00:00.000Z');
    await authorizer.ensureAbsent(it, calm());
    expect(await bindingsIn(it.namespace)).toEqual([]);
  });

  it('is replaced when it leads to another role, since that is drift', async () => {
    const it = await one();
    const authorizer = authorizerOf(client);
    await authorizer.ensurePresent(it, until, calm());
    const [own] = await bindingsIn(it.namespace);
    const at = `${rbac}/namespaces/${it.namespace}/rolebindings`;
    await cluster.admin('DELETE', `${at}/${own?.metadata.name}`);
    await cluster.admin('POST', at, {
      ...own,
      metadata: { name: own?.metadata.name, labels: own?.metadata.labels },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    });
    expect(await authorizer.holds(it, calm())).toBe(false);
    await authorizer.ensurePresent(it, until, calm());
    expect((await bindingsIn(it.namespace)).map((each) => each.roleRef.name)).toEqual([it.role]);
    await authorizer.ensureAbsent(it, calm());
  });

  it('is not taken over from another who made one under its name', async () => {
    const it = await one();
    const authorizer = authorizerOf(client);
    await authorizer.ensurePresent(it, until, calm());
    const [own] = await bindingsIn(it.namespace);
    await authorizer.ensureAbsent(it, calm());
    await bind(it.namespace, own?.metadata.name ?? '', 'cluster-admin', 'omar');
    await expect(authorizer.ensurePresent(it, until, calm())).rejects.toBeInstanceOf(Terminal);
  });

  it('is deleted only as the object that was seen: one that was made anew meanwhile stays', async () => {
    const it = await one();
    await using front = await cluster.front();
    const through = authorizerOf(await cluster.client({ ca: undefined }, front.url));
    await through.ensurePresent(it, until, calm());
    const [own] = await bindingsIn(it.namespace);
    const name = own?.metadata.name ?? '';
    const anew = async () => {
      await cluster.admin('DELETE', `${rbac}/namespaces/${it.namespace}/rolebindings/${name}`);
      await bind(it.namespace, name, it.role);
    };
    front.on({ method: 'DELETE', times: 1 }, meanwhile(anew));
    await expect(through.ensureAbsent(it, calm())).rejects.toBeInstanceOf(Retryable);
    expect((await bindingsIn(it.namespace))[0]?.metadata.uid).not.toBe(own?.metadata.uid);
    await through.ensureAbsent(it, calm());
    expect(await bindingsIn(it.namespace)).toEqual([]);
  });

  it('leaves every other binding as it was, to the byte', async () => {
    const it = await one();
    await bind(it.namespace, 'of-omar', it.role, 'omar');
    await bind(it.namespace, 'of-rita', 'view');
    const before = JSON.stringify(await bindingsIn(it.namespace));
    const authorizer = authorizerOf(client);
    await authorizer.ensurePresent(it, until, calm());
    await authorizer.ensureAbsent(it, calm());
    expect(JSON.stringify(await bindingsIn(it.namespace))).toBe(before);
  });
});

describe('standing access', () => {
  it.each(['in the namespace', 'in the whole cluster'])(
    'is seen %s, and is left and named by a revocation',
    async (where) => {
      const it = await one();
      const authorizer = authorizerOf(client);
      if (where === 'in the namespace') await bind(it.namespace, 'standing', it.role);
      else {
        await cluster.admin('POST', `${rbac}/clusterrolebindings`, {
          metadata: { name: `standing-${it.role}` },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: it.role },
          subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'rita' }],
        });
      }
      expect(await authorizer.holds(it, calm())).toBe(true);
      const named =
        where === 'in the namespace'
          ? `RoleBinding ${it.namespace}/standing`
          : `ClusterRoleBinding standing-${it.role}`;
      const left = `The access is also given by ${named}, which Belay does not delete`;
      await expect(authorizer.ensureAbsent(it, calm())).rejects.toMatchObject({ name: 'LeftToOthers', message: left });
      expect(await authorizer.holds(it, calm())).toBe(true);
    },
  );

  it('is found beyond the first page', async () => {
    const it = await one();
    for (let each = 0; each < 501; each += 1) await bind(it.namespace, `a-${each}`, it.role, `person-${each}`);
    await bind(it.namespace, 'z-standing', it.role);
    expect(await authorizerOf(client).holds(it, calm())).toBe(true);
  });
});

describe('roles that are not granted', () => {
  it.each([
    [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }],
    [{ apiGroups: [''], resources: ['secrets'], verbs: ['patch'] }],
    [{ apiGroups: [''], resources: ['secrets'], verbs: ['deletecollection'] }],
    [{ apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] }],
    [{ apiGroups: ['authentication.k8s.io'], resources: ['users'], verbs: ['impersonate:user-info'] }],
    [{ apiGroups: [''], resources: ['services'], verbs: ['impersonate-on:user-info:list'] }],
    [
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['validatingadmissionpolicybindings'],
        verbs: ['deletecollection'],
      },
    ],
    [{ apiGroups: ['apiregistration.k8s.io'], resources: ['apiservices'], verbs: ['create'] }],
    [{ apiGroups: ['apiregistration.k8s.io'], resources: ['apiservices'], verbs: ['get', 'patch'] }],
    [{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'] }],
    [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['bind'] }],
    [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['escalate'] }],
    [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['rolebindings'], verbs: ['create'] }],
    [{ apiGroups: ['*'], resources: ['pods'], verbs: ['get'] }],
    [{ apiGroups: [''], resources: ['*'], verbs: ['get'] }],
    [{ apiGroups: [''], resources: ['pods'], verbs: ['*'] }],
  ])('because they are privileged: %j, unless allow_privileged_roles is set', async (rule) => {
    const it = await one([rule]);
    await expect(authorizerOf(client).ensurePresent(it, until, calm())).rejects.toThrow('The role is privileged');
    expect(await bindingsIn(it.namespace)).toEqual([]);
    const allowing = authorizerOf(await cluster.client({ allow_privileged_roles: true }));
    await allowing.ensurePresent(it, until, calm());
    expect(await allowing.holds(it, calm())).toBe(true);
    await allowing.ensureAbsent(it, calm());
  });

  it.each([
    ['in the whole cluster', 'cluster', {}],
    ['in kube-system', 'namespace/kube-system', {}],
    ['in kube-system, by name', 'namespace/kube-system', { resourceNames: ['other', 'aws-auth'] }],
    ['in the whole cluster, by name', 'cluster', { resourceNames: ['extension-apiserver-authentication'] }],
  ])('because they change ConfigMaps that say whom the cluster trusts: %s', async (_, scope, names) => {
    for (const verb of ['create', 'update', 'patch']) {
      const made = await one([{ apiGroups: [''], resources: ['configmaps'], verbs: [verb], ...names }]);
      const it = { ...made, access: { ...made.access, scope } };
      await expect(authorizerOf(client).ensurePresent(it, until, calm())).rejects.toThrow('The role is privileged');
      const told = await client.obstacles?.([it.access], calm());
      expect(told?.[0]?.message).toContain('is privileged');
      const allowing = authorizerOf(await cluster.client({ allow_privileged_roles: true }));
      await allowing.ensurePresent(it, until, calm());
      await allowing.ensureAbsent(it, calm());
    }
  });

  it.each([
    ['of another namespace', undefined, { verbs: ['create', 'update', 'patch', 'delete'] }],
    ['of kube-system with other names', 'namespace/kube-system', { verbs: ['update'], resourceNames: ['coredns'] }],
    ['of kube-system, which they only read or delete', 'namespace/kube-system', { verbs: ['get', 'list', 'delete'] }],
  ])('except for ConfigMaps %s', async (_, scope, rule) => {
    const made = await one([{ apiGroups: [''], resources: ['configmaps'], ...rule }]);
    const it = scope === undefined ? made : { ...made, access: { ...made.access, scope } };
    const authorizer = authorizerOf(client);
    await authorizer.ensurePresent(it, until, calm());
    expect(await authorizer.holds(it, calm())).toBe(true);
    await authorizer.ensureAbsent(it, calm());
  });

  it('because an API that their holder registers remains after them, and receives what others send to it', async () => {
    const it = await one([{ apiGroups: ['apiregistration.k8s.io'], resources: ['apiservices'], verbs: ['create'] }]);
    const whole = { ...it, access: { ...it.access, scope: 'cluster' } };
    const allowing = authorizerOf(await cluster.client({ allow_privileged_roles: true }));
    await allowing.ensurePresent(whole, until, calm());
    const at = '/apis/apiregistration.k8s.io/v1/apiservices';
    const service = { name: 'of-rita', namespace: it.namespace };
    const order = { groupPriorityMinimum: 1000, versionPriority: 15, insecureSkipTLSVerify: true };
    const spec = { group: 'rita.test', version: 'v1', service, ...order };
    const register = () => cluster.target.call('rita', 'POST', at, { metadata: { name: 'v1.rita.test' }, spec });
    await expect.poll(async () => (await register()).status).toBe(201);
    await allowing.ensureAbsent(whole, calm());
    // Another person's request goes to the registered service, which this cluster cannot reach.
    await expect.poll(async () => (await cluster.target.call('omar', 'GET', '/apis/rita.test/v1')).status).toBe(503);
    await cluster.admin('DELETE', `${at}/v1.rita.test`);
  });

  it('because they read secrets: the response to a patch or to the deletion of a collection has them', async () => {
    const it = await one([{ apiGroups: [''], resources: ['secrets'], verbs: ['patch', 'deletecollection'] }]);
    await bind(it.namespace, 'changing', it.role);
    const at = `/api/v1/namespaces/${it.namespace}/secrets`;
    const stringData = { key: 'a secret' };
    await cluster.admin('POST', at, { metadata: { name: 'kept' }, stringData });
    const data = { key: Buffer.from('a secret').toString('base64') };
    expect((await cluster.target.call('rita', 'GET', `${at}/kept`)).status).toBe(403);
    const patched = await cluster.target.call('rita', 'PATCH', `${at}/kept?dryRun=All`, {});
    const deleted = await cluster.target.call('rita', 'DELETE', `${at}?dryRun=All`);
    expect([patched.body, deleted.body]).toMatchObject([{ data }, { items: [{ data }] }]);
  });

  it('because another role has the name that was pinned', async () => {
    const it = await one();
    const authorizer = authorizerOf(client);
    const pin = await authorizer.pin(it, calm());
    await cluster.admin('DELETE', `${rbac}/clusterroles/${it.role}`);
    await cluster.admin('POST', `${rbac}/clusterroles`, { metadata: { name: it.role }, rules: [] });
    const held = { ...it, ...(pin ? { pin } : {}) };
    await expect(authorizer.ensurePresent(held, until, calm())).rejects.toThrow('deleted and created again');
  });

  it('to users of the system itself', async () => {
    const it = { ...(await one()), identity: 'system:kube-scheduler' };
    await expect(authorizerOf(client).ensurePresent(it, until, calm())).rejects.toBeInstanceOf(Terminal);
  });

  it('because the connector may not bind them, which is said without a word of the cluster', async () => {
    const it = await one();
    const powerless = authorizerOf(await cluster.client({ token: cluster.target.tokens.omar }));
    const fault = await faultOf(powerless.ensurePresent(it, until, calm()));
    expect(fault).toBeInstanceOf(Terminal);
    expect(fault.message).toBe('The cluster does not permit this to the connector');
    expect(everythingIn(fault)).not.toContain('token-of');
  });
});

describe('what would not be granted', () => {
  const told = async (by: ProviderClient, { access }: Pick<NamedEntitlement, 'access'>) =>
    (await by.obstacles?.([access], calm()))?.map(({ message }) => message);
  /** Gives omar, who has no other permissions, these rules through a new role. */
  const permit = async (name: string, rules: unknown[], namespace?: string) => {
    await cluster.admin('POST', `${rbac}/clusterroles`, { metadata: { name }, rules });
    const scope = namespace === undefined ? 'clusterrolebindings' : `namespaces/${namespace}/rolebindings`;
    await cluster.admin('POST', `${rbac}/${scope}`, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'omar' }],
    });
  };

  it('is known without a change, and nothing of what would be', async () => {
    const fine = await one();
    expect(await told(client, fine)).toEqual([]);
    expect(await told(client, { access: { ...fine.access, scope: 'cluster' } })).toEqual([]);
    expect(await bindingsIn(fine.namespace)).toEqual([]);
    expect(await told(client, { access: { ...fine.access, role: 'cluster-role/none' } })).toEqual([
      'the ClusterRole none does not exist',
    ]);
    expect(await told(client, { access: { ...fine.access, scope: 'namespace/none' } })).toEqual([
      'the namespace none does not exist',
    ]);
    const privileged = await one([{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]);
    expect(await told(client, privileged)).toEqual([
      `the ClusterRole ${privileged.role} is privileged, so it is not granted`,
    ]);
    expect(await told(await cluster.client({ allow_privileged_roles: true }), privileged)).toEqual([]);
  });

  it('is what the connector may not do there, and the role that it may not bind', async () => {
    const { access, namespace, role } = await one();
    const group = 'rbac.authorization.k8s.io';
    const limited = await cluster.client({ token: cluster.target.tokens.omar });
    await permit('omar-reads', [{ apiGroups: [group], resources: ['clusterroles'], verbs: ['get'] }]);
    await permit('omar-looks', [{ apiGroups: [group], resources: ['rolebindings'], verbs: ['get'] }], namespace);
    const verbs = ['create', 'patch', 'delete'];
    await expect
      .poll(() => told(limited, { access }))
      .toEqual([
        `the connector may not ${verbs.map((one) => `${one} rolebindings`).join(', ')} in the namespace ${namespace}`,
      ]);
    await permit('omar-changes', [{ apiGroups: [group], resources: ['rolebindings'], verbs }], namespace);
    await expect
      .poll(() => told(limited, { access }))
      .toEqual([`the connector may not bind the ClusterRole ${role} in the namespace ${namespace}`]);
    await permit('omar-binds', [
      { apiGroups: [group], resources: ['clusterroles'], verbs: ['bind'], resourceNames: [role] },
    ]);
    await expect.poll(() => told(limited, { access })).toEqual([]);
    await cluster.admin('DELETE', `${rbac}/clusterrolebindings/omar-reads`);
    await cluster.admin('DELETE', `${rbac}/clusterrolebindings/omar-binds`);
  });
});

describe('a namespace or cluster that is gone', () => {
  it('ends the access with it', async () => {
    const it = await one();
    const authorizer = authorizerOf(client);
    const gone = { ...it, access: { ...it.access, scope: 'namespace/no-such-namespace' } };
    await expect(authorizer.ensurePresent(gone, until, calm())).rejects.toBeInstanceOf(Terminal);
    expect(await authorizer.holds(gone, calm())).toBe(false);
    await authorizer.ensureAbsent(gone, calm());
  });

  it('is told from another cluster under the same address', async () => {
    const it = await one();
    const authorizer = authorizerOf(client);
    const pin = await authorizer.pin(it, calm());
    const other = { ...it, pin: { target: 'another', subject: pin?.subject ?? null } };
    await expect(authorizer.ensureAbsent(other, calm())).rejects.toBeInstanceOf(OtherTarget);
  });
});

describe('credentials', () => {
  it('that are wrong are an error for an operator, without the token', async () => {
    const wrong = await cluster.client({ token: 's3cret-token' });
    const fault = await faultOf(wrong.check(calm()));
    expect(fault).toBeInstanceOf(Terminal);
    expect(everythingIn(fault)).not.toContain('s3cret');
  });

  it('that lack something are named by the check', async () => {
    await client.check(calm());
    const powerless = await cluster.client({ token: cluster.target.tokens.omar });
    await expect(powerless.check(calm())).rejects.toThrow('get clusterroles, get rolebindings, list rolebindings');
    expect((await client.weaknesses?.(calm()))?.map(({ message }) => message)).toEqual([
      'The connector may bind clusterroles without limit, which it does not need',
    ]);
  });
});

describe('through a front that misbehaves', () => {
  const open = async (now = Date.now) => {
    const front = await cluster.front(now);
    return { front, authorizer: authorizerOf(await cluster.client({ ca: undefined }, front.url, now)) };
  };

  it('counts a grant whose answer was lost, and ends it', async () => {
    const { front, authorizer } = await open();
    await using _ = front;
    const it = await one();
    front.on({ method: 'POST', times: 1 }, loseAnswer);
    await expect(authorizer.ensurePresent(it, until, calm())).rejects.toBeInstanceOf(Retryable);
    expect(await authorizer.holds(it, calm())).toBe(true);
    front.on({ method: 'DELETE', times: 1 }, loseAnswer);
    await expect(authorizer.ensureAbsent(it, calm())).rejects.toBeInstanceOf(Retryable);
    await authorizer.ensureAbsent(it, calm());
    expect(await bindingsIn(it.namespace)).toEqual([]);
  });

  it('obeys a throttle, and has no more than eight calls at once', async () => {
    const clock = { now: 0 };
    const { front, authorizer } = await open(() => clock.now);
    await using _ = front;
    const it = await one();
    front.on({ times: 1 }, throttle(5));
    const fault = await faultOf(authorizer.holds(it, calm()));
    expect(fault).toMatchObject({ name: 'Retryable', options: { afterMilliseconds: 5_000 } });
    await expect(authorizer.holds(it, calm())).rejects.toBeInstanceOf(Retryable);
    expect(front.journal).toHaveLength(1);
    clock.now = 5_000;
    await Promise.all(Array.from({ length: 20 }, () => authorizer.holds(it, calm())));
    expect(front.mostAtOnce()).toBeLessThanOrEqual(8);
  });

  it('reads a list anew when the server has forgotten its version', async () => {
    const { front, authorizer } = await open();
    await using _ = front;
    const it = await one();
    front.on(
      { path: /rolebindings\?/, times: 1 },
      rewrite((reply) => ({ ...reply, status: 410 })),
    );
    expect(await authorizer.holds(it, calm())).toBe(false);
  });

  it('leaves no access behind after 200 faults', async () => {
    const { front, authorizer } = await open();
    await using _ = front;
    let seed = 7;
    const random = () => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647;
    };
    // A `retry-after` would only slow the test down.
    const act = misbehave(random, 0.4);
    front.on({ when: () => true }, { ...act, run: async (exchange) => withoutWait(await act.run(exchange)) });
    const names = new Map<string, string>();
    const faults = () =>
      front.journal.filter(({ answered }) => answered?.status === 'lost' || Number(answered?.status) >= 429);
    while (faults().length < 200) {
      const it = await one();
      const settle = async (work: () => Promise<unknown>) => {
        for (let tried = 0; tried < 200; tried += 1) {
          const error = await work().then(
            () => undefined,
            (caught: unknown) => caught,
          );
          if (error === undefined) return;
          expect(error).toBeInstanceOf(Retryable);
        }
        throw new Error('not settled');
      };
      names.set(it.namespace, it.role);
      await settle(() => authorizer.ensurePresent(it, until, calm()));
      await settle(() => authorizer.ensureAbsent(it, calm()));
    }
    const held = findHeld(front.journal, ({ method, path }) => {
      const namespace = /namespaces\/([^/]+)\/rolebindings/.exec(path)?.[1];
      if (namespace === undefined || method === 'GET') return undefined;
      return { key: namespace, held: method !== 'DELETE' };
    });
    expect(held.length).toBe(names.size);
    expect(held.filter(({ to }) => to === undefined)).toEqual([]);
    for (const namespace of names.keys()) expect(await bindingsIn(namespace)).toEqual([]);
  });
});

function withoutWait<T>(reply: T): T {
  if (typeof reply !== 'object' || reply === null || !('headers' in reply)) return reply;
  const { 'retry-after': _, ...headers } = (reply as { headers: Record<string, string> }).headers ?? {};
  return { ...reply, headers };
}
