import type { LogEntry } from '@belay/contract/logs';
import { exportLogs, listAudit, listLogs, returnAccess, revokeAccess } from '@belay/core';
import { expect, it } from 'vitest';
import { approve, ask, catalogWith, openCast } from './support/stories.js';

const of = (logs: readonly LogEntry[], type: string) =>
  logs.filter((entry) => entry.type === type).map(({ user, owner }) => ({ user, owner }));

it('the log says who acted and whom it concerns, and has what a person did about the requests of others', async () => {
  await using cast = await openCast();
  const { house, ada, grace, alan, mallory } = cast;
  const id = await ask(house, ada);
  await approve(grace, id);
  await house.work();
  await revokeAccess(house.operator(), { execution_id: id, reason: 'an incident' });
  await house.work();

  const owner = ada.actor.email;
  const { logs: owners } = await listLogs(ada, {});
  expect(of(owners, 'elevation.requested')).toEqual([{ user: owner, owner }]);
  expect(of(owners, 'approval.decided')).toEqual([{ user: grace.actor.email, owner }]);
  expect(of(owners, 'entitlement.granted')).toEqual([{ user: '', owner }]);
  expect(of(owners, 'grant.ended')).toEqual([{ user: 'operator', owner }]);

  const { logs: approvers } = await listLogs(grace, { workflow_id: id });
  expect(approvers.map(({ type }) => type)).toEqual(['approval.decided']);
  expect((await exportLogs(grace, { workflow_id: id })).logs).toMatchObject([{ type: 'approval.decided', owner }]);

  const by = async (person: typeof ada, user: string) =>
    (await listLogs(person, { user })).logs.map(({ type }) => type);
  // Without the events of the steps that the workflow took immediately after the decision, which the owner sees too.
  expect((await by(ada, 'GRACE@example.com')).filter((type) => !type.startsWith('io.'))).toEqual(['approval.decided']);
  expect(await by(grace, owner)).toEqual(['approval.decided']);
  // Neither a person who could have decided nor a bystander learns more.
  for (const person of [alan, mallory]) expect((await listLogs(person, { workflow_id: id })).logs).toEqual([]);
  expect(new Set(owners.map((entry) => JSON.stringify(entry))).size).toBe(owners.length);
});

it('an entry about what a person did for themselves has their id once, and is found by that person', async () => {
  const access = { auditors: { users: ['mallory@example.com'] } };
  await using cast = await openCast({ catalog: { ...catalogWith({}), access } });
  const { house, ada, grace, mallory } = cast;
  const id = await ask(house, ada);
  await approve(grace, id);
  await house.work();
  await returnAccess(ada, { execution_id: id });

  const rows = await house.database.sql`
    select type, actor, user_id from ledger where execution_id = ${id} and actor ->> 'kind' = 'user' order by seq`;
  const { email, provider } = ada.actor;
  const herself = { actor: { kind: 'user', email, provider }, user_id: ada.actor.id };
  const another = { actor: { ...herself.actor, id: grace.actor.id, email: grace.actor.email }, user_id: ada.actor.id };
  expect([...rows].filter(({ type }) => !type.startsWith('io.'))).toEqual([
    { type: 'elevation.requested', ...herself },
    { type: 'approval.decided', ...another },
    { type: 'grant.ended', ...herself },
  ]);
  const found = await listAudit(mallory, { user: email, type: 'grant.ended' });
  expect(found.logs).toMatchObject([{ actor: email, user: email, execution_id: id }]);
  const { logs } = await listLogs(ada, { user: email, type: 'grant.ended' });
  expect(logs).toMatchObject([{ user: email, owner: email }]);
});
