import { randomUUID } from 'node:crypto';
import * as vitest from 'vitest';
import { type AccessRequest, ldapConnector } from '../../src/index.js';
import { byNames, conformance, hostileHolder, type NamedEntitlement } from '../../src/testkit/index.js';
import { openActiveDirectory } from './active-directory.js';
import { hostileIn } from './attacks-on-domain.js';
import { nonsense, sensible } from './requests.js';
import { startTtlFront, type TtlFront } from './ttl-front.js';

const { afterAll, beforeAll, describe, expect, it } = vitest;
const signal = () => new AbortController().signal;
const until = new Date('2100-01-01T00:00:00.000Z');

// One domain for the whole file: a domain takes a minute to make, and only one can run at a time.
let opened: ReturnType<typeof openActiveDirectory> | undefined;
const domain = () => {
  opened ??= openActiveDirectory();
  return opened;
};
afterAll(async () => (await opened)?.[Symbol.asyncDispose]());

/** Opens the domain for the suite; with `front`, memberships can have an end. */
const openFor = (front?: () => Promise<TtlFront>) => async () => {
  const server = await domain();
  const exclusive = await Promise.all(Array.from({ length: 3 }, () => server.group()));
  const [first = '', ...free] = exclusive;
  const before = await front?.();
  const more = before ? { url: before.url, member_ttl: true } : {};
  const client = await server.connect({ exclusive, ...more });
  const down = await server.connect({ ...more, url: 'ldaps://127.0.0.1:1' });
  const config = ldapConnector.config.parse(server.settings(more));
  return {
    client,
    down,
    plan: (request: AccessRequest) => ldapConnector.plan?.(config, request) ?? { ok: false as const, issues: [] },
    async fresh() {
      const identity = await server.person();
      return { id: `entitlement of ${identity}`, identity, access: { group: first } };
    },
    nonsense,
    sensible,
    unknownAccess: { group: 'no-such-group' },
    knowsIdentities: true,
    at: {
      async rename({ pin: _, ...one }: NamedEntitlement) {
        const to = `CN=renamed-${randomUUID()}`;
        await server.admin.modifyDN(one.identity, to);
        return { ...one, identity: `${to},${server.people}` };
      },
      async neighbours(one: NamedEntitlement) {
        const members = await server.members(first);
        return members.filter((dn) => dn !== one.identity);
      },
      async stranger() {
        const [identity, [group = '']] = [await server.person(), free];
        await server.change(server.groupDn(group), 'add', 'member', [identity]);
        return { id: '', identity, access: { group } };
      },
      ...(before && {
        async endOf({ identity }: NamedEntitlement) {
          const at = await before.endOf(server.groupDn(first), identity);
          return at === undefined ? undefined : new Date(at);
        },
      }),
    },
    close: async () => before?.[Symbol.asyncDispose](),
  };
};

conformance(vitest, 'ldap on Active Directory', openFor());
conformance(
  vitest,
  'ldap on Active Directory, with memberships that end',
  openFor(async () => startTtlFront(await domain())),
);

hostileHolder(vitest, 'ldap on Active Directory', hostileIn(domain));

