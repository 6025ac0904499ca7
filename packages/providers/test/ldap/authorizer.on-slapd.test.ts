import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ByNames, byNames, type NamedEntitlement } from '../../src/testkit/index.js';
import { makeCertificate } from '../support/certificate.js';
import { type OpenLdap, openLdap } from './openldap.js';
import { operation, startProxy } from './proxy.js';

const until = new Date('2100-01-01T00:00:00.000Z');
const signal = () => new AbortController().signal;
const refint = ['overlay refint', 'refint_attributes member', 'refint_nothing cn=placeholder,dc=belay,dc=test'];

let server: OpenLdap;
let kept: OpenLdap;
beforeAll(async () => {
  [server, kept] = await Promise.all([openLdap(), openLdap({ settings: refint })]);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await kept[Symbol.asyncDispose]();
});

async function open(at: OpenLdap = server, more: object = {}): Promise<ByNames> {
  const { authorizer } = await at.connect(more);
  if (!authorizer) throw new Error('no authorizer');
  return byNames(authorizer);
}

async function pinned(authorizer: ByNames, one: Omit<NamedEntitlement, 'id' | 'pin'>): Promise<NamedEntitlement> {
  const entitlement = { id: 'one', ...one };
  const pin = await authorizer.pin(entitlement, signal());
  if (!pin) throw new Error('no pin');
  return { ...entitlement, pin };
}

async function make(authorizer: ByNames, at: OpenLdap = server) {
  const [identity, group] = [await at.person(), await at.group()];
  return { identity, group, held: await pinned(authorizer, { identity, access: { group } }) };
}

const rename = async (at: OpenLdap, dn: string) => {
  const to = `uid=renamed-${randomUUID()}`;
  await at.admin.modifyDN(dn, to);
  return `${to},${at.people}`;
};
const again = (at: OpenLdap, dn: string) => at.person(/^uid=([^,]+)/.exec(dn)?.[1]);

