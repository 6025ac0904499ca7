import { withActor } from '@belay/core';
import { expect, it } from 'vitest';
import { findClicker } from '../src/messages/find-clicker.js';
import { openDoors } from './support/doors.js';
import { approve, ask, staged } from './support/stories.js';

const trusted = { groups: 'all', trusted_email_domains: ['example.com'] };
const rita = { subject: 'rita', email: 'rita@example.com', groups: ['engineers'] };
const adam = { subject: 'adam', email: 'adam@example.com', groups: ['approvers'] };

it('a user of a chat who acted for the requester does not decide after their address there became that of an approver', async () => {
  const catalog = staged({}) as { providers: Record<string, object> };
  const memory = { ...catalog.providers.memory, trusted_email_domains: ['example.com'] };
  await using doors = await openDoors({ corp: trusted }, { ...catalog, providers: { ...catalog.providers, memory } });
  const { house, signIn, corp } = doors;
  const me = await signIn(corp, rita);
  const boss = await signIn(corp, adam);
  const id = await ask(house, me);
  const click = (email: string) => findClicker(house.ctx, 'memory', { subject: 'U7', email });
  expect((await click('rita@example.com'))?.id).toBe(me.actor.id);
  const clicker = await click('adam@example.com');
  expect(clicker?.id).toBe(boss.actor.id);
  if (!clicker) throw new Error('no one clicked');
  await expect(approve(withActor(house.ctx, clicker), id)).rejects.toMatchObject({ code: 'forbidden' });
  expect(await house.database.sql`select from ledger where type = 'people.joined'`).toHaveLength(1);
});
