import {
  type ActorContext,
  decideApproval,
  getExecution,
  listAllAccess,
  listInbox,
  stopUser,
  type UserActor,
  upsertUser,
  withActor,
} from '@belay/core';
import { newId } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withPlaces } from './support/places.js';
import {
  access,
  approve,
  ask,
  type Cast,
  catalogWith,
  minute,
  openCast,
  type Person,
  request,
  statusOf,
} from './support/stories.js';

/** Accounts with several names: a colleague requests access by another name than the one by which the person is stopped. */

const grant = { grant: { call: 'access.grant' } };
/** `staged` needs two approvals; `fleeting` ends when the access is granted. */
const stages = ['approvers', 'approvers'].map((group) => ({ approvers: { groups: [group] } }));
const staged = [{ ask: { call: 'access.approve', with: { stages } } }, grant];
const workflows = { staged, later: [{ pause: { wait: 'PT1H' } }, grant], fleeting: [grant] };
const mallory = 'mallory@example.com';

let cast: Cast;
beforeEach(async () => {
  cast = await openCast({
    catalog: catalogWith(workflows, {
      permissions: { groups: ['engineers'], delegates: { users: ['ada@example.com'] } },
    }),
  });
});
afterEach(() => cast[Symbol.asyncDispose]());

const holds = () => cast.house.provider.holds('U-7', access);
/** Makes the system know mallory by an id and the given names. */
function account(known: {
  id?: string;
  email?: string;
  addresses?: string[];
  logins?: { provider: string; subject: string }[];
}): void {
  const { people = [] } = cast.house.provider.options;
  const found = people.find(({ name }) => name === 'mallory');
  if (found) Object.assign(found, { id: 'U-7', email: '', ...known });
}
async function stop(user: string): Promise<string[]> {
  const { requests, access } = await stopUser(cast.house.operator(), { user, reason: 'has left' });
  await cast.house.work();
  return [...requests, ...access];
}
/** Signs in a person of the test with another address. */
async function signIn(name: string, email: string, groups: string[] = ['engineers']): Promise<Person> {
  const person = await cast.house.person(name, groups);
  const { provider, subject } = person.actor;
  await upsertUser(cast.house.database.db, { id: newId(), provider, subject, email, name, groups });
  return withActor(person, { ...person.actor, email }) as ActorContext & { actor: UserActor };
}

describe.each([
  ['a further address', { email: 'shared@example.org', addresses: ['Mallory@Example.com'] }],
  ['one of several addresses, none of which is the account’s own', { addresses: ['twin@example.com', mallory] }],
  ['a sign-in', { logins: [{ provider: 'login', subject: 'mallory' }] }],
])('access that a colleague requested for an account whose person is known by %s', (_, known) => {
  beforeEach(() => account(known));

  it.each(['automatic', 'fleeting'])(
    'is listed as theirs, and ends when they are stopped, with %s',
    async (workflow) => {
      const { house, ada } = cast;
      const id = await ask(house, ada, { workflow, identities: ['U-7'] });
      expect((await listAllAccess(house.operator(), { user: mallory })).access).toMatchObject([{ execution_id: id }]);
      expect([await stop(mallory), holds()]).toEqual([[id], false]);
    },
  );

  it('is not granted later when they are stopped while the request waits', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'later', identities: ['U-7'] });
    await stop(mallory);
    await house.pass(61 * minute);
    expect([holds(), await statusOf(ada, id)]).toEqual([false, 'terminated']);
  });

  it('is not granted when they are stopped while it waits for approval', async () => {
    const { ada } = cast;
    const id = await ask(cast.house, ada, { identities: ['U-7'] });
    await stop(mallory);
    expect(await statusOf(ada, id)).toBe('terminated');
  });

  it('cannot be requested while the system is down, because a stop of the person would not find the request', async () => {
    const { house, ada } = cast;
    house.provider.down = true;
    await expect(request(ada, { identities: ['U-7'] })).rejects.toMatchObject({ code: 'unavailable' });
    expect(await request(ada, {})).toEqual(expect.any(String));
    house.provider.down = false;
    const named = { identities: ['U-7'], idempotencyKey: 'a-key' };
    const id = await request(ada, named);
    house.provider.down = true;
    expect(await request(ada, named)).toBe(id);
  });

  it('cannot be approved by that person', async () => {
    const { house, ada } = cast;
    const approver = await house.person('mallory', ['approvers']);
    const id = await ask(house, ada, { identities: ['U-7'] });
    expect((await listInbox(approver)).approvals).toEqual([]);
    await expect(decideApproval(approver, { id, verdict: 'approve', via: 'api' })).rejects.toMatchObject({
      code: 'forbidden',
    });
  });

  it('ends with an entry in the history that tells the requester why', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'automatic', identities: ['U-7'] });
    await stop(mallory);
    const { history } = await getExecution(ada, { id });
    expect(history.map(({ message }) => message)).toContain(
      'An operator ended the access of mallory@example.com, which includes this: the account U-7 is theirs, by its addresses and sign-ins at the system or by the configuration',
    );
  });
});

