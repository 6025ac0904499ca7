import { createLogin, upsertUser, verifyLogin, withActor } from '@belay/core';
import { newId } from '@belay/testkit/house';
import { expect, it } from 'vitest';
import { approve, ask, openCast, staged } from './support/stories.js';

it('no one approves access for themselves by coming as another of their identities', async () => {
  const catalog = staged({}, { permissions: { delegates: { users: ['ada@example.com'] } } }) as { providers: object };
  await using cast = await openCast({
    catalog: { ...catalog, providers: { ...catalog.providers, hub: { provider: 'login', groups: 'all' } } },
  });
  const { house, ada } = cast;
  // Grace is known at two providers. Ada requests access for her first identity, and Grace signs in with her second.
  const known = { provider: 'hub', subject: 'g2', email: 'g2@example.org', name: 'Grace', groups: ['approvers'] };
  await house.database.sql`
    insert into user_identities (provider, subject, user_id, email, name, groups)
    values (${known.provider}, ${known.subject}, ${cast.grace.actor.id}, ${known.email}, ${known.name}, '["approvers"]')`;
  const id = await ask(house, ada, { identities: ['grace@example.com'] });
  const { token } = await createLogin(house.ctx, { user: { ...known, id: cast.grace.actor.id }, kind: 'browser' });
  const second = await verifyLogin(house.ctx, { token });
  expect(second?.actor).toMatchObject({ id: cast.grace.actor.id, email: known.email, groups: ['approvers'] });
  if (!second) return;
  await expect(approve(withActor(house.ctx, second.actor), id)).rejects.toMatchObject({ code: 'forbidden' });
  // A sign-in with either identity is the same person; Alan is another person.
  expect(await upsertUser(house.database.db, { ...known, id: newId() })).toMatchObject({ id: cast.grace.actor.id });
  expect(await approve(cast.alan, id)).toMatchObject({ status: 'approved' });
});