describe('ldap on Active Directory', () => {
  let server: Awaited<ReturnType<typeof domain>>;
  beforeAll(async () => {
    server = await domain();
  });
  const authorizerOf = async (more: object = {}) => {
    const { authorizer } = await server.connect(more);
    if (!authorizer) throw new Error('no authorizer');
    return byNames(authorizer);
  };
  const make = async () => {
    const [identity, group] = [await server.person(), await server.group()];
    return { id: identity, identity, access: { group }, group };
  };

  it('permits the same change as the person after the grant, and not before it and after the end', async () => {
    const one = await make();
    const authorizer = await authorizerOf();
    const vault = `CN=vault-${one.group},${server.people}`;
    await server.admin.add(vault, { objectClass: 'contact' });
    await server.permit(vault, one.group, 'bf967950-0de6-11d0-a285-00aa003049e2');
    const canUse = async () => {
      const person = await server.signIn(one.identity);
      const done = await server.write(person, vault, 'description', randomUUID());
      await person.unbind();
      return done;
    };
    expect(await canUse()).toBe(false);
    await authorizer.ensurePresent(one, until, signal());
    expect(await canUse()).toBe(true);
    await authorizer.ensureAbsent(one, signal());
    expect(await canUse()).toBe(false);
  });

  it('needs no more than the right to write the members of groups below one unit', async () => {
    const account = await server.person('belay');
    await server.permitMembers(account);
    const authorizer = await authorizerOf({ bind_dn: account, password: server.password });
    const one = await make();
    await authorizer.ensurePresent(one, until, signal());
    expect(await authorizer.holds(one, signal())).toBe(true);
    await authorizer.ensureAbsent(one, signal());
    expect(await server.members(one.group)).toEqual([]);
    const elsewhere = await authorizerOf({
      bind_dn: account,
      password: server.password,
      groups_base: server.people,
    });
    await server.admin.add(`CN=outside,${server.people}`, { objectClass: 'group', sAMAccountName: 'outside' });
    const outside = { ...one, access: { group: 'outside' } };
    await expect(elsewhere.ensurePresent(outside, until, signal())).rejects.toMatchObject({
      name: 'Terminal',
      message: expect.stringContaining('not permitted'),
    });
    const obstacles = async (base: string, group: string) => {
      const more = { bind_dn: account, password: server.password, groups_base: base };
      return (await (await server.connect(more)).obstacles?.([{ group }], signal()))?.map(({ message }) => message);
    };
    expect(await obstacles(server.groups, one.access.group)).toEqual([]);
    expect(await obstacles(server.people, 'outside')).toEqual([
      "the connector's account may not change the members of the group outside",
    ]);
    expect(await obstacles(server.target.suffix, 'Domain Admins')).toEqual([
      expect.stringContaining('one that Active Directory protects'),
    ]);
    const own = { ...one, identity: account };
    await expect(authorizer.ensurePresent(own, until, signal())).rejects.toThrow("the connector's own account");
  });

  it.each(['Domain Admins', 'Enterprise Admins', 'Domain Users', 'Administrators', 'DnsAdmins-parent'])(
    'rejects %s, which Active Directory protects or which leads to such a group',
    async (name) => {
      if (name === 'DnsAdmins-parent') {
        await server.admin.add(`CN=${name},CN=Users,${server.target.suffix}`, {
          objectClass: 'group',
          sAMAccountName: name,
        });
        const administrators = `CN=Administrators,CN=Builtin,${server.target.suffix}`;
        const between = await server.group();
        await server.change(administrators, 'add', 'member', [server.groupDn(between)]);
        await server.change(server.groupDn(between), 'add', 'member', [`CN=${name},CN=Users,${server.target.suffix}`]);
      }
      const authorizer = await authorizerOf({ groups_base: server.target.suffix });
      const one = { ...(await make()), access: { group: name } };
      await expect(authorizer.ensurePresent(one, until, signal())).rejects.toMatchObject({
        name: 'Terminal',
        message: expect.stringContaining('allow_privileged_groups'),
      });
      expect((await authorizer.roles(signal())).map((role) => role.name)).not.toContain('group/Domain Admins');
    },
  );

  it('takes a group that became the primary group of its holder for held, until it no longer is', async () => {
    const one = await make();
    const authorizer = await authorizerOf();
    const pin = await authorizer.pin(one, signal());
    if (!pin) throw new Error('no pin');
    const held = { ...one, pin };
    await authorizer.ensurePresent(held, until, signal());
    const number = await server.relativeId(server.groupDn(one.group));
    await server.change(one.identity, 'replace', 'primaryGroupID', [number]);
    expect(await server.members(one.group)).toEqual([]);
    expect(await authorizer.holds(held, signal())).toBe(true);
    await expect(authorizer.ensureAbsent(held, signal())).rejects.toMatchObject({
      name: 'Retryable',
      message: expect.stringContaining('primary group'),
    });
    // By the directory's own rule, the person becomes an ordinary member of the former primary group.
    await server.change(one.identity, 'replace', 'primaryGroupID', ['513']);
    await authorizer.ensureAbsent(held, signal());
    expect(await authorizer.holds(held, signal())).toBe(false);
  });

  it('finds people and groups under names with commas, quotes and other marks', async () => {
    const odd = 'Ünal, "Rita" + <b> \\ = #;';
    const group = await server.group();
    const identity = await server.person(`p${randomUUID().slice(0, 8)}`);
    await server.admin.modifyDN(identity, `CN=${odd.replace(/[,+"\\<>;=#]/g, '\\$&')}`);
    const client = await server.connect();
    const [found] = (await client.identities?.search('Ünal', 5, signal())) ?? [];
    expect(found?.name).toBe(odd);
    const one = { id: odd, identity: found?.id ?? '', access: { group } };
    await byNames(client.authorizer).ensurePresent(one, until, signal());
    expect(await byNames(client.authorizer).holds(one, signal())).toBe(true);
    await byNames(client.authorizer).ensureAbsent(one, signal());
    expect(await server.members(group)).toEqual([]);
  });

  it('rejects wrong credentials without naming them, and a certificate that it cannot trust', async () => {
    const wrong = await authorizerOf({ password: 'a-wrong-password' });
    await expect(wrong.target(signal())).rejects.toMatchObject({
      name: 'Terminal',
      message: "The directory rejected the connector's credentials (49)",
    });
    const unknown = await authorizerOf({ ca: undefined });
    await expect(unknown.target(signal())).rejects.toMatchObject({
      name: 'Terminal',
      message: "The directory's certificate is not trusted",
    });
  });

  it('lists more members than Active Directory returns at once', async () => {
    const group = await server.group();
    const names = Array.from({ length: 1_600 }, (_, index) => `many-${index}`);
    for (const cn of names) await server.admin.add(`CN=${cn},${server.people}`, { objectClass: 'contact' });
    await server.change(
      server.groupDn(group),
      'add',
      'member',
      names.map((cn) => `CN=${cn},${server.people}`),
    );
    const authorizer = await authorizerOf({ exclusive: [group] });
    const listed: string[] = [];
    for await (const { identity } of authorizer.list?.(signal()) ?? []) listed.push(identity);
    expect(listed).toHaveLength(names.length);
    const one = { ...(await make()), access: { group } };
    await authorizer.ensurePresent(one, until, signal());
    expect(await authorizer.holds(one, signal())).toBe(true);
    await authorizer.ensureAbsent(one, signal());
    expect(await authorizer.holds(one, signal())).toBe(false);
  });
});

