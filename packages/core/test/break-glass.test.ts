import { roleBody } from '@belay/contract/roles';
import { getExecution, getRole, listAllAccess, listExecutions, requestElevation, searchRoles } from '@belay/core';
import { afterEach, describe, expect, it } from 'vitest';
import { ask, type Cast, catalogWith, hour, minute, openCast, type Person } from './support/stories.js';

const review = { by: { groups: ['security'] } };
const reviewed = (more: object, kinds = ['break_glass.used', 'review.opened']) => ({
  role: { break_glass: { tell, review: { ...review, ...more } } },
  messages: { kinds },
});
const reviewPath = 'roles.reader.break_glass.review';
const tell = { users: ['wilma@example.com'], groups: ['watch'] };

function catalogOf({ role = {}, messages = {} }: { role?: object; messages?: object | null } = {}): object {
  const usual = { channels: ['memory'], kinds: ['break_glass.used', 'access.active'] };
  return {
    ...catalogWith({}, { break_glass: { tell }, ...role }),
    access: { auditors: { users: ['mallory@example.com'] } },
    ...(messages === null ? {} : { messages: { ...usual, ...messages } }),
  };
}

describe('a role for emergencies', () => {
  let cast: Cast | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    cast = undefined;
  });
  const open = async (catalog = catalogOf()): Promise<Cast & { wilma: Person; walt: Person }> => {
    cast = await openCast({ catalog });
    const wilma = await cast.house.person('wilma');
    const walt = await cast.house.person('walt', ['watch']);
    return { ...cast, wilma, walt };
  };
  const told = () =>
    (cast as Cast).house.provider.messages
      .filter(({ title }) => title.startsWith('Emergency'))
      .map(({ to, title }) => [to, title])
      .sort();
  const uses = 'Emergency access: ada uses reader';

  it('is told at once to all whom it names and to the operators, each once, and with its reason', async () => {
    const { house, ada } = await open(catalogOf({ messages: { operators: [{ provider: 'memory', to: 'oncall' }] } }));
    await ask(house, ada, { workflow: 'automatic', duration: 'PT1H' });
    expect(told()).toEqual([
      ['oncall', uses],
      ['walt@example.com', uses],
      ['wilma@example.com', uses],
    ]);
    expect(house.provider.messages.find(({ to }) => to === 'oncall')).toMatchObject({
      facts: [
        { name: 'Requester', value: 'ada <ada@example.com>' },
        { name: 'Role', value: 'reader' },
        { name: 'Reason', value: 'a ticket' },
      ],
    });
    for (let later = 0; later < 4; later += 1) await house.pass(hour);
    expect(told()).toHaveLength(3);
  });

  it('says that it is one before it is requested, in a form that can be sent back; no other role does', async () => {
    const { ada } = await open();
    const { roles } = await searchRoles(ada, {});
    expect(Object.values(roles).flatMap(({ role }) => (role.break_glass === undefined ? [] : [role.name]))).toEqual([
      'reader',
    ]);
    const role = getRole(ada, { role: 'reader' });
    expect(role.break_glass).toBe(true);
    expect(roleBody.parse(role).name).toBe('reader');
  });

  it('is told in quiet hours, and when the role is no longer one', async () => {
    const { house, ada, walt } = await open();
    await house.database.sql`
      insert into notification_preferences (user_id, muted, channels, quiet_from, quiet_to, time_zone)
      values (${walt.actor.id}, '[]', null, '11:00', '13:00', 'Europe/Berlin')`;
    house.provider.down = true;
    await requestElevation(ada, { role: 'reader', reason: 'a ticket', duration: 'PT1H', workflow: 'automatic' });
    await house.work();
    expect(told()).toEqual([]);
    await house.applyCatalog(catalogOf({ role: { break_glass: undefined } }));
    house.provider.down = false;
    await house.pass(minute);
    expect(told()).toEqual([
      ['walt@example.com', uses],
      ['wilma@example.com', uses],
    ]);
  });

  it('is held up by no notice that cannot be delivered or written', async () => {
    const { house, ada } = await open();
    await house.database.sql`alter table notices add constraint full_disk check (kind = 'access.active') not valid`;
    const id = await ask(house, ada, { workflow: 'automatic', duration: 'PT1H' });
    expect(await getExecution(ada, { id })).toMatchObject({ state: 'active', break_glass: true });
    await house.database.sql`alter table notices drop constraint full_disk`;
  });

  it('is not told while it is only requested, or denied', async () => {
    const { house, ada } = await open();
    await ask(house, ada, { workflow: 'approved' });
    await house.pass(48 * hour);
    expect(told()).toEqual([]);
  });

  it('is shown as such, to those who are told as well, who have no right to it', async () => {
    const { house, ada, wilma, walt, mallory, grace } = await open();
    const id = await ask(house, ada, { workflow: 'automatic', duration: 'PT1H' });
    for (const person of [ada, wilma, walt, mallory]) {
      expect(await getExecution(person, { id })).toMatchObject({ break_glass: true });
    }
    await expect(getExecution(grace, { id })).rejects.toMatchObject({ code: 'not_found' });
    expect((await listExecutions(ada, {})).executions).toMatchObject([{ break_glass: true }]);
    expect((await listAllAccess(mallory, {})).access).toMatchObject([{ break_glass: true }]);
    const [entry] = await house.database.sql`select message from ledger where type = 'elevation.requested'`;
    expect(entry?.message).toContain('reader, a role for emergencies,');
  });

  it("is listed among a person's requests for those who are told or review it, and for no one else", async () => {
    const { house, ada, wilma, walt, grace } = await open(catalogOf(reviewed({})));
    const sue = await house.person('sue', ['security']);
    const id = await ask(house, ada, { workflow: 'automatic', duration: 'PT1H' });
    const listed = async (person: Person) => (await listExecutions(person, { person: 'ada@example.com' })).executions;
    for (const person of [wilma, walt, sue]) expect(await listed(person)).toMatchObject([{ workflow_id: id }]);
    expect(await listed(grace)).toEqual([]);
  });

  it.each<[string, object, string, RegExp]>([
    ['without a person to tell', { role: { break_glass: { tell: {} } } }, 'roles.reader.break_glass.tell', /must name/],
    ['without a reason', { role: { reason: { required: false } } }, 'roles.reader.reason.required', /must be true/],
    ['without channels', { messages: null }, 'roles.reader.break_glass', /requires messages.channels/],
    [
      'whose kind is left out',
      { messages: { kinds: ['access.active'] } },
      'roles.reader.break_glass',
      /break_glass.used/,
    ],
    ['whose review names no one', reviewed({ by: {} }), `${reviewPath}.by`, /must name a person or a group/],
    [
      'whose review is to be closed in no time',
      reviewed({ within: 'P0D' }),
      `${reviewPath}.within`,
      /longer than zero/,
    ],
    ['whose review is due in ages', reviewed({ within: 'P400D' }), `${reviewPath}.within`, /at most P366D/],
    ['whose review is due some day', reviewed({ within: 'soon' }), `${reviewPath}.within`, /is not a duration/],
    ['whose review is told to no one', reviewed({}, ['break_glass.used']), reviewPath, /review.opened/],
  ])('%s is rejected', async (_what, given, path, message) => {
    await expect(open(catalogOf(given))).rejects.toMatchObject({
      issues: [{ path, message: expect.stringMatching(message) }],
    });
  });

  it('changes nothing of other roles', async () => {
    const { house, ada } = await open(catalogOf({ role: { break_glass: undefined } }));
    const id = await ask(house, ada, { workflow: 'automatic', duration: 'PT1H' });
    expect(told()).toEqual([]);
    expect(await getExecution(ada, { id })).toMatchObject({ break_glass: false });
  });
});
