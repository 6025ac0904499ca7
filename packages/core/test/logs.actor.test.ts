import type { LogEntry } from '@belay/contract/logs';
import { exportLogs, listLogs, revokeAccess } from '@belay/core';
import { expect, it } from 'vitest';
import { approve, ask, openCast } from './support/stories.js';

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
  // For the owner, with the steps that the workflow took at once.
  expect((await by(ada, 'GRACE@example.com')).filter((type) => !type.startsWith('io.'))).toEqual(['approval.decided']);
  expect(await by(grace, owner)).toEqual(['approval.decided']);
  // Neither a person who could have decided nor a bystander learns more.
  for (const person of [alan, mallory]) expect((await listLogs(person, { workflow_id: id })).logs).toEqual([]);
  expect(new Set(owners.map((entry) => JSON.stringify(entry))).size).toBe(owners.length);
});