describe('access for an account that may belong to two people', () => {
  let twin: Person;
  beforeEach(async () => {
    account({ email: 'twin@example.org', addresses: [mallory] });
    twin = await signIn('twin', 'twin@example.org');
  });

  it('stays when one of them is stopped and the other requested it for themselves', async () => {
    const { house } = cast;
    await ask(house, twin, { workflow: 'fleeting' });
    expect([await stop(mallory), holds()]).toEqual([[], true]);
    expect([await stop('twin@example.org'), holds()]).toMatchObject([[expect.anything()], false]);
  });

  it('ends where a colleague requested it, and stays where the other person then requested the same', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'fleeting', identities: ['U-7'] });
    const own = await ask(house, twin, { workflow: 'fleeting' });
    expect([await stop(mallory), holds()]).toEqual([[id], true]);
    expect([await stop('twin@example.org'), holds()]).toEqual([[own], false]);
  });

  it('stays when a stranger with the same user name in another domain is stopped', async () => {
    const { house, ada } = cast;
    await signIn('stranger', 'mallory@example.net');
    await ask(house, ada, { workflow: 'fleeting', identities: ['U-7'] });
    expect([await stop('mallory@example.net'), holds()]).toEqual([[], true]);
  });
});

it('ends access that was granted in the statement that starts its request', async () => {
  const { ada } = cast;
  account({ logins: [{ provider: 'login', subject: 'mallory' }] });
  const worker = withPlaces(ada, 2);
  const id = await request(worker.ctx, { workflow: 'fleeting', identities: ['U-7'] });
  await worker.settled();
  expect(holds()).toBe(true);
  expect([await stop(mallory), holds()]).toEqual([[id], false]);
});

it('keeps access for an account whose sign-in has the same subject at another provider', async () => {
  const { house, ada } = cast;
  account({ logins: [{ provider: 'other', subject: 'mallory' }] });
  await ask(house, ada, { workflow: 'fleeting', identities: ['U-7'] });
  expect([await stop(mallory), holds()]).toEqual([[], true]);
});

