import { upsertUser } from '@belay/core';
import { expect, it } from 'vitest';
import { createHouse, newId } from '../src/house.js';

it('writes of a person what a sign-in writes', async () => {
  await using house = await createHouse();
  const { sql } = house.database;
  const groups = ['engineers', 'on call'];
  const ada = await house.person('ada', groups);
  const grace = { provider: 'login', subject: 'grace', email: 'grace@example.com', name: 'grace', groups };
  const { id } = await upsertUser(house.ctx.db, { id: newId(), ...grace });
  const read = async (user: string, name: string) => {
    const [row] = await sql`
      select to_jsonb(u) as person, to_jsonb(i) as identity
        from users u join user_identities i on i.user_id = u.id where u.id = ${user}`;
    return JSON.parse(JSON.stringify(row).replaceAll(user, 'id').replaceAll(name, 'name'));
  };
  expect(await read(ada.actor.id, 'ada')).toEqual(await read(id, 'grace'));
});

it('knows a person again, with the groups that they have now', async () => {
  await using house = await createHouse();
  const { actor } = await house.person('ada', ['engineers']);
  const { actor: again } = await house.person('ada', ['approvers']);
  expect(again).toMatchObject({ id: actor.id, groups: ['approvers'] });
  expect(again.loginId).not.toBe(actor.loginId);
  const people = await house.database.sql`
    select users.groups, i.groups as told, count(logins.id)::int as logins
      from users join user_identities i on i.user_id = users.id join logins on logins.user_id = users.id group by 1, 2`;
  expect(people).toEqual([{ groups: ['approvers'], told: ['approvers'], logins: 2 }]);
});