describe('memberships with a time to live', () => {
  const hour = 3_600_000;
  const inHours = (hours: number) => new Date(Date.now() + hours * hour);
  let server: Awaited<ReturnType<typeof domain>>;
  let front: TtlFront;
  beforeAll(async () => {
    server = await domain();
    front = await startTtlFront(server);
  });
  afterAll(() => front[Symbol.asyncDispose]());
  const connect = async (more: object = {}) => {
    const client = await server.connect({ url: front.url, member_ttl: true, ...more });
    if (!client.authorizer) throw new Error('no authorizer');
    return { client, authorizer: byNames(client.authorizer) };
  };
  const make = async () => {
    const [identity, group] = [await server.person(), await server.group()];
    return { id: identity, identity, access: { group }, group: server.groupDn(group) };
  };

  it('end by themselves, not before their time and a second after it at most', async () => {
    const { authorizer } = await connect();
    const one = await make();
    const until = inHours(1);
    await authorizer.ensurePresent(one, until, signal());
    const late = ((await front.endOf(one.group, one.identity)) ?? 0) - until.getTime();
    expect(late).toBeGreaterThanOrEqual(0);
    // Everything beyond one second is the time of the call.
    expect(late).toBeLessThan(30_000);
    expect(await authorizer.holds(one, signal())).toBe(true);
    front.pass(2 * hour);
    expect(await authorizer.holds(one, signal())).toBe(false);
    expect(await server.members(one.access.group)).toEqual([]);
    await authorizer.ensureAbsent(one, signal());
  });

  it('are extended in one operation, and neither shortened nor given an end that they do not have', async () => {
    const { authorizer } = await connect();
    const one = await make();
    await authorizer.ensurePresent(one, inHours(1), signal());
    await authorizer.ensurePresent(one, inHours(3), signal());
    await authorizer.ensurePresent(one, inHours(2), signal());
    front.pass(2.5 * hour);
    expect(await authorizer.holds(one, signal())).toBe(true);
    front.pass(hour);
    expect(await authorizer.holds(one, signal())).toBe(false);
    await server.change(one.group, 'add', 'member', [one.identity]);
    await authorizer.ensurePresent(one, inHours(9), signal());
    expect(await front.endOf(one.group, one.identity)).toBeUndefined();
    front.pass(10 * hour);
    expect(await authorizer.holds(one, signal())).toBe(true);
  });

  it('are found in a group of more members than are returned at once, and end early', async () => {
    const { authorizer } = await connect();
    const one = await make();
    const names = Array.from({ length: 1_600 }, (_, index) => `CN=a-${index},${server.people}`);
    for (const dn of names) await server.admin.add(dn, { objectClass: 'contact' });
    await server.change(one.group, 'add', 'member', names);
    await authorizer.ensurePresent(one, inHours(1), signal());
    await authorizer.ensurePresent(one, inHours(5), signal());
    front.pass(2 * hour);
    expect(await authorizer.holds(one, signal())).toBe(true);
    await authorizer.ensureAbsent(one, signal());
    expect(await authorizer.holds(one, signal())).toBe(false);
    expect(await server.members(one.access.group)).toHaveLength(names.length);
  });

  it('need the feature: the check and the grant say so without it, and doctor proposes them with it', async () => {
    const one = await make();
    const { client, authorizer } = await connect();
    const plain = await connect({ member_ttl: false });
    const proposed = { message: expect.stringContaining('expire by themselves'), cure: 'Set member_ttl: true' };
    await client.check(signal());
    expect(await plain.client.weaknesses?.(signal())).toContainEqual(proposed);
    front.enabled = false;
    const missing = { name: 'Terminal', message: expect.stringMatching(/^member_ttl: the forest has not enabled/) };
    await expect(client.check(signal())).rejects.toMatchObject(missing);
    await expect(authorizer.ensurePresent(one, inHours(1), signal())).rejects.toMatchObject(missing);
    expect(await plain.client.weaknesses?.(signal())).not.toContainEqual(proposed);
    front.enabled = true;
    expect(await server.members(one.access.group)).toEqual([]);
  });
});