describe('a membership in OpenLDAP', () => {
  it('permits the same compare as the person after the grant, and not before it and after the end', async () => {
    const authorizer = await open();
    const { identity, group, held } = await make(authorizer);
    await server.vault(group);
    expect(await server.canUse(identity, group)).toBe(false);
    await authorizer.ensurePresent(held, until, signal());
    expect(await server.canUse(identity, group)).toBe(true);
    await authorizer.ensureAbsent(held, signal());
    expect(await server.canUse(identity, group)).toBe(false);
  });

  it('changes one value, and keeps every other one as it is written', async () => {
    const authorizer = await open();
    const odd = [`CN=Keeper ,  ${server.groups.toUpperCase()}`, `uid=q\\,"x\\22,${server.people}`.replace('"', '')];
    const [identity, group] = [await server.person(), await server.group(undefined, odd)];
    const held = await pinned(authorizer, { identity, access: { group } });
    const before = await server.members(group);
    await authorizer.ensurePresent(held, until, signal());
    expect((await server.members(group)).filter((dn) => dn !== identity)).toEqual(before);
    await authorizer.ensureAbsent(held, signal());
    expect(await server.members(group)).toEqual(before);
  });

  it('is found after group and person were renamed and moved', async () => {
    for (const [at, more] of [
      [server, {}],
      [kept, { referential_integrity: true }],
    ] as const) {
      const authorizer = await open(at, more);
      const { identity, group, held } = await make(authorizer, at);
      await authorizer.ensurePresent(held, until, signal());
      await rename(at, identity);
      const shelter = `ou=shelter-${randomUUID()},${at.groups}`;
      await at.admin.add(shelter, { objectClass: 'organizationalUnit' });
      await at.admin.modifyDN(at.groupDn(group), `cn=moved,${shelter}`);
      expect(await authorizer.holds(held, signal())).toBe(true);
      await authorizer.ensureAbsent(held, signal());
      expect(await authorizer.holds(held, signal())).toBe(false);
      const { searchEntries } = await at.admin.search(shelter, { filter: '(cn=moved)', attributes: ['member'] });
      expect(searchEntries[0]?.member).toBe(`cn=keeper,${at.groups}`);
    }
  });

  it('is left where the next person has the name of a deleted one, and named until an administrator has removed it', async () => {
    const authorizer = await open();
    const { identity, group, held } = await make(authorizer);
    await server.vault(group);
    await authorizer.ensurePresent(held, until, signal());
    await server.admin.del(identity);
    await again(server, identity);
    expect(await server.canUse(identity, group)).toBe(true);
    expect(await authorizer.holds(held, signal())).toBe(true);
    const left = `The group has the member ${identity}, under which Belay granted, and which is the name of another entry now`;
    for (let turn = 0; turn < 2; turn += 1) {
      await expect(authorizer.ensureAbsent(held, signal())).rejects.toMatchObject({
        name: 'LeftToOthers',
        message: left,
      });
      expect(await authorizer.holds(held, signal())).toBe(true);
    }
    await server.change(server.groupDn(group), 'delete', 'member', [identity]);
    await authorizer.ensureAbsent(held, signal());
    expect(await authorizer.holds(held, signal())).toBe(false);
    expect(await server.canUse(identity, group)).toBe(false);
  });

  it('ends under each name of a person who was renamed between two overlapping requests', async () => {
    const authorizer = await open();
    const { identity, group, held } = await make(authorizer);
    await authorizer.ensurePresent(held, until, signal());
    const married = await rename(server, identity);
    const next = {
      ...held,
      identity: married,
      names: [identity, married].map((dn) => ({ identity: dn, access: { group } })),
    };
    await authorizer.ensurePresent(next, until, signal());
    expect(await server.members(group)).toEqual([`cn=keeper,${server.groups}`, identity, married]);
    await authorizer.ensureAbsent(next, signal());
    expect(await authorizer.holds(next, signal())).toBe(false);
    expect(await server.members(group)).toEqual([`cn=keeper,${server.groups}`]);
  });

  it('is not written under a name that was not committed, and says that name', async () => {
    const authorizer = await open();
    const { identity, group, held } = await make(authorizer);
    const married = await rename(server, identity);
    await expect(authorizer.ensurePresent(held, until, signal())).rejects.toMatchObject({
      name: 'Renamed',
      present: { identity: married, access: { group } },
    });
    expect(await server.members(group)).toEqual([`cn=keeper,${server.groups}`]);
  });

  it('leaves the next person with the same name alone where the server keeps references', async () => {
    const authorizer = await open(kept, { referential_integrity: true });
    const { identity, group, held } = await make(authorizer, kept);
    await authorizer.ensurePresent(held, until, signal());
    await rename(kept, identity);
    await again(kept, identity);
    await kept.change(kept.groupDn(group), 'add', 'member', [identity]);
    await authorizer.ensureAbsent(held, signal());
    expect(await authorizer.holds(held, signal())).toBe(false);
    expect(await kept.members(group)).toEqual([`cn=keeper,${kept.groups}`, identity]);
  });

  it('is gone with its group, and a new group of the same name is another one', async () => {
    const authorizer = await open();
    const { identity, group, held } = await make(authorizer);
    await authorizer.ensurePresent(held, until, signal());
    await server.admin.del(server.groupDn(group));
    expect(await authorizer.holds(held, signal())).toBe(false);
    await server.group(group, [identity]);
    expect(await authorizer.holds(held, signal())).toBe(false);
    await authorizer.ensureAbsent(held, signal());
    expect(await server.members(group)).toEqual([identity]);
    await expect(authorizer.ensurePresent(held, until, signal())).rejects.toMatchObject({ name: 'Terminal' });
  });

  it('is reported as standing when the person is a member already', async () => {
    const authorizer = await open();
    const identity = await server.person();
    const group = await server.group(undefined, [identity]);
    const held = await pinned(authorizer, { identity, access: { group } });
    expect(await authorizer.holds(held, signal())).toBe(true);
  });

  it('ends although it is the last of the group, with a placeholder, and is reported without one', async () => {
    const placeholder = `cn=placeholder,${server.groups}`;
    const authorizer = await open();
    const { identity, group, held } = await make(authorizer);
    await authorizer.ensurePresent(held, until, signal());
    await server.change(server.groupDn(group), 'delete', 'member', [`cn=keeper,${server.groups}`]);
    await expect(authorizer.ensureAbsent(held, signal())).rejects.toMatchObject({
      name: 'Retryable',
      message: expect.stringContaining('placeholder_member'),
    });
    expect(await server.members(group)).toEqual([identity]);
    await (await open(server, { placeholder_member: placeholder })).ensureAbsent(held, signal());
    expect(await server.members(group)).toEqual([placeholder]);
  });

  it('is not granted under a name that no entry has, or that is outside the base or the filter', async () => {
    const authorizer = await open();
    const group = await server.group();
    await server.admin.add(`uid=machine,${server.people}`, { objectClass: 'account', uid: 'machine' });
    for (const identity of [
      `uid=absent,${server.people}`,
      `uid=machine,${server.people}`,
      server.groupDn(group),
      server.target.suffix,
      `cn=belay,ou=services,${server.target.suffix}`,
    ]) {
      const one = { id: 'one', identity, access: { group } };
      expect(await authorizer.pin(one, signal())).toBeNull();
      await expect(authorizer.ensurePresent(one, until, signal())).rejects.toMatchObject({ name: 'Terminal' });
    }
    expect(await server.members(group)).toEqual([`cn=keeper,${server.groups}`]);
  });

  it('is not granted to a person who was moved out of the base since the request', async () => {
    const authorizer = await open();
    const { identity, group, held } = await make(authorizer);
    const leavers = `ou=leavers-${randomUUID()},${server.target.suffix}`;
    await server.admin.add(leavers, { objectClass: 'organizationalUnit' });
    await server.admin.modifyDN(identity, `uid=leaver,${leavers}`);
    await expect(authorizer.ensurePresent(held, until, signal())).rejects.toMatchObject({ name: 'Terminal' });
    expect(await server.members(group)).toEqual([`cn=keeper,${server.groups}`]);
  });

  it("is not granted to the connector's own account, nor in a group that the directory computes", async () => {
    const own = await open(server, {
      people_base: server.target.suffix,
      people_filter: '(objectClass=simpleSecurityObject)',
    });
    const identity = `cn=belay,ou=services,${server.target.suffix}`;
    const one = { id: 'one', identity, access: { group: await server.group() } };
    await expect(own.ensurePresent(one, until, signal())).rejects.toThrow("connector's own account");
    const dynamic = `cn=everybody,${server.groups}`;
    await server.admin.add(dynamic, {
      objectClass: 'groupOfURLs',
      cn: 'everybody',
      memberURL: `ldap:///${server.people}??sub?(objectClass=person)`,
    });
    const person = { id: 'two', identity: await server.person(), access: { group: 'everybody' } };
    const authorizer = await open();
    await expect(authorizer.ensurePresent(person, until, signal())).rejects.toThrow('computed');
    expect((await authorizer.roles(signal())).map(({ name }) => name)).not.toContain('group/everybody');
    await server.admin.del(dynamic);
  });

  it('goes by the exact name of a group, and by no name that two groups have', async () => {
    const authorizer = await open();
    const cn = `Operators ${randomUUID()}`;
    await server.group(cn);
    const identity = await server.person();
    const pin = (group: string) => authorizer.pin({ identity, access: { group } }, signal());
    expect(await pin(cn)).not.toBeNull();
    expect(await pin(cn.toLowerCase())).toBeNull();
    expect(await pin('*')).toBeNull();
    const below = `ou=below-${randomUUID()},${server.groups}`;
    await server.admin.add(below, { objectClass: 'organizationalUnit' });
    await server.admin.add(`cn=${cn},${below}`, { objectClass: 'groupOfNames', cn, member: identity });
    await expect(pin(cn)).rejects.toThrow('More than one group');
  });

  it.each([
    ['marks of filters and names', 'Ünal, "Rita" + <b> \\ = #; (x)*'],
    ['300 characters', 'n'.repeat(300)],
  ])('is one of a person and a group whose names have %s', async (_, odd) => {
    const authorizer = await open();
    // The server rejects an entry with such a long name, but the entry may have a further name of that length.
    const long = odd.length > 100;
    const identity = await server.person(long ? 'long' : odd, { mail: 'odd@example.test', cn: odd });
    const group = await server.group(long ? 'long' : odd);
    if (long) await server.change(server.groupDn(group), 'add', 'cn', [odd]);
    const held = await pinned(authorizer, { identity, access: { group: odd } });
    await authorizer.ensurePresent(held, until, signal());
    expect(await authorizer.holds(held, signal())).toBe(true);
    await authorizer.ensureAbsent(held, signal());
    expect(await server.members(group)).toEqual([`cn=keeper,${server.groups}`]);
  });

  it('is one of 5,000 in a group, and only its own value changes', async () => {
    const members = Array.from({ length: 5_000 }, (_, index) => `uid=many-${index},${server.people}`);
    const group = await server.group(undefined, members);
    const authorizer = await open();
    const held = await pinned(authorizer, { identity: await server.person(), access: { group } });
    await authorizer.ensurePresent(held, until, signal());
    expect(await authorizer.holds(held, signal())).toBe(true);
    await authorizer.ensureAbsent(held, signal());
    expect(await authorizer.holds(held, signal())).toBe(false);
    expect(await server.members(group)).toEqual(members);
  });

  it('is one value of uniqueMember where the group has that', async () => {
    const authorizer = await open(server, { member_attribute: 'uniqueMember' });
    const [identity, cn] = [await server.person(), `unique-${randomUUID()}`];
    const keeper = `cn=keeper,${server.groups}`;
    await server.admin.add(server.groupDn(cn), { objectClass: 'groupOfUniqueNames', cn, uniqueMember: keeper });
    const held = await pinned(authorizer, { identity, access: { group: cn } });
    await authorizer.ensurePresent(held, until, signal());
    expect(await authorizer.holds(held, signal())).toBe(true);
    await authorizer.ensureAbsent(held, signal());
    expect(await server.admin.compare(server.groupDn(cn), 'uniqueMember', identity)).toBe(false);
  });

  it('is listed with the others of an exclusive group, also when another exclusive group is missing', async () => {
    const group = await server.group();
    const people = await Promise.all(Array.from({ length: 3 }, () => server.person()));
    await server.change(server.groupDn(group), 'add', 'member', [...people, `uid=absent,${server.people}`]);
    const authorizer = await open(server, { exclusive: ['absent', group] });
    const found: string[] = [];
    const reading = (async () => {
      for await (const { identity } of authorizer.list?.(signal()) ?? []) found.push(identity);
    })();
    await expect(reading).rejects.toThrow('exclusive');
    expect(found.sort()).toEqual([...people].sort());
  });
});

