import { createLogin, verifyLogin } from '@belay/core';
import { approvalCatalog } from '@belay/testkit/house';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Directory, openDirectory, patchOf } from './support/directory.js';

let directory: Directory;
let id: string;
let token: string;
beforeAll(async () => {
  directory = await openDirectory({ catalog: approvalCatalog() });
  const ada = await directory.house.person('ada');
  id = await directory.add({ userName: 'ada@example.com', active: true });
  ({ token } = await createLogin(directory.house.ctx, { user: ada.actor, kind: 'browser' }));
});
afterAll(() => directory[Symbol.asyncDispose]());

describe('a deactivation that cannot be read', () => {
  it.each<[string, string, unknown]>([
    ['another word', 'PATCH', patchOf({ op: 'replace', path: 'active', value: 'disabled' })],
    ['a number', 'PATCH', patchOf({ op: 'replace', path: 'active', value: 0 })],
    ['null', 'PATCH', patchOf({ op: 'replace', value: { active: null } })],
    ['nothing', 'PATCH', patchOf({ op: 'replace', path: 'active' })],
    ['a removal', 'PATCH', patchOf({ op: 'remove', path: 'active' })],
    ['both in different cases', 'PATCH', patchOf({ op: 'replace', value: { active: true, Active: false } })],
    ['a path with a filter', 'PATCH', patchOf({ op: 'replace', path: 'active[value eq true]', value: false })],
    [
      'a path of an unknown schema',
      'PATCH',
      patchOf({ op: 'replace', path: 'urn:example:2.0:User:active', value: false }),
    ],
    ['a misspelt path', 'PATCH', patchOf({ op: 'replace', path: 'actve', value: false })],
    ['an unknown operation', 'PATCH', patchOf({ op: 'disable', path: 'active', value: false })],
    ['no operations', 'PATCH', { active: false }],
    [
      'one operation of two',
      'PATCH',
      patchOf({ op: 'replace', path: 'active', value: false }, { op: 'replace', path: 'x' }),
    ],
    ['half of a body', 'PATCH', '{"schemas":[],"Operations":[{"op":"replace","path":"active","value":fal'],
    ['both in one', 'PUT', '{"userName":"ada@example.com","active":false,"active":true}'],
    ['both, one of them escaped', 'PUT', '{"userName":"ada@example.com","\\u0061ctive":false,"active":true}'],
    [
      'both inside of an operation',
      'PATCH',
      '{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"replace","value":{"active":false,"active":true}}]}',
    ],
    ['operations twice', 'PATCH', '{"Operations":[{"op":"replace","path":"active","value":false}],"Operations":[]}'],
    ['an endless nesting', 'PUT', '['.repeat(200_000)],
    ['a list', 'PUT', [{ active: false }]],
    ['a whole user with a text', 'PUT', { userName: 'ada@example.com', active: 'no' }],
  ])('is rejected and an alarm: %s', async (_what, method, body) => {
    const { call, house, lines } = directory;
    const from = lines.length;
    const before = await house.database.sql`select seq from ledger order by seq desc limit 1`;
    const answer = await call(method, `/Users/${id}`, body);
    expect(answer).toMatchObject({
      status: 400,
      body: { schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'], status: '400' },
    });
    expect(await verifyLogin(house.ctx, { token })).not.toBeNull();
    expect((await call('GET', `/Users/${id}`)).body).toMatchObject({ active: true });
    const alarms = await house.database
      .sql`select level, data from ledger where type = 'provisioning.rejected' and seq > ${before[0]?.seq}`;
    expect(alarms).toMatchObject([{ level: 'error', data: { provisioned_id: id } }]);
    expect(lines.slice(from)).toContainEqual(
      expect.objectContaining({ level: 'error', message: 'a SCIM change of a person was rejected' }),
    );
  });

  it('is an alarm as well when a group is meant, or a new person', async () => {
    const { call, house } = directory;
    const before = await house.database.sql`select seq from ledger order by seq desc limit 1`;
    const { body } = await call('POST', '/Groups', { displayName: 'ops', members: [] });
    await call('PATCH', `/Groups/${(body as { id?: string }).id}`, patchOf({ op: 'remove', path: 'membrs' }));
    await call('POST', '/Users', { active: false });
    const alarms = await house.database
      .sql`select message from ledger where type = 'provisioning.rejected' and seq > ${before[0]?.seq} order by seq`;
    expect(alarms.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^A change of a group by .* the end of a membership$/),
      expect.stringMatching(/^A change of a person by .* a deactivation$/),
    ]);
  });

  it('does not make a person active again when a whole user says nothing about it', async () => {
    const { call } = directory;
    await call('PATCH', `/Users/${id}`, patchOf({ op: 'replace', path: 'active', value: false }));
    const answer = await call('PUT', `/Users/${id}`, { userName: 'ada@example.com', displayName: 'Ada' });
    expect(answer).toMatchObject({ status: 200, body: { active: false, displayName: 'Ada' } });
  });
});