describe('a person whose address has changed', () => {
  it('loses what a colleague requested for the former address, granted or waiting', async () => {
    const { house, ada } = cast;
    account({ email: mallory });
    const held = await ask(house, ada, { workflow: 'fleeting', identities: ['U-7'] });
    const waiting = await ask(house, ada, { workflow: 'later', identities: ['U-7'] });
    await house.database.advance(minute);
    await signIn('mallory', 'married@example.com');
    await signIn('mallory', 'again@example.com');
    expect((await stop('again@example.com')).sort()).toEqual([held, waiting].sort());
    expect(holds()).toBe(false);
  });

  it.each([
    ['before the change and granted after it', 'later', 'before'],
    ['while the change was being written', 'fleeting', 'after'],
  ])('loses what a colleague had requested for the former one %s', async (_, workflow, when) => {
    const { house, ada } = cast;
    account({ email: mallory });
    const marry = () => signIn('mallory', 'married@example.com');
    if (when === 'after') await marry();
    await house.database.advance(minute / 2);
    const id = await ask(house, ada, { workflow, identities: ['U-7'] });
    if (when === 'before') {
      await marry();
      await house.pass(61 * minute);
    }
    expect(holds()).toBe(true);
    expect([await stop('married@example.com'), holds()]).toEqual([[id], false]);
  });

  it('keeps nothing from who has the former address afterwards', async () => {
    const { house, ada } = cast;
    await signIn('mallory', 'married@example.com');
    await signIn('successor', mallory);
    account({ email: mallory });
    await house.database.advance(2 * minute);
    const id = await ask(house, ada, { workflow: 'fleeting', identities: ['U-7'] });
    expect([await stop('married@example.com'), holds()]).toEqual([[], true]);
    expect([await stop(mallory), holds()]).toEqual([[id], false]);
  });

  it('takes nothing by the former one from another person who requested it for themselves', async () => {
    const { house } = cast;
    account({ email: mallory });
    const twin = await signIn('twin', mallory);
    const own = await ask(house, twin, { workflow: 'fleeting' });
    const waiting = await ask(house, twin);
    await signIn('mallory', mallory);
    await house.database.advance(minute);
    await signIn('mallory', 'married@example.com');
    expect([await stop('married@example.com'), holds()]).toEqual([[], true]);
    expect((await stop(mallory)).sort()).toEqual([own, waiting].sort());
  });

  it('is told why their own request ended when the next person with their address is stopped', async () => {
    const { house } = cast;
    account({ email: mallory });
    const person = await signIn('mallory', mallory);
    const id = await ask(house, person);
    const married = await signIn('mallory', 'married@example.com');
    await signIn('successor', mallory);
    expect(await stop(mallory)).toEqual([id]);
    const { history } = await getExecution(married, { id });
    expect(history.map(({ message }) => message)).toContain(
      'An operator ended the access of mallory@example.com, which includes this: the account of the requester is theirs, by its addresses and sign-ins at the system or by the configuration',
    );
  });
});

describe('what a person requested for their own account, whose address at its system is that of another person', () => {
  let twin: Person;
  const holdsOwn = () => cast.house.provider.holds('twin', access);
  beforeEach(async () => {
    const { house } = cast;
    const document = catalogWith(workflows) as { providers: { memory: object } };
    const memory = { ...document.providers.memory, config: { identity: { login: 'login' } } };
    await house.applyCatalog({ ...document, providers: { memory } });
    twin = await signIn('twin', 'twin@example.com');
    account({ id: 'twin', email: mallory });
  });

  it('stays when the other is stopped, and ends with its person', async () => {
    const { house } = cast;
    const id = await ask(house, twin, { workflow: 'fleeting' });
    expect([await stop(mallory), holdsOwn()]).toEqual([[], true]);
    expect([await stop('twin@example.com'), holdsOwn()]).toEqual([[id], false]);
  });

  it.each([0, 1])('waits on for approval when the other is stopped, after %s stages', async (approved) => {
    const { house, grace, alan } = cast;
    const id = await ask(house, twin, { workflow: 'staged' });
    for (const approver of [grace, alan].slice(0, approved)) await approve(approver, id);
    await house.work();
    expect([await stop(mallory), await statusOf(twin, id)]).toEqual([[], 'waiting']);
  });

  it('waits on for another approval, after one that was not used in time, when the other is stopped', async () => {
    const { house, grace } = cast;
    const id = await ask(house, twin);
    await approve(grace, id);
    house.provider.down = true;
    for (let passed = 0; passed < 120; passed += 10) await house.pass(10 * minute);
    house.provider.down = false;
    await house.pass(minute);
    expect((await getExecution(twin, { id })).approvals).toHaveLength(2);
    expect([await stop(mallory), await statusOf(twin, id)]).toEqual([[], 'waiting']);
  });
});