describe('the connection', () => {
  it('is encrypted before the account signs in, and only with a server whose certificate is trusted', async () => {
    const { key, cert } = makeCertificate(['ldap.belay.test']);
    const folder = await mkdtemp(join(tmpdir(), 'belay-ldap-'));
    const [keyFile, certificateFile] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
    await writeFile(keyFile, key);
    await writeFile(certificateFile, cert);
    const settings = [`TLSCertificateFile ${certificateFile}`, `TLSCertificateKeyFile ${keyFile}`];
    await using secure = await openLdap({ settings });
    await using proxy = await startProxy(secure.target.url);
    const seen: number[] = [];
    proxy.misbehave = (tag) => {
      seen.push(tag);
      return undefined;
    };
    const encrypted = {
      url: proxy.url,
      start_tls: true,
      allow_plain_text: false,
      ca: cert,
      server_name: 'ldap.belay.test',
    };
    const authorizer = await open(secure, encrypted);
    const { held } = await make(authorizer, secure);
    await authorizer.ensurePresent(held, until, signal());
    expect(await authorizer.holds(held, signal())).toBe(true);
    // Only the request for encryption (an extended operation) is sent unencrypted.
    expect(seen).not.toContain(operation.bind);
    expect(seen).not.toContain(operation.modify);
    for (const more of [{ ca: undefined }, { server_name: 'other.belay.test' }]) {
      const distrustful = await open(secure, { ...encrypted, ...more });
      await expect(distrustful.target(signal())).rejects.toMatchObject({
        name: 'Terminal',
        message: "The directory's certificate is not trusted",
      });
    }
    const unable = await open(server, { ...encrypted, url: server.target.url });
    await expect(unable.target(signal())).rejects.toMatchObject({ name: 'Terminal' });
    await rm(folder, { recursive: true });
  });

  it('is not made again without credentials after it was cut in the middle of a call', async () => {
    await using proxy = await startProxy(server.target.url);
    const authorizer = await open(server, { url: proxy.url });
    let [left, binds] = [1, 0];
    proxy.misbehave = (tag) => {
      if (tag === operation.bind) binds += 1;
      return tag === operation.search && left-- === 0 ? 'request' : undefined;
    };
    await expect(authorizer.target(signal())).rejects.toMatchObject({ name: 'Retryable' });
    expect(binds).toBe(1);
  });
});

