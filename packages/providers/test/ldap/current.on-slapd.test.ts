import { connect, createServer, type Server } from 'node:net';
import { startTarget } from '@belay/targets';
import { afterEach, describe, expect, it } from 'vitest';
import { type Authorizer, type History, TargetDoubted } from '../../src/index.js';
import { byNames } from '../../src/testkit/index.js';
import { openLdap } from './openldap.js';

const until = new Date('2100-01-01T00:00:00.000Z');
const calm = () => new AbortController().signal;

/** Listens on loopback and forwards each connection to the server of the moment. */
async function openAddress(first: string) {
  let current = first;
  const server: Server = createServer((socket) => {
    const { hostname, port } = new URL(current.replace('ldap:', 'http:'));
    const far = connect(Number(port), hostname);
    for (const one of [socket, far]) one.on('error', () => {});
    socket.pipe(far).pipe(socket);
    socket.on('close', () => far.destroy());
    far.on('close', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return {
    url: `ldap://127.0.0.1:${address.port}`,
    leadTo(url: string) {
      current = url;
    },
    close: () => server.close(),
  };
}

/** Believes every server that has come as far as those before it, as core does with what it remembers. */
function remembering(history: History<Authorizer>): { authorizer: Authorizer; doubted: string[] } {
  let seen: string | null = null;
  const doubted: string[] = [];
  const authorizer = history.trusting(async (look) => {
    const { position } = await look();
    const course = seen !== null && position !== null ? history.compare(seen, position) : 'ahead';
    if (course !== 'ahead') {
      doubted.push(course);
      throw new TargetDoubted('doubted');
    }
    seen = position;
  });
  return { authorizer, doubted };
}

describe('a directory behind whose address another server responds', () => {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  it('settles nothing at a copy from before, which has the same identifiers, and goes on when the first one is back', async () => {
    const settings = ['overlay syncprov'];
    const directory = await openLdap({ settings });
    closing.push(() => directory[Symbol.asyncDispose]());
    const person = await directory.person();
    const group = await directory.group();
    // Like a snapshot that is restored, or a replica that lags behind.
    const copy = await startTarget('slapd', {
      settings: ['include /etc/ldap/schema/dyngroup.schema', ...settings],
      content: await directory.target.copy(),
    });
    closing.push(() => copy[Symbol.asyncDispose]());
    const address = await openAddress(directory.target.url);
    closing.push(() => address.close());
    const { history } = (await directory.connect({ url: address.url })).authorizer ?? {};
    if (!history) throw new Error('The connector tells no history');
    const remembered = remembering(history);
    const authorizer = byNames(remembered.authorizer);
    const named = { id: '', identity: person, access: { group } };
    const pin = await authorizer.pin(named, calm());
    expect(pin).not.toBeNull();
    const entitlement = { ...named, ...(pin && { pin }) };
    await authorizer.ensurePresent(entitlement, until, calm());
    expect(await authorizer.holds(entitlement, calm())).toBe(true);
    address.leadTo(copy.url);
    for (const call of [
      () => authorizer.holds(entitlement, calm()),
      () => authorizer.ensureAbsent(entitlement, calm()),
      () => authorizer.ensurePresent(entitlement, until, calm()),
    ]) {
      await expect(call()).rejects.toBeInstanceOf(TargetDoubted);
    }
    expect(remembered.doubted).toEqual(['behind', 'behind', 'behind']);
    expect(await directory.members(group)).toContain(person);
    address.leadTo(directory.target.url);
    await authorizer.ensureAbsent(entitlement, calm());
    expect(await authorizer.holds(entitlement, calm())).toBe(false);
    expect(await directory.members(group)).not.toContain(person);
  });

  it('settles by what it returns where a directory has no contextCSN', async () => {
    const directory = await openLdap({ settings: [] });
    closing.push(() => directory[Symbol.asyncDispose]());
    const [person, group] = [await directory.person(), await directory.group()];
    const authorizer = byNames((await directory.connect({})).authorizer);
    const entitlement = { id: '', identity: person, access: { group } };
    await authorizer.ensurePresent(entitlement, until, calm());
    await authorizer.ensureAbsent(entitlement, calm());
    expect(await authorizer.holds(entitlement, calm())).toBe(false);
    const weaknesses = await (await directory.connect({ exclusive: [group] })).weaknesses?.(calm());
    expect(weaknesses?.map(({ message }) => message)).toEqual([
      'The server does not say how far it has come (contextCSN), so Belay would believe a copy of it, or a replica that lags behind',
    ]);
  });
});