describe('the account of the connector', () => {
  it('is rejected with a wrong password, and no message names it', async () => {
    const authorizer = await open(server, { password: 'a-wrong-password' });
    await expect(authorizer.target(signal())).rejects.toMatchObject({
      name: 'Terminal',
      message: "The directory rejected the connector's credentials (49)",
    });
  });

  it('is told what it lacks, by the check and by a call', async () => {
    const without = ['access to attrs=userPassword by anonymous auth by * none', 'access to * by users read'];
    await using readOnly = await openLdap({ rights: without });
    const authorizer = await open(readOnly);
    const one = { id: 'one', identity: await readOnly.person(), access: { group: await readOnly.group() } };
    await expect(authorizer.ensurePresent(one, until, signal())).rejects.toMatchObject({
      name: 'Terminal',
      message: "The connector's account is not permitted to do this (50)",
    });
    const limited = await readOnly.connect();
    await Promise.all(Array.from({ length: 510 }, (_, index) => readOnly.person(`many-${index}`)));
    await expect(limited.identities?.list(signal())).rejects.toThrow('size limit');
    const [cn] = [await readOnly.group()];
    const client = await readOnly.connect({ exclusive: [cn] });
    expect(await client.obstacles?.([one.access], signal())).toEqual([
      {
        access: one.access,
        message: `the connector's account may not change the members of the group ${one.access.group}`,
        cure: expect.stringContaining('write member'),
      },
    ]);
    expect(await client.weaknesses?.(signal())).toEqual([
      { message: expect.stringContaining('may not change the members'), cure: expect.stringContaining('write member') },
    ]);
    const able = await server.connect({ exclusive: [await server.group()] });
    const [fine, computed] = [await server.group(), 'computed-for-all'];
    await server.admin.add(server.groupDn(computed), {
      objectClass: 'groupOfURLs',
      cn: computed,
      memberURL: `ldap:///${server.people}??sub?(objectClass=person)`,
    });
    const before = await server.members(fine);
    const asked = [fine, computed, 'no-such-group'].map((group) => ({ group }));
    expect((await able.obstacles?.(asked, signal()))?.map(({ message }) => message)).toEqual([
      `the members of the group ${computed} are computed by the directory`,
      'the group no-such-group does not exist below groups_base',
    ]);
    expect(await server.members(fine)).toEqual(before);
    expect(await able.weaknesses?.(signal())).toEqual([]);
    expect(await (await server.connect()).weaknesses?.(signal())).toMatchObject([{ cure: expect.any(String) }]);
    const blind = await server.connect({ groups_base: `ou=absent,${server.target.suffix}` });
    await expect(blind.check(signal())).rejects.toThrow('groups_base does not exist');
    const astray = await server.connect({ groups_base: 'ou=groups,dc=other,dc=test' });
    await expect(astray.check(signal())).rejects.toThrow('groups_base is in no naming context');
    const unfiltered = await server.connect({ people_filter: '(objectClass)' });
    await expect(unfiltered.check(signal())).rejects.toThrow('people_filter is not an LDAP filter');
  });
});
